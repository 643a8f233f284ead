"""The toolchain: which btfgen and btfdedup the actions run."""

load(":providers.bzl", "BtfToolchainInfo")

TOOLCHAIN_TYPE = Label("//rules/toolchain:toolchain_type")

def _btf_toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(
        btf = BtfToolchainInfo(
            btfdedup = ctx.attr.btfdedup[DefaultInfo].files_to_run,
            btfgen = ctx.attr.btfgen[DefaultInfo].files_to_run,
        ),
    )]

btf_toolchain = rule(
    implementation = _btf_toolchain_impl,
    doc = """Names the tools that the rules run. Wrap it in a `toolchain` and register that, to use
prebuilt tools instead of the default toolchain, which builds them from source.

```starlark
btf_toolchain(
    name = "prebuilt_tools",
    btfdedup = "//tools:btfdedup",
    btfgen = "//tools:btfgen",
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
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
        "btfgen": attr.label(
            doc = "The tool that reads ELF and DWARF.",
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
    },
)
