"""The public targets of a kernel's repository."""

load(":linux_modules.bzl", "linux_module_sdk")
load(":linux_objects.bzl", "linux_vmlinux")
load(":providers.bzl", "LinuxKernelInfo", "LinuxModuleSdkInfo")

_KERNEL_FIELDS = ["config", "image", "kernel_release", "system_map", "vmlinux"]
_MODULE_FIELDS = [
    "module_symvers",
    "modules",
    "modules_builtin",
    "modules_builtin_modinfo",
    "modules_order",
]

def _linux_kernel_bundle_impl(ctx):
    sdk = ctx.attr.module_sdk[LinuxModuleSdkInfo]
    files = {field: getattr(ctx.file, field) for field in _KERNEL_FIELDS if field != "image"}

    # linux.bzl gives vmlinux if there is no boot image, and e2e/linux makes none.
    files["image"] = ctx.file.vmlinux
    groups = {field: depset([file]) for field, file in files.items()}
    for field in _MODULE_FIELDS:
        value = getattr(sdk, field)
        groups[field] = value if type(value) == "depset" else depset([value])
    return [
        DefaultInfo(files = groups["image"]),
        LinuxKernelInfo(arch = "x86_64", version = ctx.attr.version, **files),
        OutputGroupInfo(**groups),
        sdk,
    ]

_linux_kernel_bundle = rule(
    implementation = _linux_kernel_bundle_impl,
    attrs = {
        "config": attr.label(allow_single_file = True),
        "kernel_release": attr.label(allow_single_file = True),
        "module_sdk": attr.label(providers = [LinuxModuleSdkInfo]),
        "system_map": attr.label(allow_single_file = True),
        "version": attr.string(),
        "vmlinux": attr.label(allow_single_file = True),
    },
)

def linux_kernel_targets(name, version, modules):
    """Declares the targets that other repositories can't see.

    Args:
        name: name of the target with everything.
        version: the kernel's version.
        modules: paths of the modules in the kernel's tree.
    """
    linux_vmlinux(
        name = "_vmlinux",
        linked = "tree/.tmp_vmlinux1",
        version = version,
    )
    linux_module_sdk(
        name = "_module_sdk",
        module_symvers = "tree/Module.symvers",
        modules = ["tree/" + path for path in modules],
        modules_builtin = "tree/modules.builtin",
        modules_builtin_modinfo = "tree/modules.builtin.modinfo",
        modules_order = "tree/modules.order",
        paths = modules,
        version = version,
        vmlinux = ":_vmlinux",
    )
    _linux_kernel_bundle(
        name = name,
        config = "tree/.config",
        kernel_release = "tree/include/config/kernel.release",
        module_sdk = ":_module_sdk",
        system_map = "tree/System.map",
        version = version,
        vmlinux = ":_vmlinux",
    )

def _forward_impl(ctx):
    graph = ctx.attr.graph
    providers = [DefaultInfo, LinuxKernelInfo, LinuxModuleSdkInfo, OutputGroupInfo]
    return [
        DefaultInfo(files = graph[DefaultInfo].files) if p == DefaultInfo else graph[p]
        for p in providers
    ]

_forward = rule(
    implementation = _forward_impl,
    attrs = {"graph": attr.label(providers = [LinuxKernelInfo, LinuxModuleSdkInfo])},
)

def _field_impl(ctx):
    return [DefaultInfo(files = ctx.attr.kernel[OutputGroupInfo][ctx.attr.field])]

_field = rule(
    implementation = _field_impl,
    attrs = {
        "field": attr.string(),
        "kernel": attr.label(providers = [LinuxKernelInfo]),
    },
)

def linux_kernel_exports(name, graph):
    """Declares the public targets.

    Args:
        name: name of the kernel's target.
        graph: the target with everything.
    """
    _forward(
        name = name,
        graph = graph,
        visibility = ["//visibility:public"],
    )
    for field in _KERNEL_FIELDS + _MODULE_FIELDS:
        _field(
            name = field,
            field = field,
            kernel = ":" + name,
            visibility = ["//visibility:public"],
        )
