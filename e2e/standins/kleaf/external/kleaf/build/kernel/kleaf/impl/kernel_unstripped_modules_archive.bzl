"""kernel_unstripped_modules_archive: the modules of a kernel with DWARF, as an archive."""

load(":common_providers.bzl", "KernelUnstrippedModulesInfo")

def _kernel_unstripped_modules_archive_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + "/unstripped_modules.tar.gz")
    directories = ctx.attr.kernel_build[KernelUnstrippedModulesInfo].directories.to_list()
    command = "mkdir unstripped\n"
    for directory in directories:
        command += "cp -L {}/*.ko unstripped\n".format(directory.path)
    ctx.actions.run_shell(
        command = command + "tar -czhf {} unstripped\n".format(out.path),
        inputs = directories,
        mnemonic = "KernelUnstrippedModulesArchive",
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

kernel_unstripped_modules_archive = rule(
    implementation = _kernel_unstripped_modules_archive_impl,
    attrs = {"kernel_build": attr.label(providers = [KernelUnstrippedModulesInfo])},
)
