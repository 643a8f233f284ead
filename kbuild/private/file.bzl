"""kbuild_file: one file from a directory that an action made."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load("//rules/private:run.bzl", "LINK_EXEC_GROUPS", "run_tool", "tools")

def _kbuild_file_impl(ctx):
    tree = ctx.file.tree
    if not tree.is_directory:
        fail("{} is a file: set tree to the directory that contains it".format(tree.short_path))
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
    # kbuild_btf gives all its rules the same exec_properties.
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
)
