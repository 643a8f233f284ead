"""The layout of BtfMerge actions.

Merging is associative and commutative, so any layout gives the same bytes. The layout is made for
the cache:

  - The tree follows the directories, because files of one directory often change together: an
    edited header of a directory reruns that directory's merges and the few above it.
  - A directory with more than FAN_IN files is cut into buckets by a hash of each path, never by
    position: a new file joins one bucket and leaves the others as they are. The number of buckets
    is a power of two, so it changes rarely.
  - The files of a directory with few files are merged with those of its parent.

So an edit of one object reruns at most one merge at each level, each of about FAN_IN files.
"""

load("@bazel_skylib//lib:paths.bzl", "paths")
load(":layout.bzl", "buckets_of")
load(":link_actions.bzl", "btf_merge")

visibility("//rules/...")

FAN_IN = 32

# The files of a directory with fewer files than this are merged with those of its parent.
_FEW = 8

# This many rounds are enough, because each divides the number of files by at least FAN_IN / 2.
_ROUNDS = 8

def _merged(ctx, prefix, path, things):
    """Merges the files in things (a dict from path to File) into one file."""
    if len(things) == 1:
        return things.values()[0]
    out = ctx.actions.declare_file("{}/{}.btfo".format(prefix, path))
    btf_merge(ctx, [things[key] for key in sorted(things)], out)
    return out

def _bucketed(ctx, prefix, directory, things):
    """Merges things into at most FAN_IN files."""
    for round in range(_ROUNDS):
        if len(things) <= FAN_IN:
            break
        buckets = buckets_of(things, FAN_IN)
        things = {}
        for bucket, content in buckets.items():
            path = paths.join(directory, "merge.{}.{}".format(round, bucket))
            things[path] = _merged(ctx, prefix, path, content)
    return things

# Rule: merge tree: how a merge is divided into actions.
def merge_tree(ctx, objects, prefix, single):
    """Declares the BtfMerge actions that merge objects into few files.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        objects: dict from the layout path of each object to its File.
        prefix: directory of the merged files, unique in the package.
        single: bool, whether one file is wanted. Otherwise at most FAN_IN files are returned.

    Returns:
        list of File that together hold each object exactly once.
    """
    if single and len(objects) == 1:
        return objects.values()
    directories = {}
    depth = 0
    for path, file in objects.items():
        directory = paths.dirname(path)
        directories.setdefault(directory, {})[path] = file
        depth = max(depth, path.count("/"))

    # The deepest directories come first; each passes its remaining files to its parent.
    for level in range(depth, 0, -1):
        for directory in sorted([d for d in directories if d and d.count("/") == level - 1]):
            things = _bucketed(ctx, prefix, directory, directories.pop(directory))
            if len(things) >= _FEW:
                path = paths.join(directory, "merge")
                things = {path: _merged(ctx, prefix, path, things)}
            directories.setdefault(paths.dirname(directory), {}).update(things)

    things = _bucketed(ctx, prefix, "", directories.get("", {}))
    if single and things:
        return [_merged(ctx, prefix, "merge", things)]
    return [things[path] for path in sorted(things)]
