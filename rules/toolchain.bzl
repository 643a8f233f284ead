"""The toolchain: which btfgen and btfdedup the actions run."""

load(":providers.bzl", "BtfToolchainInfo")

TOOLCHAIN_TYPE = Label("//rules/toolchain:toolchain_type")

def _btf_toolchain_impl(ctx):
    btfrepro = ctx.attr.btfrepro
    return [platform_common.ToolchainInfo(
        btf = BtfToolchainInfo(
            btfdedup = ctx.attr.btfdedup[DefaultInfo].files_to_run,
            btfgen = ctx.attr.btfgen[DefaultInfo].files_to_run,
            btfrepro = btfrepro[DefaultInfo].files_to_run if btfrepro else None,
        ),
    )]

btf_toolchain = rule(
    implementation = _btf_toolchain_impl,
    doc = """Names the tools that the rules run: files, or targets that can be run. Wrap it in a
`toolchain` and register that, to use tools of your own instead of the default toolchain, which
builds them from source. Those of a release are [one call away](releases.md).

```starlark
btf_toolchain(
    name = "prebuilt_tools",
    btfdedup = "bin/btfdedup",
    btfgen = "bin/btfgen",
)

toolchain(
    name = "prebuilt",
    toolchain = ":prebuilt_tools",
    toolchain_type = "@rules_btf//rules/toolchain:toolchain_type",
)
```""",
    attrs = {
        "btfdedup": attr.label(
            doc = "The tool that merges and links BTF objects.",
            allow_files = True,
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
        "btfgen": attr.label(
            doc = "The tool that reads ELF and DWARF.",
            allow_files = True,
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
        "btfrepro": attr.label(
            doc = "The tool that compares builds, for `btf_repro_test`.",
            allow_files = True,
            executable = True,
            cfg = "exec",
        ),
    },
)
