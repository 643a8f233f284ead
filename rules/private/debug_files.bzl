"""Debug files: files with debug information that ELF files and archives refer to.

An action reads only files on its command line: the tools get `--debug-file` for each file that an
input may refer to.
"""

visibility("//rules/...")

DEBUG_ATTRS = {
    "debug": attr.label_list(
        doc = """The files that the ELF files refer to: actions see only those that are listed here.
They may be `.dwo` files from `-gsplit-dwarf`, or packages of them (`.dwp`); `.o` and `.a` members
of a thin archive; separate debug files of stripped ELF files, such as `vmlinux.debug`; or the
supplementary file of `dwz -m`. An action reads only the `.dwo` files beside its object files that
have the same names (`x.dwo` for `x.o` and `x.pi.o`), and those that lie beside no such object
file.""",
        allow_files = True,
    ),
}

# These are the extensions of the members of thin archives.
_MEMBERS = ["a", "o"]

def debug_files(files = []):
    """The debug files of a target, sorted by their kinds.

    Args:
        files: list of File, the files of the attribute `debug`.

    Returns:
        struct of `dwos`, `joined`, `members` and `others` (lists of File), and `by_stem` (dict from
        the stem of .dwo files to the list of them).
    """
    dwos = [file for file in files if file.extension == "dwo"]
    by_stem = {}
    for dwo in dwos:
        by_stem.setdefault(_stem(dwo), []).append(dwo)
    return struct(
        dwos = dwos,
        by_stem = by_stem,
        joined = [],
        members = [file for file in files if file.extension in _MEMBERS],
        others = [file for file in files if file.extension not in ["dwo"] + _MEMBERS],
    )

def debug_files_of(attr):
    """The files in DEBUG_ATTRS of a rule; none for an aspect.

    Args:
        attr: `ctx.attr`.

    Returns:
        what `debug_files` returns.
    """
    return debug_files(
        [file for target in getattr(attr, "debug", []) for file in target.files.to_list()],
    )

def beside_objects(beside, elves):
    """Finds out which .dwo files don't lie beside an object file with the same name.

    Args:
        beside: what `debug_files_of` returned.
        elves: list of File, all ELF files of the target.

    Returns:
        the same struct, with these .dwo files in `joined`. They may belong to any object file that
        `ld -r` made.
    """
    if not beside.dwos:
        return beside
    objects = {_stem(elf): None for elf in elves if elf.extension == "o"}
    return struct(
        dwos = beside.dwos,
        by_stem = beside.by_stem,
        joined = [dwo for dwo in beside.dwos if _stem(dwo) not in objects],
        members = beside.members,
        others = beside.others,
    )

# This flag makes the tools read only files on the command line.
NO_DEBUG_FILE = "--debug-file="

def _dwo_in(file):
    return file.path if file.extension == "dwo" else None

def add_debug_files(args, elves, beside):
    """Adds the flags of `btfgen object` for the files that the ELF files refer to.

    Args:
        args: Args.
        elves: list of File, what the action converts.
        beside: what `debug_files_of` returned.
    """
    args.add(NO_DEBUG_FILE)
    named = debug_inputs(elves, beside)
    if named:
        args.add_all(named, format_each = "--debug-file=%s")
    if elves[0].is_directory:
        args.add_all(elves, map_each = _dwo_in, format_each = "--debug-file=%s")

def _stem(file):
    # The stem ends at the first dot, because x.dwo also belongs to files that objcopy made from
    # x.o, such as x.pi.o.
    return file.dirname + "/" + file.basename.partition(".")[0]

def debug_inputs(elves, beside):
    """The files that an action reads besides the ELF files that it converts.

    An action that converts only objects reads only the .dwo files of these objects, and those that
    belong to no object's name.

    Args:
        elves: list of File, what the action converts.
        beside: what `debug_files_of` returned.

    Returns:
        list of File.
    """
    dwos = beside.dwos
    if not dwos and not beside.members:
        return beside.others
    if dwos and not [elf for elf in elves if elf.extension != "o"]:
        stems = {_stem(elf): None for elf in elves}
        dwos = [dwo for stem in stems for dwo in beside.by_stem.get(stem, [])] + beside.joined
    archives = [elf for elf in elves if elf.extension == "a" or elf.is_directory]
    return dwos + (beside.members if archives else []) + beside.others
