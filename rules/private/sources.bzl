"""Which files of `srcs` are converted."""

# What isn't converted, and where it belongs.
_OTHERS = {
    "btf": "is BTF already: a target that provides it, such as a btf_import, is a module's base",
    "btfo": "is converted already: name it in srcs of a vmlinux_btf or module_btf",
    "dwo": "belongs to an object file: name it in debug",
    "dwp": "belongs to an object file: name it in debug",
}
_OTHERS.update({
    extension: "is source code: name what compiles it, a cc_library in a cc_btf or an object file"
    for extension in ["c", "cc", "cpp", "cxx", "h", "hpp", "rs", "S", "s"]
})

def _one_form(files):
    """The files of one target without other forms of the same library.

    A library comes as an archive and as a shared object, and the archive may come as position
    independent code, too.
    """
    paths = {file.path: None for file in files}
    chosen = []
    for file in files:
        stem = file.path.removesuffix("." + file.extension)
        if file.extension == "so" and [
            form
            for form in [".a", ".pic.a", ".lo", ".pic.lo"]  # .lo: alwayslink
            if stem + form in paths
        ]:
            continue
        if stem.endswith(".pic") and stem.removesuffix(".pic") + "." + file.extension in paths:
            continue
        chosen.append(file)
    return chosen

def elves_of(label, src):
    """The ELF files of a target in `srcs`, and directories of them.

    Args:
        label: Label of the target that has it.
        src: Target.

    Returns:
        list of File.
    """
    files = src[DefaultInfo].files.to_list()
    for file in files:
        if file.extension in _OTHERS and not file.is_directory:
            fail("{}: {} in srcs {}".format(label, file.short_path, _OTHERS[file.extension]))
    return _one_form(files)
