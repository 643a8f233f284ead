"""Debug files: files with debug information that ELF files and archives refer to.

An action reads only files on its command line: the tools get `--follow` for each file that an
input may refer to.
"""

load(":arguments.bzl", "add_files")

visibility("//rules/...")

DEBUG_ATTRS = {
    "alt": attr.label(
        doc = "The supplementary file of `dwz -m` that the ELF files refer to.",
        allow_single_file = True,
    ),
    "debug": attr.label_list(
        doc = """Files that the ELF files refer to; actions read no other such files. They may be
`.dwo` files from `-gsplit-dwarf`, or a package of them (`.dwp`); `.o` and `.a` members of a thin
archive; or the separate debug file of one stripped ELF file, such as `vmlinux.debug`. An action
reads only the `.dwo` files beside its object files that have the same names (`x.dwo` for `x.o` and
`x.pi.o`), and those that lie beside no such object file.""",
        allow_files = True,
    ),
}

# These are the extensions of the members of thin archives.
_MEMBERS = ["a", "o"]

def debug_files(files = [], alt = None):
    """The debug files of a target, sorted by their kinds.

    Args:
        files: list of File, the files of the attribute `debug`.
        alt: File or None, the supplementary file.

    Returns:
        struct of `dwos`, `joined` and `members` (lists of File), `by_stem` (dict from the stem of
        .dwo files to the list of them), `packages` and `separate` (lists of at most one File), and
        `alt` (File or None).
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
        packages = [file for file in files if file.extension == "dwp"],
        separate = [file for file in files if file.extension not in ["dwo", "dwp"] + _MEMBERS],
        alt = alt,
    )

def debug_files_of(attr):
    """The files in DEBUG_ATTRS of a rule; none for an aspect.

    Args:
        attr: `ctx.attr`.

    Returns:
        what `debug_files` returns.
    """
    alt = getattr(attr, "alt", None)
    return debug_files(
        [file for target in getattr(attr, "debug", []) for file in target.files.to_list()],
        alt.files.to_list()[0] if alt else None,
    )

def debug_mistake(beside, elves):
    """What is wrong if debug files of a target can't belong to its ELF files.

    Args:
        beside: what `debug_files_of` returned.
        elves: list of File.

    Returns:
        string, or None.
    """
    for files, what in [(beside.packages, "packages"), (beside.separate, "separate debug files")]:
        if len(files) > 1:
            return "debug has {} {}, but at most one is allowed: {}".format(
                len(files),
                what,
                ", ".join([file.short_path for file in files]),
            )
    if beside.separate and len(elves) != 1:
        return "{} is the debug file of a single ELF file, but there are {} ELF files".format(
            beside.separate[0].short_path,
            len(elves),
        )
    return None

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
        packages = beside.packages,
        separate = beside.separate,
        alt = beside.alt,
    )

# This flag makes the tools read only files on the command line.
FOLLOW_NONE = "--follow="

def _dwo_in(file):
    return file.path if file.extension == "dwo" else None

def add_debug_files(args, elves, beside):
    """Adds the flags of `btfgen object` for the files that the ELF files refer to.

    Args:
        args: Args.
        elves: list of File, what the action converts.
        beside: what `debug_files_of` returned.
    """
    args.add(FOLLOW_NONE)
    followed = _followed(elves, beside)
    if followed:
        args.add_all(followed, format_each = "--follow=%s")
    if elves[0].is_directory:
        args.add_all(elves, map_each = _dwo_in, format_each = "--follow=%s")
    add_files(args, beside.packages, before_each = "--dwp")
    add_files(args, beside.separate, before_each = "--dwarf")
    add_files(args, [beside.alt] if beside.alt else [], before_each = "--alt")

def _stem(file):
    # The stem ends at the first dot, because x.dwo also belongs to files that objcopy made from
    # x.o, such as x.pi.o.
    return file.dirname + "/" + file.basename.partition(".")[0]

def _followed(elves, beside):
    """The .dwo files and members of archives that an action reads.

    An action that converts only objects reads only the .dwo files of these objects, and those that
    belong to no object's name.
    """
    dwos = beside.dwos
    if not dwos and not beside.members:
        return []
    if dwos and not [elf for elf in elves if elf.extension != "o"]:
        stems = {_stem(elf): None for elf in elves}
        dwos = [dwo for stem in stems for dwo in beside.by_stem.get(stem, [])] + beside.joined
    archives = [elf for elf in elves if elf.extension == "a" or elf.is_directory]
    return dwos + (beside.members if archives else [])

def debug_inputs(elves, beside):
    """The files that an action reads besides the ELF files that it converts.

    Args:
        elves: list of File, what the action converts.
        beside: what `debug_files_of` returned.

    Returns:
        list of File.
    """
    alt = [beside.alt] if beside.alt else []
    return _followed(elves, beside) + beside.packages + beside.separate + alt
