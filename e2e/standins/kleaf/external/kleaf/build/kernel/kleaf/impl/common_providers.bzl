"""Providers of the internal rules."""

KernelEnvInfo = provider(
    doc = "How the build of a kernel is set up.",
    fields = {
        "inputs": "depset of files",
        "setup": "shell commands",
        "tools": "depset of files",
    },
)

KernelUnstrippedModulesInfo = provider(
    doc = "Modules with DWARF.",
    fields = {"directories": "depset of directories"},
)
