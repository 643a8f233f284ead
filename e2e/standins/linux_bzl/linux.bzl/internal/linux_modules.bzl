"""linux_module_sdk: modules with BTF; linux_cc_module: a module outside of the kernel."""

load(":btf.bzl", "BTF_ATTRS", "btf_tools", "encode", "pahole_flags")
load(":providers.bzl", "LinuxModuleSdkInfo")

def _link(ctx, module, out):
    ctx.actions.run(
        executable = ctx.executable._without_btf,
        arguments = [module.path, out.path],
        inputs = [module],
        mnemonic = "LinuxModuleLink",
        outputs = [out],
    )

def _btf_module(ctx, tools, module, path, vmlinux, version, external_module = False):
    """Declares the actions for the module at a path, and returns the module with BTF."""
    linked = ctx.actions.declare_file(path + ".unprocessed")
    _link(ctx, module, linked)
    encoded = ctx.actions.declare_file(path + ".btf")
    flags = pahole_flags(version, external_module)
    encode(ctx, tools, linked, encoded, flags, "LinuxModuleBTF", base = vmlinux)

    # In linux.bzl, resolve_btfids makes this file.
    out = ctx.actions.declare_file(path)
    ctx.actions.symlink(output = out, target_file = encoded)
    return out

_ATTRS = BTF_ATTRS | {
    "_without_btf": attr.label(
        cfg = "exec",
        default = Label("//internal/cmd:without_btf"),
        executable = True,
    ),
}

def _linux_module_sdk_impl(ctx):
    tools = btf_tools(ctx)
    modules = depset([
        _btf_module(
            ctx,
            tools,
            module,
            "{}.modules/{}".format(ctx.label.name, path),
            ctx.file.vmlinux,
            ctx.attr.version,
        )
        for module, path in zip(ctx.files.modules, ctx.attr.paths)
    ])
    return [
        DefaultInfo(files = modules),
        LinuxModuleSdkInfo(
            btf_tools = tools,
            module_symvers = ctx.file.module_symvers,
            modules = modules,
            modules_builtin = ctx.file.modules_builtin,
            modules_builtin_modinfo = ctx.file.modules_builtin_modinfo,
            modules_order = ctx.file.modules_order,
            version = ctx.attr.version,
            vmlinux = ctx.file.vmlinux,
        ),
    ]

linux_module_sdk = rule(
    implementation = _linux_module_sdk_impl,
    attrs = _ATTRS | {
        "module_symvers": attr.label(allow_single_file = True),
        "modules": attr.label_list(allow_files = True),
        "modules_builtin": attr.label(allow_single_file = True),
        "modules_builtin_modinfo": attr.label(allow_single_file = True),
        "modules_order": attr.label(allow_single_file = True),
        "paths": attr.string_list(),
        "version": attr.string(mandatory = True),
        "vmlinux": attr.label(allow_single_file = True),
    },
)

def _linux_cc_module_impl(ctx):
    sdk = ctx.attr.kernel[LinuxModuleSdkInfo]
    out = _btf_module(
        ctx,
        sdk.btf_tools,
        ctx.files.srcs[0],
        ctx.label.name + ".ko",
        sdk.vmlinux,
        sdk.version,
        external_module = True,
    )
    return [DefaultInfo(files = depset([out]))]

linux_cc_module = rule(
    implementation = _linux_cc_module_impl,
    doc = "In linux.bzl, the source is compiled. Here, it is a module that is already linked.",
    attrs = {
        "kernel": attr.label(providers = [LinuxModuleSdkInfo]),
        "srcs": attr.label_list(allow_files = True),
        "_without_btf": _ATTRS["_without_btf"],
    },
)
