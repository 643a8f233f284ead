"""Which files of `srcs` are converted."""

load("//rules:providers.bzl", "BtfModulesInfo")

visibility("//rules/...")

# The key is the extension of a file that isn't converted. The value says what to do with such a
# file.
_OTHERS = {
    "btf": "is BTF already: use it as a base, through a btf_import",
    "btfo": "is converted already: put it into srcs of a vmlinux_btf or module_btf",
    "dwo": "belongs to an object file: put it into the attribute debug",
    "dwp": "belongs to an object file: put it into the attribute debug",
}
_OTHERS.update({
    extension: "is source code: use its object file, or its cc_library in a cc_btf"
    for extension in ["c", "cc", "cpp", "cxx", "h", "hpp", "rs", "S", "s"]
})

def _one_form(files):
    """The files of one target, each library in one form.

    A library may have several forms: an archive, a shared object, and an archive of position
    independent code.
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

# Rule: srcs: which files are refused.
def source_mistake(src):
    """What is wrong with a target in `srcs`, which should have ELF files.

    Args:
        src: Target.

    Returns:
        string, or None.
    """
    if BtfModulesInfo in src:
        return "{} in srcs is BTF already: use its modules, or their object files".format(src.label)
    for file in src[DefaultInfo].files.to_list():
        if file.extension in _OTHERS and not file.is_directory:
            return "{} in srcs {}".format(file.short_path, _OTHERS[file.extension])
    return None

def elves_of(src):
    """The ELF files of a target in `srcs`, and directories of ELF files.

    Args:
        src: Target.

    Returns:
        list of File.
    """
    return _one_form(src[DefaultInfo].files.to_list())
