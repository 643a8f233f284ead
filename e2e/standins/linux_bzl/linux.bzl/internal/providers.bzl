"""The providers, with the fields that the stand-in needs."""

LinuxKernelInfo = provider(
    doc = "A kernel: the fields that recorded.txt lists.",
    fields = [
        "arch",
        "config",
        "image",
        "kernel_release",
        "system_map",
        "version",
        "vmlinux",
    ],
)

LinuxModuleSdkInfo = provider(
    doc = "What modules of a kernel need.",
    fields = [
        "btf_tools",
        "module_symvers",
        "modules",
        "modules_builtin",
        "modules_builtin_modinfo",
        "modules_order",
        "version",
        "vmlinux",
    ],
)
