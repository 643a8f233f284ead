"""The BTF of kernels that Kbuild built. docs/kernel.md says which rule to use for which build."""

load("//kbuild/private:file.bzl", "kbuild_file", "kbuild_files")
load("//kbuild/private:tree.bzl", _kbuild_tree = "kbuild_tree")
load("//rules:defs.bzl", "modules_btf", "vmlinux_btf")

# For MODULE.bazel: use_repo_rule("@rules_btf//kbuild:defs.bzl", "kbuild_tree").
kbuild_tree = _kbuild_tree

# Attributes that only one of vmlinux_btf and modules_btf has.
_ONLY_VMLINUX = ["out", "strict"]
_ONLY_MODULES = ["drop_signature", "embed", "grain", "old_base", "resolve_ids"]

# Attributes that both have, but not kbuild_file and kbuild_files.
_ONLY_BTF = [
    "btf_features",
    "debug",
    "inline",
    "input",
    "lang_exclude",
    "variables",
]

def _without(attrs, names):
    return {name: value for name, value in attrs.items() if name not in names}

def kbuild_btf(name, tree, vmlinux = "vmlinux", modules = True, order = None, **kwargs):
    """Makes the BTF of a kernel that one action builds into a directory.

    The targets are NAME_vmlinux_btf; NAME_modules_btf; NAME, with the files of both; and
    NAME_vmlinux, the linked kernel.

    Args:
        name: name of the target.
        tree: label of the directory: a tree artifact, or a target whose only file is such an
            artifact.
        vmlinux: path of the linked kernel in the directory.
        modules: whether NAME has the BTF of the modules (all files *.ko below the directory).
            NAME_modules_btf is manual, so it is built only for NAME or when it is asked for.
        order: path of a modules.order in the directory; only the modules that it lists are used.
            If this is a select, each of its values is a path.
        **kwargs: other attributes of vmlinux_btf and modules_btf. Each rule gets those that it has;
            NAME and NAME_vmlinux get those that all rules have, such as visibility and tags.
    """
    common = _without(kwargs, _ONLY_VMLINUX + _ONLY_MODULES + _ONLY_BTF)
    kbuild_file(name = name + "_vmlinux", tree = tree, path = vmlinux, **common)
    vmlinux_btf(
        name = name + "_vmlinux_btf",
        vmlinux = ":{}_vmlinux".format(name),
        **_without(kwargs, _ONLY_MODULES)
    )

    manual = {"tags": (kwargs.get("tags") or []) + ["manual"]}
    if order != None:
        kbuild_file(name = name + "_order", tree = tree, path = order, **(common | manual))

    # An alias, because a list of labels can't contain a select.
    native.alias(
        name = name + "_tree",
        actual = tree,
        testonly = kwargs.get("testonly"),
        **manual
    )
    modules_btf(
        name = name + "_modules_btf",
        base = ":{}_vmlinux_btf".format(name),
        modules = [":{}_tree".format(name)],
        order = ":{}_order".format(name) if order != None else None,
        **(_without(kwargs, _ONLY_VMLINUX) | manual)
    )
    kbuild_files(
        name = name,
        modules = ":{}_modules_btf".format(name),
        vmlinux = ":{}_vmlinux_btf".format(name),
        with_modules = modules,
        **common
    )
