"""The toolchain: which btfgen and btfdedup the actions run."""

load(":providers.bzl", "BtfToolchainInfo")

TOOLCHAIN_TYPE = Label("//rules/toolchain:toolchain_type")

# What the settings of conversions are for the tools. None of them changes a tool, but each is a
# part of the configuration, and so of the paths and keys of the actions that build the tools. Bazel
# names a configuration by what differs from the command line; a value that no user sets always
# differs.
_SETTINGS = {
    str(Label("//rules/settings:btf_features")): ["(tools)"],
    str(Label("//rules/settings:grain")): "(tools)",
    str(Label("//rules/settings:input")): "(tools)",
    str(Label("//rules/settings:lang_exclude")): ["(tools)"],
}

def _same_settings_impl(_settings, _attr):
    return _SETTINGS

# The tools are built by the same actions whatever a flag or a transition gives the targets.
_same_settings = transition(
    implementation = _same_settings_impl,
    inputs = [],
    outputs = _SETTINGS.keys(),
)

def _btf_toolchain_impl(ctx):
    btfrepro = ctx.attr.btfrepro
    return [platform_common.ToolchainInfo(
        btf = BtfToolchainInfo(
            runfiles = {
                tool[DefaultInfo].files_to_run.executable: tool[DefaultInfo].default_runfiles
                for tool in [ctx.attr.btfdedup] + ([btfrepro] if btfrepro else [])
            },
            btfdedup = ctx.attr.btfdedup[DefaultInfo].files_to_run,
            btfgen = ctx.attr.btfgen[DefaultInfo].files_to_run,
            btfrepro = btfrepro[DefaultInfo].files_to_run if btfrepro else None,
        ),
    )]

btf_toolchain = rule(
    implementation = _btf_toolchain_impl,
    cfg = _same_settings,
    doc = """Names the tools that the rules run: files, or targets that can be run. Wrap it in a
`toolchain` and register that, to use your own tools instead of the default toolchain, which
builds them from source.

```starlark
# BUILD.bazel
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
```

```starlark
# MODULE.bazel
register_toolchains("//:prebuilt")
```

Without the second file the tools are built from source, and nothing says so. Those of
[a release](releases.md#bazel-with-the-tools-of-a-release) are downloaded, with no `btf_toolchain`:

```starlark
# MODULE.bazel
btf = use_extension("@rules_btf//rules:extensions.bzl", "btf")
btf.toolchain(
    version = "VERSION",
    sha256 = {"linux-amd64": "..."},  # of the release's SHA256SUMS
)
use_repo(btf, "btf_toolchains")

register_toolchains("@btf_toolchains//:all")
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
