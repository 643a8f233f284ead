"""Grain: how many objects a BtfGen action converts, or modules a BtfModules action processes.

Any grouping gives the same bytes in the end, so only the cost matters. Each action has a fixed
cost, and files that are converted together are read faster, because they have most types in common.
But an edit of one file converts its whole group again, and a machine that has the files only in a
remote cache must fetch the whole group. The default is 16.

Files are grouped as for merges (layout.bzl): by directory, and within a directory by a hash of
each path, so that a new file joins one group and leaves the others as they are.
"""

load("@bazel_skylib//lib:paths.bzl", "paths")
load(":layout.bzl", "buckets_of")
load(":settings.bzl", "SETTINGS_ATTRS", "parsed_grain", "settings_of")

visibility("//rules/...")

_DOC = """`object` (one action per object), `directory` (one action per directory, several for a
large directory), or a number such as `16` (at most about that many, from one directory and the
small directories below it). Archives and linked modules among the objects always have their own
`BtfGen` action."""

GRAIN_ATTRS = SETTINGS_ATTRS | {
    "grain": attr.string(
        doc = """How many object files one action converts: """ + _DOC + """ The result is the same,
byte for byte, for any grain. If empty, the value of the flag `@rules_btf//rules/settings:grain` is
used, which is `16` unless it is set.""",
    ),
}

# Rule: grain: the default. 16, which is set in rules/settings/BUILD.bazel.
def grain_of(attr):
    """The grain of a target, or of an applied aspect.

    Args:
        attr: `ctx.attr` of a rule with GRAIN_ATTRS, or of a rule or aspect with SETTINGS_ATTRS.

    Returns:
        what `parsed_grain` returns.
    """
    own = getattr(attr, "grain", "")
    return parsed_grain(own) if own else settings_of(attr).grain

# Rule: grain: which files one action converts.
def groups_of(elves, grain, extensions = ["o"]):
    """Which ELF files are converted together.

    Args:
        elves: dict from the layout path of each file to its File.
        grain: what `grain_of` returned.
        extensions: list of string, the extensions of files that may be converted with others.

    Returns:
        dict from the layout path of each group to the list of its files. A group of one file has
        the layout path of the file.
    """
    groups = {}
    directories = {}
    depth = 0

    # Most libraries have few files, which all get into the group of the root: no need to search.
    few = len(elves) < grain.few
    for path, elf in elves.items():
        if grain.most == 1 or elf.is_directory or elf.extension not in extensions:
            groups[path] = [elf]
            continue
        directories.setdefault("" if few else paths.dirname(path), {})[path] = elf
        depth = max(depth, 0 if few else path.count("/"))

    # The deepest directories come first. The files of a directory with few files are grouped with
    # those of its parent.
    for level in range(depth, -1, -1):
        for directory in [d for d in directories if (d.count("/") + 1 if d else 0) == level]:
            content = directories.pop(directory)
            if directory and len(content) < grain.few:
                directories.setdefault(paths.dirname(directory), {}).update(content)
                continue
            for name, bucket in buckets_of(content, grain.most).items():
                if len(bucket) == 1:
                    groups.update({path: [elf] for path, elf in bucket.items()})
                else:
                    group = paths.join(directory, "group." + name)
                    if group in groups:
                        path = groups[group][0].path
                        fail(path + " has the same name as a group of objects: rename it")
                    groups[group] = [bucket[path] for path in sorted(bucket)]
    return groups
