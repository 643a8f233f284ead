"""kbuild_tree: a directory in which Kbuild built a kernel or modules, as a repository."""

def _tree(ctx):
    """The path of the tree."""
    path = ctx.attr.path
    if ctx.attr.path_env:
        path = ctx.getenv(ctx.attr.path_env) or path
    if not path:
        if ctx.attr.path_env:
            fail("{}: the environment variable {} is not set (--repo_env={}=DIR)".format(
                ctx.name,
                ctx.attr.path_env,
                ctx.attr.path_env,
            ))
        fail("{}: name the tree in path or path_env".format(ctx.name))
    tree = ctx.path(path) if path.startswith("/") else ctx.workspace_root.get_child(path)
    if not tree.exists:
        fail("{}: {} does not exist: build the kernel first".format(ctx.name, tree))
    return tree

def _kbuild_tree_impl(ctx):
    tree = _tree(ctx)
    inputs = ctx.path("kbuild.inputs")
    args = [
        ctx.path(ctx.attr.generator),
        "--out={}".format(ctx.path(".")),
        "--symlinks",
        "--inputs={}".format(inputs),
        # The name that the workspace gives rules_btf may be another one.
        "--rules={}".format(Label("//rules:defs.bzl")),
        "--modules=" + ctx.attr.modules,
        "--vmlinux=" + ctx.attr.vmlinux,
    ]
    if ctx.attr.base:
        args.append("--base={}".format(ctx.attr.base))
    if ctx.attr.btf_features:
        args.append("--btf-features=" + ",".join(ctx.attr.btf_features))
    if ctx.attr.lang_exclude:
        args.append("--lang-exclude=" + ",".join(ctx.attr.lang_exclude))
    result = ctx.execute(args + [tree])
    if result.return_code:
        fail("{}: {}".format(ctx.name, result.stderr.strip()))
    for line in result.stderr.splitlines():
        if "warning:" in line or "note:" in line:
            print(line)  # buildifier: disable=print

    # Bazel looks at the objects themselves, as at all source files. Which there are is read again
    # when one of the files changes that say so.
    for name in ctx.read(inputs, watch = "no").splitlines():
        ctx.watch("{}/{}".format(tree, name))

kbuild_tree = repository_rule(
    implementation = _kbuild_tree_impl,
    doc = """A tree in which Kbuild has built a kernel, or a directory of modules, as a repository.

Its targets: `//:vmlinux_btf`; `//:NAME_btf` for each module; `//:modules_btf`; `//:all_btf`;
`//:vmlinux_btf_skipped` and `//:modules_btf_skipped`, what was left out of the BTF; `//:vmlinux`
and `//:modules`, the linked files. A directory with objects is a package, with a `btf_objects` for
those of vmlinux (`//DIRECTORY:vmlinux_objects`) and of each module (`//DIRECTORY:NAME_objects`).
`//:kbuild.skipped` lists the objects that have no DWARF.

The next build after another `make` sees what has changed, in any file.""",
    attrs = {
        "base": attr.label(
            doc = """What the modules are based on, if it isn't the tree's own vmlinux: a
`btf_import`
of the kernel that is shipped, or the `vmlinux_btf` of another `kbuild_tree`.""",
        ),
        "btf_features": attr.string_list(
            doc = """As `btf_objects` has it. `+distilled_base` is for modules that other builds of
the kernel load.""",
        ),
        "generator": attr.label(
            doc = """The command that reads the tree. The default is that of the release whose tools
the workspace uses, else it is built with rules_go's Go.""",
            default = Label("@btf_kbuild//:btfkbuild"),
        ),
        "lang_exclude": attr.string_list(
            doc = """As `btf_objects` has it. Empty: `rust` if the kernel was configured with it,
which is what Kbuild tells pahole.""",
        ),
        "modules": attr.string(
            doc = """`objects`: a `module_btf` for each module, of its objects. `whole`: a
`modules_btf` of the .ko files, for far fewer actions. `none`: without modules.""",
            default = "objects",
            values = ["objects", "whole", "none"],
        ),
        "path": attr.string(
            doc = """The directory in which Kbuild built (with `O=` or `KBUILD_OUTPUT`, that one):
absolute, or relative to the workspace.""",
        ),
        "path_env": attr.string(
            doc = """An environment variable with the directory, for `--repo_env`. Where it is set,
it is taken instead of `path`.""",
        ),
        "vmlinux": attr.string(
            doc = """`objects`: a `btf_objects` for each directory. `whole`: the linked kernel is
converted, by one action. Kernels with CONFIG_LTO_CLANG, whose objects have no DWARF, are converted
so in any case, and their modules as with `modules = "whole"`.""",
            default = "objects",
            values = ["objects", "whole"],
        ),
    },
    local = True,
)
