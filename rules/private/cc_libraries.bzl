"""The libraries that a link may read: the ELF files of each, and whether the link reads it.

A library has several forms: objects and archives, each with or without PIC, and shared objects. A
link reads one of them. Its objects are converted, or its archive if it has no objects.
"""

visibility("//rules/...")

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

def library_of(owner, library):
    """One library: what `libraries_of` returns, or None if it has no ELF file to convert.

    Args:
        owner: Label.
        library: LibraryToLink.

    Returns:
        struct, or None.
    """
    files = _library_objects(library)
    if not files:
        return None
    return struct(label = owner, files = tuple(files), archives = tuple(_archives(library)))

def by_path(inputs):
    """The inputs of a link, for `is_read`.

    Args:
        inputs: depset of File.

    Returns:
        dict from path to File.
    """
    return {file.path: file for file in inputs.to_list()}

def is_read(library, read):
    """Whether a library, in any of its forms, is among the inputs of a link.

    Args:
        library: LibraryToLink.
        read: dict by path, the inputs.

    Returns:
        bool.
    """
    for file in [library.static_library, library.pic_static_library]:
        if file and file.path in read:
            return True
    files = _archives(library) + (library.objects or []) + (library.pic_objects or [])
    return bool([file for file in files if file.path in read])

def libraries_of(linker_inputs, owner = None, read = None):
    """The libraries in linker inputs that have ELF files to convert.

    Args:
        linker_inputs: list of LinkerInput.
        owner: Label or None. If set, only libraries of this owner are returned.
        read: dict by path or None, the inputs of a link. If set, only libraries among these inputs
            are returned.

    Returns:
        list of struct: `label` (Label, the owner), `files` (tuple of File, the objects, or the
        archive if there are none), `archives` (tuple of File, each of which contains the whole
        library).
    """
    found = [
        library_of(linker_input.owner, library)
        for linker_input in linker_inputs
        if owner == None or linker_input.owner == owner
        for library in linker_input.libraries
        if read == None or is_read(library, read)
    ]
    return [library for library in found if library]
