"""Layout paths: what decides which files one action converts, and which it merges.

A layout path depends only on the file, and so does its bucket among the files of a directory, so
another file, or a new one, doesn't change them.
"""

visibility("//rules/...")

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
