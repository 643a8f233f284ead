"""How to pass file paths on a command line, whatever characters the paths contain."""

def can_name(name):
    """Whether the argument NAME=FILE works with this name.

    Args:
        name: string.

    Returns:
        bool: False if a tool would take the name for a flag or a parameter file, or would end the
        name early.
    """
    return name[0] not in ["-", "@"] and "=" not in name

def add_file_as(args, name, file):
    """Adds NAME=FILE.

    Args:
        args: Args.
        name: string, for which `can_name` is true.
        file: File.
    """
    args.add(file, format = name.replace("%", "%%") + "=%s")

def add_files(args, files, **kwargs):
    """Adds file paths, spelled so that no tool takes one for a flag, a parameter file or NAME=FILE.

    Args:
        args: Args.
        files: list or depset of File.
        **kwargs: arguments of `args.add_all`.
    """
    if files:  # an empty list would cost memory in each action
        args.add_all(files, map_each = _path_of, **kwargs)

def _path_of(file):
    return argument_of(file.path)

def argument_of(path):
    """The path, spelled so that no tool takes it for a flag, a parameter file or NAME=FILE."""
    return path if can_name(path) else "./" + path

def add_named(args, files, **kwargs):
    """Adds file paths for a tool that accepts NAME=FILE. A path that contains "=" needs this form.

    Args:
        args: Args.
        files: list or depset of File.
        **kwargs: arguments of `args.add_all`.
    """
    args.add_all(files, map_each = _named, **kwargs)

def _named(file):
    if "=" not in file.path:
        return argument_of(file.path)
    return file.basename.removesuffix("." + file.extension) + "=" + file.path
