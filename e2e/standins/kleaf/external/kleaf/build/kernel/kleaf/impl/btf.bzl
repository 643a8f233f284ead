"""btf: a copy of vmlinux whose BTF pahole makes, without debugging information."""

def _btf_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + "/vmlinux.btf")
    ctx.actions.run_shell(
        command = """\
mkdir -p {dir}
cp -Lp {vmlinux} {out}
{pahole} -J {out}
llvm-strip --strip-debug {out}
""".format(
            dir = out.dirname,
            out = out.path,
            pahole = ctx.executable.pahole.path,
            vmlinux = ctx.file.vmlinux.path,
        ),
        inputs = [ctx.file.vmlinux],
        mnemonic = "Btf",
        outputs = [out],
        tools = [ctx.executable.pahole],
    )
    return [DefaultInfo(files = depset([out]))]

btf = rule(
    implementation = _btf_impl,
    attrs = {
        "pahole": attr.label(
            cfg = "exec",
            executable = True,
        ),
        "vmlinux": attr.label(
            allow_single_file = True,
            mandatory = True,
        ),
    },
)
