"""Scripts that run a tool, for tests and for `bazel run`.

`bazel test` starts a script on the platform that the exec group "test" chose. `bazel run` starts it
on the host, which may be a different machine, so it needs the tool of another exec group.
"""

load("@bazel_skylib//lib:shell.bzl", "shell")
load("@platforms//host:constraints.bzl", "HOST_CONSTRAINTS")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":arguments.bzl", "argument_of")
load(":run.bzl", "TEST_EXEC_GROUP", "TEST_EXEC_GROUPS")

_HOST = "btf_host"

HOST_EXEC_GROUPS = {
    _HOST: exec_group(
        exec_compatible_with = HOST_CONSTRAINTS,
        toolchains = [config_common.toolchain_type(TOOLCHAIN_TYPE, mandatory = False)],
    ),
}

LAUNCHER_EXEC_GROUPS = HOST_EXEC_GROUPS | TEST_EXEC_GROUPS

def runfiles_path(file):
    """The path of a file among the runfiles, for an argument of a tool."""
    return argument_of(file.short_path)

def _tool_of(ctx, group, name):
    """A tool and its runfiles: (File, runfiles), or (None, None)."""
    toolchain = ctx.exec_groups[group].toolchains[TOOLCHAIN_TYPE]
    tool = getattr(toolchain.btf, name) if toolchain else None
    return (tool.executable, toolchain.btf.runfiles[tool.executable]) if tool else (None, None)

def launcher(ctx, name, command, args = None, files = [], transitive_files = None, test = True):
    """Declares a script that runs a tool.

    Args:
        ctx: context of a rule with LAUNCHER_EXEC_GROUPS; with HOST_EXEC_GROUPS unless it is a test.
        name: string, the tool: a field of BtfToolchainInfo.
        command: string, shell commands. `"$tool"` is the tool, and PARAMS the parameter file.
        args: Args for the parameter file, or None.
        files: list of File that the tool reads.
        transitive_files: depset of more of them, or None.
        test: bool, whether `bazel test` runs the script too.

    Returns:
        DefaultInfo
    """
    host, host_runfiles = _tool_of(ctx, _HOST, name)
    start = "tool=" + shell.quote(host.short_path) if host else "echo {} >&2; exit 1".format(
        shell.quote(("the toolchains have no {} for this machine: register a btf_toolchain that " +
                     "has it, in a toolchain whose exec_compatible_with fits").format(name)),
    )
    needed, runfiles = [host], [host_runfiles]
    if test:
        tool, tool_runfiles = _tool_of(ctx, TEST_EXEC_GROUP, name)
        if not tool:
            fail(
                "the toolchain has no {}: set the attribute {} of its btf_toolchain".format(
                    name,
                    name,
                ),
            )
        needed, runfiles = needed + [tool], runfiles + [tool_runfiles]
        other = "if [ -n \"$BUILD_WORKSPACE_DIRECTORY\" ]; then {}; fi".format(start)
        start = "tool=" + shell.quote(tool.short_path)
        if tool != host:
            start += "\n" + other
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
        runfiles = ctx.runfiles(
            [file for file in needed + files if file],
            transitive_files = transitive_files,
        ).merge_all([tool for tool in runfiles if tool]),
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
