"""The tools of the toolchain as Make variables, for genrules."""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":run.bzl", "tools")

def _current_tools_impl(ctx):
    found = tools(ctx)
    files = {
        name: getattr(found, name).executable
        for name in ["btfcore", "btfdedup", "btfgen", "btfrepro"]
        if getattr(found, name)
    }
    return [
        DefaultInfo(
            files = depset(files.values()),
            runfiles = ctx.runfiles(files.values()).merge_all(found.runfiles.values()),
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
