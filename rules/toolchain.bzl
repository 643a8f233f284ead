"""The toolchain: which btfgen and btfdedup the actions run."""

load(":providers.bzl", "BtfToolchainInfo")

TOOLCHAIN_TYPE = Label("//rules/toolchain:toolchain_type")

# The settings of conversions have these values while the tools are built. None of them changes a
# tool, but each is a part of the configuration, and so of the paths and keys of the actions that
# build the tools. Bazel names a configuration by its differences from the command line. A value
# that no user sets always differs, so the name stays the same.
_SETTINGS = {
    str(Label("//rules/settings:btf_features")): ["(tools)"],
    str(Label("//rules/settings:grain")): "(tools)",
    str(Label("//rules/settings:input")): "(tools)",
    str(Label("//rules/settings:lang_exclude")): ["(tools)"],
}

def _same_settings_impl(_settings, _attr):
    return _SETTINGS

# This transition makes the same actions build the tools, whatever a flag or a transition sets for
# the targets.
# Rule: tools: built by the same actions for all settings.
_same_settings = transition(
    implementation = _same_settings_impl,
    inputs = [],
    outputs = _SETTINGS.keys(),
)

def _to_run(tool):
    return tool[DefaultInfo].files_to_run if tool else None

def _btf_toolchain_impl(ctx):
    tools = [ctx.attr.btfcore, ctx.attr.btfdedup, ctx.attr.btfgen, ctx.attr.btfrepro]
    return [platform_common.ToolchainInfo(
        btf = BtfToolchainInfo(
            runfiles = {
                tool[DefaultInfo].files_to_run.executable: tool[DefaultInfo].default_runfiles
                for tool in tools
                if tool
            },
            btfcore = _to_run(ctx.attr.btfcore),
            btfdedup = ctx.attr.btfdedup[DefaultInfo].files_to_run,
            btfgen = ctx.attr.btfgen[DefaultInfo].files_to_run,
            btfrepro = _to_run(ctx.attr.btfrepro),
        ),
    )]

btf_toolchain = rule(
    implementation = _btf_toolchain_impl,
    cfg = _same_settings,
    doc = """Names the tools that the rules run: files or executable targets. By default, the
tools are those of the release that rules_btf belongs to; for a checkout, they are built from
source. To replace them, wrap this target in a `toolchain`, and register that `toolchain`.

```starlark
# BUILD.bazel
btf_toolchain(
    name = "prebuilt_tools",
    btfdedup = "bin/btfdedup",
    btfgen = "bin/btfgen",
    visibility = ["//visibility:public"],  # later Bazels check the visibility of toolchains
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

Without the line in MODULE.bazel, Bazel silently uses the default toolchain. The tools of [a
release](releases.md#bazel-with-the-tools-of-a-release) need no `btf_toolchain`.""",
    attrs = {
        "btfcore": attr.label(
            doc = """The tool for BPF programs: `btfcore`, used by `bpf_needs`, `btf_min` and
`btf_core_test`.""",
            allow_files = True,
            executable = True,
            cfg = "exec",
        ),
        "btfdedup": attr.label(
            doc = "The tool for BTF: `btfdedup`.",
            allow_files = True,
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
        "btfgen": attr.label(
            doc = "The tool that reads DWARF: `btfgen`.",
            allow_files = True,
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
        "btfrepro": attr.label(
            doc = "The tool that compares builds: `btfrepro`, used by `btf_repro_test`.",
            allow_files = True,
            executable = True,
            cfg = "exec",
        ),
    },
)
