"""kbuild_file: one file of a directory that an action made. kbuild_files: the files of targets."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")

# buildifier: disable=bzl-visibility
load("//rules/private:exec_groups.bzl", "LINK_EXEC_GROUPS")
load("//rules/private:run.bzl", "run_tool", "tools")

visibility("//kbuild/...")

def _kbuild_file_impl(ctx):
    tree = ctx.file.tree
    if not tree.is_directory:
        fail("{} is a file: set tree to the directory that contains it".format(tree.short_path))
    if not ctx.attr.path:
        fail("the path of a file in {} is empty".format(tree.short_path))
    out = ctx.actions.declare_file("{}/{}".format(ctx.label.name, paths.basename(ctx.attr.path)))
    args = ctx.actions.args()
    args.add("-o", out)
    args.add(ctx.attr.path, format = "--path=%s")
    args.add_all([tree], expand_directories = False)
    run_tool(
        ctx,
        tools(ctx).btfdedup,
        "file",
        args,
        inputs = [tree],
        mnemonic = "BtfFile",
        outputs = [out],
        progress_message = "Copying %{output}",
    )
    return [DefaultInfo(files = depset([out]))]

kbuild_file = rule(
    implementation = _kbuild_file_impl,
    doc = "Copies one file out of a tree artifact, for rules that need single files.",
    attrs = {
        "path": attr.string(
            doc = "Path in the directory.",
            mandatory = True,
        ),
        "tree": attr.label(
            allow_single_file = True,
            doc = "The directory.",
            mandatory = True,
        ),
    },
    # kbuild_btf gives all its rules the same exec_properties, which may name this group.
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
)

def _kbuild_files_impl(ctx):
    targets = [ctx.attr.vmlinux] + ([ctx.attr.modules] if ctx.attr.with_modules else [])
    return [DefaultInfo(files = depset(
        transitive = [target[DefaultInfo].files for target in targets],
    ))]

kbuild_files = rule(
    implementation = _kbuild_files_impl,
    doc = "The files of two targets, or of one of them.",
    attrs = {
        "modules": attr.label(
            doc = "The BTF of the modules.",
            mandatory = True,
        ),
        "vmlinux": attr.label(
            doc = "The BTF of vmlinux.",
            mandatory = True,
        ),
        "with_modules": attr.bool(
            doc = "Whether there are files of `modules`.",
            mandatory = True,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
)
