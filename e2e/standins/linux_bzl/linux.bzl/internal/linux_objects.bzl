"""linux_vmlinux: vmlinux with BTF."""

load(":btf.bzl", "BTF_ATTRS", "btf_tools", "encode", "extract", "pahole_flags")

def _linux_vmlinux_impl(ctx):
    tools = btf_tools(ctx)
    where = ctx.label.name + ".obj/.tmp_vmlinux.btf"
    linked = ctx.actions.declare_file(where)
    ctx.actions.symlink(output = linked, target_file = ctx.file.linked)
    encoded = ctx.actions.declare_file(where + ".btf")
    encode(ctx, tools, linked, encoded, pahole_flags(ctx.attr.version), "LinuxBTFEncode")
    btf_object = ctx.actions.declare_file(where + ".btf.o")
    extract(ctx, tools, encoded, btf_object)
    out = ctx.actions.declare_file(ctx.label.name + ".vmlinux")
    ctx.actions.run(
        executable = ctx.executable._with_btf,
        arguments = [linked.path, btf_object.path, out.path],
        inputs = [linked, btf_object],
        mnemonic = "LinuxVmlinuxLink",
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

linux_vmlinux = rule(
    implementation = _linux_vmlinux_impl,
    attrs = BTF_ATTRS | {
        "linked": attr.label(allow_single_file = True),
        "version": attr.string(mandatory = True),
        "_with_btf": attr.label(
            cfg = "exec",
            default = Label("//internal/cmd:with_btf"),
            executable = True,
        ),
    },
)
