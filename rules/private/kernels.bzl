"""What btf_min and btf_core_test share: needs and kernels, and a BtfMin action for each kernel."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:providers.bzl", "BpfNeedsInfo", "BtfInfo", "BtfMinInfo", "BtfModulesInfo")
load(":mistakes.bzl", "first_mistake")
load(":program_actions.bzl", "btf_min_action")

visibility("//rules/...")

NEEDS_ATTRS = {
    "needs": attr.label_list(
        doc = "The `bpf_needs` of the programs, or `.needs` files.",
        allow_empty = False,
        allow_files = True,
        mandatory = True,
    ),
}

STRIP_PREFIX_ATTRS = {
    "strip_prefix": attr.string(
        doc = """A directory of the package. If a kernel's file is below this directory, its
name is the path relative to this directory, such as `ubuntu/20.04/x86_64/5.4.0-42-generic`, instead
of only the base name.""",
    ),
}

# To get the kernel's name, `btfcore` removes these endings from a file's name, in this order.
_ENDINGS = [".tar.xz", ".tar.zst", ".tar.gz", ".tar", ".btf"]

# The key is the extension of a file that isn't a kernel. The value says where such a file belongs.
_OTHERS = {
    "btfo": "is a BTF object: use the vmlinux_btf that links it",
    "ko": "is a module: put it into the attribute modules of a btf_min",
    "needs": "has the needs of programs: put it into the attribute needs",
    "o": "is an object file: use the vmlinux_btf of the kernel, or put BPF programs into a " +
         "bpf_needs",
}

def needs_mistake(ctx):
    """What is wrong with the attribute `needs`: string, or None."""
    for target in ctx.attr.needs:
        if BpfNeedsInfo in target:
            continue
        files = target[DefaultInfo].files.to_list()
        if [file for file in files if file.extension != "needs"]:
            return ("{}, in the attribute needs, is neither a bpf_needs nor a .needs file: use a " +
                    "bpf_needs").format(target.label)
    return None

def needs_of(ctx):
    """The files of the attribute `needs`: depset of File."""
    return depset(
        [target[BpfNeedsInfo].needs for target in ctx.attr.needs if BpfNeedsInfo in target],
        transitive = [
            target[DefaultInfo].files
            for target in ctx.attr.needs
            if BpfNeedsInfo not in target
        ],
    )

def _kernel_mistake(target):
    """What is wrong with a target in `kernels`: string, or None."""
    if BtfInfo in target:
        if target[BtfInfo].bases:
            return "{} in kernels isn't a kernel: it has a base".format(target.label)
        return None
    if BtfModulesInfo in target:
        return "{} has BTF of modules: put it into the attribute modules of a btf_min".format(
            target.label,
        )
    for file in target[DefaultInfo].files.to_list():
        if file.extension in _OTHERS and not file.is_directory:
            return "{} in kernels {}".format(file.short_path, _OTHERS[file.extension])
    return None

def _files_of(target):
    """The kernels of a target in `kernels`: list of File."""
    return [target[BtfInfo].btf] if BtfInfo in target else target[DefaultInfo].files.to_list()

def _below_prefix(ctx, file):
    """The path of a file below `strip_prefix`, or None."""
    if not ctx.attr.strip_prefix:
        return None
    root = "../" + file.owner.repo_name if file.owner.repo_name else ""
    prefix = paths.join(root, file.owner.package, ctx.attr.strip_prefix) + "/"
    return file.short_path.removeprefix(prefix) if file.short_path.startswith(prefix) else None

# Rule: names of kernels and modules, NAME=FILE. In Bazel rules.
def _name_of(ctx, file):
    """The name of a kernel, which may have directories."""
    name = _below_prefix(ctx, file) or file.basename
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name

def kernels_mistake(ctx, targets):
    """What is wrong with kernels.

    Args:
        ctx: context of a rule with STRIP_PREFIX_ATTRS.
        targets: list of Target.

    Returns:
        string, or None.
    """
    mistake = first_mistake([_kernel_mistake(target) for target in targets])
    if mistake:
        return mistake
    found = {}
    for file in [file for target in targets for file in _files_of(target)]:
        name = "" if file.is_directory else _name_of(ctx, file)
        if found.get(name, file) != file and name:
            return ("{} and {} are both the kernel {}: rename one, or set strip_prefix so that " +
                    "names have directories").format(
                found[name].short_path,
                file.short_path,
                name,
            )
        if "" in found or not name and found:
            return "a directory must be the only item of kernels: use several btf_min"
        found[name] = file
    prefix = ctx.attr.strip_prefix
    if prefix and not [file for file in found.values() if _below_prefix(ctx, file)]:
        return "no kernel is below strip_prefix, {}".format(prefix)
    return None

def kernels_of(ctx, targets):
    """The kernels of targets, by name.

    Args:
        ctx: context of a rule with STRIP_PREFIX_ATTRS.
        targets: list of Target, in which `kernels_mistake` finds no mistake.

    Returns:
        dict from a kernel's name to its File; or from "" to the only File, a directory.
    """
    return {
        "" if file.is_directory else _name_of(ctx, file): file
        for target in targets
        for file in _files_of(target)
    }

def minimal_btfs(ctx, needs, kernels, modules = [], flat = False, hooks = True):
    """Declares a BtfMin action for each kernel.

    The outputs are `NAME/KERNEL.btf`. For a directory of kernels, the output is the directory
    `NAME`. For a kernel whose modules have their own files, the output is the directory
    `NAME/KERNEL`.

    Args:
        ctx: context of a rule with the toolchain.
        needs: depset of File.
        kernels: what `kernels_of` returned.
        modules: list of struct, as for `btf_min_action`.
        flat: bool, as for `btf_min_action`.
        hooks: bool, as for `btf_min_action`.

    Returns:
        BtfMinInfo
    """
    btfs = []
    split = bool(modules) and not flat
    for name, kernel in kernels.items():
        if kernel.is_directory:
            btf = ctx.actions.declare_directory(ctx.label.name)
        elif split:
            btf = ctx.actions.declare_directory(ctx.label.name + "/" + name)
        else:
            btf = ctx.actions.declare_file("{}/{}.btf".format(ctx.label.name, name))
        btf_min_action(ctx, needs, kernel, btf, modules, flat, hooks)
        btfs.append(btf)
    root = "../" + ctx.label.repo_name if ctx.label.repo_name else ""
    return BtfMinInfo(
        btfs = depset(btfs),
        hooks = hooks,
        needs = needs,
        root = paths.join(root, ctx.label.package, ctx.label.name),
        split = split,
    )
