"""program: an executable that is either a file or another target."""

def _program_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = out, target_file = ctx.executable.program, is_executable = True)
    return [DefaultInfo(
        executable = out,
        runfiles = ctx.runfiles([ctx.executable.program]),
    )]

program = rule(
    implementation = _program_impl,
    doc = """Makes a file an executable target. Attributes of other rules refuse files that are not
the outputs of a rule, and some rules look for the executable only in its runfiles.""",
    attrs = {
        "program": attr.label(
            doc = "The file, or the target whose executable is meant.",
            allow_single_file = True,
            cfg = "target",
            executable = True,
            mandatory = True,
        ),
    },
    executable = True,
)
