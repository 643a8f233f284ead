"""Actions for BPF programs that run on many kernels.

The needs of programs are a small file without code, paths or offsets. The actions for kernels read
this file instead of the programs, so most edits of a program rerun none of these actions.
"""

load(":arguments.bzl", "add_file_as", "add_files")
load(":run.bzl", "run_tool", "tools")

visibility("//rules/...")

def _needs_resources(_os, _inputs):
    return {"cpu": 1, "memory": 64}

def _min_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def bpf_needs_action(ctx, objects, out):
    """Declares BtfNeeds: what programs need from a kernel.

    Args:
        ctx: context of a rule with the toolchain.
        objects: list of File, object files of BPF programs.
        out: File to write, their needs.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    add_files(args, objects)
    run_tool(
        ctx,
        tools(ctx).btfcore,
        "needs",
        args,
        inputs = objects,
        outputs = [out],
        mnemonic = "BtfNeeds",
        progress_message = "Extracting the needs of BPF programs %{label}",
        resource_set = _needs_resources,
    )

def _archive_resources(_os, inputs):
    return {"cpu": 1, "memory": 64 + inputs // 16}

def btf_min_action(ctx, needs, kernel, out, modules = [], flat = False, hooks = True):
    """Declares BtfMin: the part of a kernel's BTF that programs need.

    Args:
        ctx: context of a rule with the toolchain.
        needs: depset of File, needs of programs.
        kernel: File, a kernel's BTF or image, or a directory of such files.
        out: File to write: raw BTF; or a directory of such files if `kernel` is a directory, or if
            there are modules and `flat` is false.
        modules: list of struct, the modules of the kernel: `files` (depset of File, files or
            directories), `name` (string, the module in the only file; "" if files are named after
            their modules).
        flat: bool, whether the types of modules become a part of vmlinux's BTF.
        hooks: bool, whether to keep the functions, kfuncs, variables and types that programs name.
    """
    args = ctx.actions.args()
    args.add_all("-d" if out.is_directory else "-o", [out], expand_directories = False)
    add_files(args, needs, before_each = "--needs")
    for module in modules:
        if module.name:
            args.add("--module")
            add_file_as(args, module.name, module.files.to_list()[0])
        else:
            add_files(args, module.files, before_each = "--module", expand_directories = False)
    if flat:
        args.add("--flat")
    if not hooks:
        args.add("--hooks=false")
    args.add("--quiet")
    add_files(args, [kernel], expand_directories = False)
    run_tool(
        ctx,
        tools(ctx).btfcore,
        "min",
        args,
        inputs = depset([kernel], transitive = [needs] + [module.files for module in modules]),
        outputs = [out],
        mnemonic = "BtfMin",
        progress_message = "Making minimal BTF %{label}: %{output}",
        resource_set = _min_resources,
    )

def btf_min_archive(ctx, needs, btfs, out, hooks):
    """Declares BtfMinArchive: the minimal BTF of kernels in one file.

    The action runs `btfcore min` on the minimal BTF, which packs the BTF without changing it.

    Args:
        ctx: context of a rule with the toolchain.
        needs: depset of File, the needs for which btfs were made.
        btfs: dict from the name of a kernel to its minimal BTF (File); or from "" to a directory.
        out: File to write: NAME.tar, or NAME.tar.gz etc., which is compressed.
        hooks: bool, the value of the attribute hooks with which btfs were made.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    add_files(args, needs, before_each = "--needs")
    if not hooks:
        args.add("--hooks=false")
    args.add("--quiet")
    for name, btf in btfs.items():
        if name:
            add_file_as(args, name, btf)
        else:
            add_files(args, [btf], expand_directories = False)
    run_tool(
        ctx,
        tools(ctx).btfcore,
        "min",
        args,
        inputs = depset(btfs.values(), transitive = [needs]),
        outputs = [out],
        mnemonic = "BtfMinArchive",
        progress_message = "Archiving minimal BTF %{label}",
        resource_set = _archive_resources,
    )
