"""Targets that have the tools of the toolchain that Bazel chose."""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")

visibility("//rules/...")

def _current_tools_impl(ctx):
    btf = ctx.toolchains[TOOLCHAIN_TYPE].btf
    files = {
        name: getattr(btf, name).executable
        for name in ["btfcore", "btfdedup", "btfgen", "btfrepro"]
        if getattr(btf, name)
    }
    return [
        DefaultInfo(
            files = depset(files.values()),
            runfiles = ctx.runfiles(files.values()).merge_all(btf.runfiles.values()),
        ),
        platform_common.TemplateVariableInfo({
            name.upper(): file.path
            for name, file in files.items()
        }),
    ]

current_tools = rule(
    implementation = _current_tools_impl,
    doc = "The tools, and the Make variables BTFCORE, BTFDEDUP, BTFGEN and BTFREPRO.",
    toolchains = [TOOLCHAIN_TYPE],
)

def _host_tools_impl(ctx):
    toolchain = ctx.toolchains[TOOLCHAIN_TYPE]
    return [platform_common.ToolchainInfo(btf = toolchain.btf if toolchain else None)]

# Bazel configures the target of a toolchain for the execution platform that the toolchain was
# chosen for, so these are the tools for that platform.
host_tools = rule(
    implementation = _host_tools_impl,
    doc = "The tools of the toolchain, for a toolchain of another type. There may be none.",
    toolchains = [config_common.toolchain_type(TOOLCHAIN_TYPE, mandatory = False)],
)
