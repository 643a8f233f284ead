"""kbuild_unpack: the files of an archive, as a directory."""

visibility("//kbuild/...")

def _kbuild_unpack_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    args = ctx.actions.args()
    args.add(ctx.file.archive)
    args.add_all([out], expand_directories = False)
    ctx.actions.run_shell(
        arguments = [args],
        command = "tar -xf \"$1\" -C \"$2\" --no-same-owner",
        inputs = [ctx.file.archive],
        mnemonic = "KbuildUnpack",
        outputs = [out],
        progress_message = "Unpacking %{input}",
    )
    return [DefaultInfo(files = depset([out]))]

kbuild_unpack = rule(
    implementation = _kbuild_unpack_impl,
    doc = """Unpacks an archive of modules, such as Kleaf's `unstripped_modules.tar.gz`, into a
directory, for the attribute `modules` of `modules_btf`. The action runs `tar` on the execution
platform.""",
    attrs = {
        "archive": attr.label(
            doc = "The archive, compressed or not.",
            allow_single_file = True,
            mandatory = True,
        ),
    },
)
