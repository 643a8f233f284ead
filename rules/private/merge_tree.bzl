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
load(":link_actions.bzl", "btf_merge")

visibility("//rules/...")

FAN_IN = 32

# The files of a directory with fewer files than this are merged with those of its parent.
_FEW = 8

# This many rounds are enough, because each divides the number of files by at least FAN_IN / 2.
_ROUNDS = 8

def layout_path(file):
    """The layout path of a file: its path without the directory of a configuration.

    Args:
        file: File.

    Returns:
        string, a relative path with no "..".
    """
    path = file.short_path
    return "external/" + path[len("../"):] if path.startswith("../") else path

def put(things, path, file):
    """Adds a file to a dict by path. Fails if the path is taken.

    Args:
        things: dict from a path to a File.
        path: string.
        file: File.
    """
    if path in things:
        fail(
            "{} and {} would both be merged as {}: rename one of them".format(
                things[path].path,
                file.path,
                path,
            ),
        )
    things[path] = file

# Rule: merge tree: path that decides a file's group and merge.
def laid_out(ctx, files, directory = ""):
    """Gives files their layout paths.

    A layout path depends only on the file, so other files don't change it. If files of several
    configurations have the same path, the configuration is appended to each path, except for files
    of the target's own configuration.

    Args:
        ctx: context of a rule or aspect.
        files: list of File, which may contain a file several times.
        directory: string that ends with a slash; this prefix is removed from the paths. Paths of
            files in other directories begin with "@".

    Returns:
        dict from a layout path to its File.
    """
    by_path = {}
    for file in {file.path: file for file in files}.values():
        full = layout_path(file)
        path = full.removeprefix(directory)
        if not full.startswith(directory) or path.startswith("@"):
            path = "@" + full
        by_path.setdefault(path, []).append(file)
    found = {}
    for path, same in by_path.items():
        if len(same) == 1:
            put(found, path, same[0])
            continue
        own = [file for file in same if file.is_source]
        own = own or [file for file in same if file.root.path == ctx.bin_dir.path]
        for file in same:
            # bazel-out/CONFIGURATION/bin
            put(found, path if file in own else path + "@" + file.root.path.split("/")[-2], file)
    return found

# Rule: merge tree: hash of paths.
def buckets_of(things, most):
    """Cuts files into buckets by a hash of their paths.

    Args:
        things: dict from a path to a File.
        most: int, the maximum average number of files in a bucket.

    Returns:
        dict from the name of a bucket, such as "3of8", to its part of things.
    """
    if len(things) <= most:
        return {"0of1": things}
    count = 1
    for _ in range(32):
        if count * most >= len(things):
            break
        count *= 2
    buckets = {}
    for path, file in things.items():
        buckets.setdefault("{}of{}".format(hash(path) % count, count), {})[path] = file
    return buckets

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
