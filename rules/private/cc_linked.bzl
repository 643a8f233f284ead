"""The inputs of a C or C++ target's link, and which target's actions convert them."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# With ThinLTO, the objects that were compiled are inputs of the indexing action, not of the link.
_LINKS = ["CppLTOIndexing", "CppLink"]

_PREBUILT = ["a", "lo", "o", "rlib"]

def _library_objects(library):
    """The ELF files of one LibraryToLink: its objects or, if it has none, its archive.

    If there are both PIC and non-PIC objects, the non-PIC objects are used, as in a link.
    """
    for objects in [library.objects, library.pic_objects]:
        if objects:
            return objects
    for archive in [library.static_library, library.pic_static_library]:
        if archive:
            return [archive]
    return []

def _archives(library):
    """All files that contain a whole LibraryToLink."""
    return [
        file
        for file in [
            library.static_library,
            library.pic_static_library,
            library.dynamic_library,
            library.resolved_symlink_dynamic_library,
            library.interface_library,
            library.resolved_symlink_interface_library,
        ]
        if file
    ]

def _is_read(library, read):
    """Whether a LibraryToLink, in any of its forms, is among the paths that a link reads."""
    files = _archives(library) + (library.objects or []) + (library.pic_objects or [])
    return bool([file for file in files if file.path in read])

def libraries_of(linker_inputs, owner = None, read = None):
    """The libraries in linker inputs that have ELF files to convert.

    Args:
        linker_inputs: depset of LinkerInput.
        owner: Label or None. If set, only libraries of this owner are returned.
        read: dict by path or None, the inputs of a link. If set, only libraries among these inputs
            are returned.

    Returns:
        list of struct: `label` (Label, the owner), `files` (tuple of File, the objects, or the
        archive if there are none), `archives` (tuple of File, each of which contains the whole
        library).
    """
    return [
        struct(
            label = linker_input.owner,
            files = tuple(files),
            archives = tuple(_archives(library)),
        )
        for linker_input in linker_inputs.to_list()
        if owner == None or linker_input.owner == owner
        for library in linker_input.libraries
        for files in [_library_objects(library)]
        if files and (read == None or _is_read(library, read))
    ]

def _attribute_targets(rule_attr):
    """All targets in attributes of a rule."""
    found = []
    for name in dir(rule_attr):
        value = getattr(rule_attr, name)
        for target in value if type(value) == "list" else [value]:
            if type(target) == "Target":
                found.append(target)
    return found

def _compiled(target, read):
    """All objects that a target compiled, each in the form (PIC or non-PIC) that the link reads."""
    found = {}
    for file in target[OutputGroupInfo].compilation_outputs.to_list():
        # The output group has PIC objects even if the link reads the non-PIC objects.
        other = file.path.replace("/_pic_objs/", "/_objs/")  # for a directory of objects
        if other.endswith(".pic.o"):
            other = other.removesuffix(".pic.o") + ".o"
        file = read.get(file.path) or read.get(other, file)
        if file.extension == "o" or file.is_directory:
            found[file] = None
    return found.keys()

def linked_by(target, rule, visited):
    """The inputs of a target's own link, such as that of a cc_binary.

    Args:
        target: Target.
        rule: `ctx.rule` of an aspect.
        visited: depset of struct, the `targets` of BtfCcInfo, from the target's dependencies.

    Returns:
        list of struct, as `libraries_of` returns them, with the target's label for its own files;
        None if the target links nothing.
    """
    read = {
        file.path: file
        for action in target.actions
        if action.mnemonic in _LINKS
        for file in action.inputs.to_list()
    }
    if not read:
        return None
    linker_inputs = depset(transitive = [
        other[CcInfo].linking_context.linker_inputs
        for other in _attribute_targets(rule.attr)
        if CcInfo in other
    ])
    found = libraries_of(linker_inputs, read = read)
    own = []
    if OutputGroupInfo in target and hasattr(target[OutputGroupInfo], "compilation_outputs"):
        own = _compiled(target, read)
    own += [
        file
        for file in getattr(rule.files, "srcs", [])
        if file.path in read and file.extension in _PREBUILT
    ]

    # The archive of a library may also be among the sources.
    libraries = found + [library for other in visited.to_list() for library in other.libraries]
    by_archive = {file.path: library for library in libraries for file in library.archives}
    for library in found:
        by_archive.update({file.path: library for file in library.files})
    return found + [
        by_archive.get(file.path, struct(label = target.label, files = (file,), archives = ()))
        for file in own
    ]

def files_of(target):
    """The ELF files that a target's actions convert.

    Args:
        target: struct, one of the `targets` of BtfCcInfo.

    Returns:
        list of File.
    """
    return [file for library in target.libraries for file in library.files]

def owner_by_file(targets, libraries):
    """Which target's actions convert the inputs of a link.

    Args:
        targets: list of struct, the `targets` of BtfCcInfo, dependencies first.
        libraries: list of struct, as `libraries_of` returns them: all inputs of the link.

    Returns:
        dict from the path of a file to the target that converts it. A target is used only if all of
        its files are linked, and none of them belongs to another target.
    """
    linked = {
        file.path: None
        for library in libraries
        for file in library.files + library.archives
    }
    found = {}
    for target in targets:
        paths = [file.path for file in files_of(target)]
        if not [path for path in paths if path not in linked or path in found]:
            for library in target.libraries:
                for file in library.files + library.archives:
                    found.setdefault(file.path, target)
    return found

def owners_of(library, owners):
    """The targets whose actions convert a library.

    Args:
        library: struct, as `libraries_of` returns it.
        owners: dict from path to struct, what `owner_by_file` returned.

    Returns:
        struct of `targets`, list of struct, and `rest`, list of File that no target converts.
    """
    for file in library.archives:
        if file.path in owners:
            return struct(targets = [owners[file.path]], rest = [])
    return struct(
        targets = [owners[file.path] for file in library.files if file.path in owners],
        rest = [file for file in library.files if file.path not in owners],
    )
