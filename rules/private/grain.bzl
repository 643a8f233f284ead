"""Grain: how many object files one BtfGen action converts.

Any grouping gives the same bytes in the end, so only cost matters. Each action has a fixed cost,
and objects that are converted together are read faster, because they have most types in common.
But an edit of one object converts its whole group again, and a machine that has only the cache
fetches all objects of the group.

Groups are made like merges (merge_tree.bzl): along directories, and in a directory by a hash of
each path, so that a new file joins one group and leaves the others as they are.
"""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load(":merge_tree.bzl", "buckets_of")

# The most objects of a directory in one action with the grain "directory".
DIRECTORY_MOST = 128

_DOC = """`object` (an action for each), `directory` (one for each directory, several for large
ones), or a number such as `16`: about that many at most, from one directory and small ones below
it. Archives and modules always have their own actions."""

# For the aspect, whose attributes can't be arbitrary strings.
GRAIN_SETTINGS = {
    "_grain": attr.label(
        doc = "The grain of targets that set none.",
        default = Label("//rules/settings:grain"),
        providers = [BuildSettingInfo],
    ),
}

GRAIN_ATTRS = GRAIN_SETTINGS | {
    "grain": attr.string(
        doc = """How many object files an action converts: """ + _DOC + """ The result is the same,
to the byte. Empty: the flag `@rules_btf//rules/settings:grain`.""",
    ),
}

def grain_of(ctx):
    """The grain of a target or of an aspect application.

    Args:
        ctx: context of a rule with GRAIN_ATTRS or of an aspect with GRAIN_SETTINGS.

    Returns:
        struct of `most` (int, the most objects in a group), and `few` (int: a directory with fewer
        objects leaves them to its parent).
    """
    own = getattr(ctx.attr, "grain", "")
    value = own or ctx.attr._grain[BuildSettingInfo].value
    if value == "object":
        return struct(most = 1, few = 0)
    if value == "directory":
        return struct(most = DIRECTORY_MOST, few = 0)
    if not value.isdigit() or int(value) < 1:
        fail("{}: {} is \"{}\"; expected \"object\", \"directory\" or a number from 1 on".format(
            ctx.label,
            "grain" if own else "@rules_btf//rules/settings:grain",
            value,
        ))
    return struct(most = int(value), few = int(value) // 4)

def groups_of(elves, grain, extensions = ["o"]):
    """Which ELF files are converted together.

    Args:
        elves: dict from a path, by which the file is laid out, to its File.
        grain: what `grain_of` returned.
        extensions: list of string, of the files that may be converted with others.

    Returns:
        dict from a path, by which the group is laid out, to the list of its files. A group of one
        file has the path of the file.
    """
    groups = {}
    directories = {}
    depth = 0
    for path, elf in elves.items():
        if grain.most == 1 or elf.is_directory or elf.extension not in extensions:
            groups[path] = [elf]
            continue
        directories.setdefault(paths.dirname(path), {})[path] = elf
        depth = max(depth, path.count("/"))

    # Deepest directories first; those with few objects leave them to their parent.
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
                        fail("{} has the name of a group of objects: rename it".format(
                            groups[group][0].path,
                        ))
                    groups[group] = [bucket[path] for path in sorted(bucket)]
    return groups
