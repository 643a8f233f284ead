"""kernel_env: a shell script that sets up the build of a kernel."""

load(":common_providers.bzl", "KernelEnvInfo")

def _kernel_env_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(out, """\
export ROOT_DIR=$PWD
export TOOL_ARGS="${{TOOL_ARGS}} PAHOLE=${{ROOT_DIR}}/{}"
""".format(ctx.executable.pahole.path))
    return [
        DefaultInfo(files = depset([out])),
        KernelEnvInfo(
            inputs = depset([out]),
            setup = "set -e; . {}\n".format(out.path),
            # Kleaf doesn't add the executable itself, only its runfiles.
            tools = ctx.attr.pahole[DefaultInfo].default_runfiles.files,
        ),
    ]

kernel_env = rule(
    implementation = _kernel_env_impl,
    attrs = {
        "pahole": attr.label(
            cfg = "exec",
            default = Label(":pahole"),
            executable = True,
        ),
    },
)
