"""program: an executable that is either a file or another target."""

visibility("//kbuild/...")

def _program_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = out, target_file = ctx.executable.program, is_executable = True)
    return [DefaultInfo(
        executable = out,
        runfiles = ctx.runfiles([ctx.executable.program]),
    )]

program = rule(
    implementation = _program_impl,
    doc = """Makes an executable target from a file. Attributes of some rules refuse a file that is
not the output of a rule; other rules look for an executable only in its runfiles.""",
    attrs = {
        "program": attr.label(
            doc = "The file, or a target that has an executable.",
            allow_single_file = True,
            cfg = "target",
            executable = True,
            mandatory = True,
        ),
    },
    executable = True,
)
