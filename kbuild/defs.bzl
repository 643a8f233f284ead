"""The BTF of kernels that Kbuild built. docs/kernel.md says which rule to use for which build."""

load("//kbuild/private:file.bzl", "kbuild_file")
load("//kbuild/private:tree.bzl", _kbuild_tree = "kbuild_tree")
load("//kbuild/private:unpack.bzl", _kbuild_unpack = "kbuild_unpack")
load("//rules:defs.bzl", "modules_btf", "vmlinux_btf")

# For MODULE.bazel: use_repo_rule("@rules_btf//kbuild:defs.bzl", "kbuild_tree").
kbuild_tree = _kbuild_tree

kbuild_unpack = _kbuild_unpack

def kbuild_btf(
        name,
        tree,
        vmlinux = "vmlinux",
        modules = True,
        order = None,
        btf_features = [],
        lang_exclude = [],
        inline = False,
        **kwargs):
    """Makes the BTF of a kernel that one action builds into a directory.

    The targets are NAME_vmlinux_btf; NAME_modules_btf; NAME, with the files of both; and
    NAME_vmlinux, the linked kernel.

    Args:
        name: name of the target.
        tree: label of the directory: a tree artifact, or a target whose only file is such an
            artifact.
        vmlinux: path of the linked kernel in the directory.
        modules: whether to also make the BTF of the modules (all files *.ko below the directory).
        order: path of a modules.order in the directory; only the modules that it lists are used.
        btf_features: as in vmlinux_btf and modules_btf.
        lang_exclude: as in vmlinux_btf and modules_btf.
        inline: as in vmlinux_btf and modules_btf.
        **kwargs: attributes that all rules have, such as visibility and tags.
    """
    kbuild_file(name = name + "_vmlinux", tree = tree, path = vmlinux, **kwargs)
    vmlinux_btf(
        name = name + "_vmlinux_btf",
        btf_features = btf_features,
        inline = inline,
        lang_exclude = lang_exclude,
        vmlinux = ":{}_vmlinux".format(name),
        **kwargs
    )
    all = [":{}_vmlinux_btf".format(name)]
    if modules:
        if order:
            kbuild_file(name = name + "_order", tree = tree, path = order, **kwargs)
        modules_btf(
            name = name + "_modules_btf",
            base = ":{}_vmlinux_btf".format(name),
            btf_features = btf_features,
            inline = inline,
            lang_exclude = lang_exclude,
            modules = [tree],
            order = ":{}_order".format(name) if order else None,
            **kwargs
        )
        all.append(":{}_modules_btf".format(name))
    native.filegroup(name = name, srcs = all, **kwargs)
