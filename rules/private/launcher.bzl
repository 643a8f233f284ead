"""Scripts that run a tool, for tests and for `bazel run`.

`bazel test` starts a script on the platform that the exec group "test" chose. `bazel run` starts it
on the machine on which Bazel runs, so there the script runs another tool: that of the exec group
"btf_host".
"""

load("@bazel_skylib//lib:shell.bzl", "shell")
load(":arguments.bzl", "argument_of")
load(":exec_groups.bzl", "TEST_EXEC_GROUP", "TEST_EXEC_GROUPS")
load(":run.bzl", "tools")

visibility(["//", "//rules/..."])

_TYPE = Label("//rules/toolchain/host:toolchain_type")
_GROUP = "btf_host"

# The group has no exec_compatible_with: if no execution platform is like the host, the analysis
# must not fail.
HOST_EXEC_GROUPS = {
    _GROUP: exec_group(toolchains = [config_common.toolchain_type(_TYPE, mandatory = False)]),
}

LAUNCHER_EXEC_GROUPS = HOST_EXEC_GROUPS | TEST_EXEC_GROUPS

def runfiles_path(file):
    """The path of a file among the runfiles, for an argument of a tool."""
    return argument_of(file.short_path)

def _set_host_tool(ctx, name):
    """Shell commands that set the variable `tool` for `bazel run`.

    Returns:
        (string, File or None, runfiles)
    """
    toolchain = ctx.exec_groups[_GROUP].toolchains[_TYPE]
    btf = toolchain.btf if toolchain else None
    if not btf or not getattr(btf, name):
        message = ("{}: no toolchain has {} for this machine: register a toolchain of " +
                   "rules/toolchain:toolchain_type whose exec_compatible_with fits it")
        text = shell.quote(message.format(ctx.label, name))
        return "echo {} >&2; exit 1".format(text), None, ctx.runfiles()
    tool = getattr(btf, name).executable
    return "tool=" + shell.quote(tool.short_path), tool, btf.runfiles[tool]

# Rule: tools: which a test or bazel run starts.
def launcher(ctx, name, command, args = None, files = [], transitive_files = None, test = True):
    """Declares a script that runs a tool.

    Args:
        ctx: context of a rule with LAUNCHER_EXEC_GROUPS; with HOST_EXEC_GROUPS unless it is a test.
        name: string, the tool: a field of BtfToolchainInfo. The toolchain of a test must have it.
        command: string, shell commands. `"$tool"` is the tool, and PARAMS the parameter file.
        args: Args for the parameter file, or None.
        files: list of File that the tool reads.
        transitive_files: depset of more of them, or None.
        test: bool, whether `bazel test` runs the script too.

    Returns:
        DefaultInfo
    """
    start, host, runfiles = _set_host_tool(ctx, name)
    needed = files + ([host] if host else [])
    if test:
        btf = tools(ctx, TEST_EXEC_GROUP)
        tool = getattr(btf, name).executable
        needed.append(tool)
        runfiles = runfiles.merge(btf.runfiles[tool])
        other = "\nif [ -n \"$BUILD_WORKSPACE_DIRECTORY\" ]; then {}; fi".format(start)
        start = "tool=" + shell.quote(tool.short_path) + ("" if tool == host else other)
    if args:
        params = ctx.actions.declare_file(ctx.label.name + ".params")
        args.set_param_file_format("multiline")
        ctx.actions.write(params, args)
        command = command.replace("PARAMS", shell.quote("@" + params.short_path))
        needed.append(params)
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, "#!/bin/sh\n{}\n{}\n".format(start, command), is_executable = True)
    return DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles(needed, transitive_files = transitive_files).merge(runfiles),
    )

def _btf_tool_impl(ctx):
    command = "tool=\"$PWD/$tool\"\ncd \"${BUILD_WORKING_DIRECTORY:-.}\" && exec \"$tool\" \"$@\""
    return [launcher(ctx, ctx.attr.tool, command, test = False)]

btf_tool = rule(
    implementation = _btf_tool_impl,
    doc = "A tool of the toolchain, for `bazel run`. It runs in the user's working directory.",
    attrs = {"tool": attr.string(doc = "The tool, such as `btfdedup`.", mandatory = True)},
    exec_groups = HOST_EXEC_GROUPS,
    executable = True,
)
