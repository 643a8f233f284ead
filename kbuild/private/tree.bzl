"""kbuild_tree: a directory in which Kbuild built a kernel or modules, as a repository."""

visibility("//kbuild/...")

def _tree(ctx):
    """The path of the tree. Fails if there is no such directory."""
    path = ctx.attr.path
    if ctx.attr.path_env:
        path = ctx.getenv(ctx.attr.path_env) or path
    if not path:
        if ctx.attr.path_env:
            fail("{}: the environment variable {} is not set: set it with --repo_env={}=DIR".format(
                ctx.name,
                ctx.attr.path_env,
                ctx.attr.path_env,
            ))
        fail("{}: no tree: set path or path_env".format(ctx.name))
    tree = ctx.path(path) if path.startswith("/") else ctx.workspace_root.get_child(path)
    if not tree.exists:
        fail("{}: {} does not exist: build the kernel first".format(ctx.name, tree))
    return tree

def _kbuild_tree_impl(ctx):
    tree = _tree(ctx)
    inputs = ctx.path("kbuild.inputs")
    ctx.watch(ctx.attr.generator)
    args = [
        ctx.path(ctx.attr.generator),
        "--out={}".format(ctx.path(".")),
        "--symlinks",
        "--inputs={}".format(inputs),
        # The workspace may use a different repository name for rules_btf.
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
    if ctx.attr.inline:
        args.append("--inline")
    result = ctx.execute(args + [tree])
    if result.return_code:
        fail("{}: {}".format(ctx.name, result.stderr.strip()))
    for line in result.stderr.splitlines():
        if "warning:" in line or "note:" in line:
            print(line)  # buildifier: disable=print

    # Bazel itself detects changed objects, because they are source files. The list of objects is
    # made again when a file from which it was derived changes.
    for name in ctx.read(inputs, watch = "no").splitlines():
        ctx.watch("{}/{}".format(tree, name))

kbuild_tree = repository_rule(
    implementation = _kbuild_tree_impl,
    doc = """Makes a repository from the directory in which Kbuild has built a kernel or modules.

The targets are `//:vmlinux_btf`; `//:NAME_btf` for each module; `//:modules_btf`; `//:all_btf`;
`//:vmlinux_btf_skipped` and `//:modules_btf_skipped` (what was left out of the BTF); `//:vmlinux`
and `//:modules` (the linked files). Each directory with objects is a package. It has one
`btf_objects` for the objects of vmlinux (`//DIRECTORY:vmlinux_objects`), and one for the objects of
each module (`//DIRECTORY:NAME_objects`). `//:kbuild.skipped` lists the objects without DWARF.

After another `make`, the next build detects what has changed.""",
    attrs = {
        "base": attr.label(
            doc = """The base of the modules, if it isn't the tree's own vmlinux: a `btf_import` of
the shipped kernel, or the `vmlinux_btf` of another `kbuild_tree`.""",
        ),
        "btf_features": attr.string_list(
            doc = """As in `btf_objects`. `+distilled_base` is for modules that other builds of the
kernel load.""",
        ),
        "generator": attr.label(
            doc = """The command that reads the tree. By default it comes from the release whose
tools the workspace uses. If the workspace uses no release, the command is built with the Go of
rules_go.""",
            default = Label("@btf_kbuild//:btfkbuild"),
        ),
        "inline": attr.bool(
            doc = """As in `vmlinux_btf`: also makes the BTF of the sites where functions were
inlined (`//:vmlinux_btf_inline`, `//:modules_btf_inline`).""",
        ),
        "lang_exclude": attr.string_list(
            doc = """As in `btf_objects`. The default for a kernel that was configured with Rust is
`rust`, because Kbuild also excludes Rust when it runs pahole.""",
        ),
        "modules": attr.string(
            doc = """`objects`: a `module_btf` for each module, made from its objects. `whole`: one
`modules_btf` for all .ko files, with far fewer actions. `none`: no BTF of modules.""",
            default = "objects",
            values = ["objects", "whole", "none"],
        ),
        "path": attr.string(
            doc = """The directory in which Kbuild built (the one in `O=` or `KBUILD_OUTPUT`, if
set): absolute, or relative to the workspace.""",
        ),
        "path_env": attr.string(
            doc = """The name of an environment variable, for `--repo_env`. If the variable is set,
its value replaces `path`.""",
        ),
        "vmlinux": attr.string(
            doc = """`objects`: a `btf_objects` for each directory. `whole`: one action converts the
linked kernel. With CONFIG_LTO_CLANG or GCC's `-flto`, objects have no DWARF, so such a kernel is
always converted as with `whole`, and its modules as with `modules = "whole"`.""",
            default = "objects",
            values = ["objects", "whole"],
        ),
    },
    local = True,
)
