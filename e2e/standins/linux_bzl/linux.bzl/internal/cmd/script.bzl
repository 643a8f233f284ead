"""script: a shell script as an executable target."""

def _script_impl(ctx):
    # The copy of the workspace in which the test builds doesn't keep the mode of files.
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.expand_template(
        is_executable = True,
        output = out,
        substitutions = {},
        template = ctx.file.src,
    )
    return [DefaultInfo(executable = out)]

script = rule(
    implementation = _script_impl,
    attrs = {"src": attr.label(allow_single_file = True)},
    executable = True,
)
