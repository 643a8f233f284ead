"""kbuild_file: one file from a directory that an action made."""

load("@bazel_skylib//lib:paths.bzl", "paths")

visibility("//kbuild/...")

def _kbuild_file_impl(ctx):
    tree = ctx.file.tree
    if not tree.is_directory:
        fail("{} is a file: set tree to the directory that contains it".format(tree.short_path))
    out = ctx.actions.declare_file("{}/{}".format(ctx.label.name, paths.basename(ctx.attr.path)))
    args = ctx.actions.args()
    args.add_all([tree], expand_directories = False)
    args.add(ctx.attr.path)
    args.add(out)
    ctx.actions.run_shell(
        arguments = [args],
        command = """if [ ! -f "$1/$2" ]; then
  echo "$1 has no file $2: specify its path relative to that directory" >&2
  exit 1
fi
cp -L -- "$1/$2" "$3"
""",
        inputs = [tree],
        mnemonic = "KbuildFile",
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
)
