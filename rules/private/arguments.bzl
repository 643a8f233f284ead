"""How paths of files are passed on a command line, whatever characters they contain."""

def add_files(args, files, **kwargs):
    """Adds the paths of files so that no tool takes one for a flag or a parameter file.

    Args:
        args: Args.
        files: list or depset of File.
        **kwargs: of `args.add_all`.
    """
    args.add_all(files, map_each = _path_of, **kwargs)

def _path_of(file):
    return argument_of(file.path)

def argument_of(path):
    """The path so that no tool takes it for a flag or a parameter file."""
    return "./" + path if path[0] in ["-", "@"] else path

def add_named(args, files, **kwargs):
    """Adds paths of files for a tool that accepts NAME=FILE, which is used if a path contains "=".

    Args:
        args: Args.
        files: list or depset of File.
        **kwargs: of `args.add_all`.
    """
    args.add_all(files, map_each = _named, **kwargs)

def _named(file):
    if "=" not in file.path:
        return argument_of(file.path)
    return file.basename.removesuffix("." + file.extension) + "=" + file.path
