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

def _library(owner, library):
    """One LibraryToLink: what `libraries_of` returns, or None if it has no ELF file to convert."""
    files = _library_objects(library)
    if not files:
        return None
    return struct(label = owner, files = tuple(files), archives = tuple(_archives(library)))

def _is_read(library, read):
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
        _library(linker_input.owner, library)
        for linker_input in linker_inputs
        if owner == None or linker_input.owner == owner
        for library in linker_input.libraries
        if read == None or _is_read(library, read)
    ]
    return [library for library in found if library]

def _attribute_targets(rule_attr, private = True):
    """All targets in attributes of a rule, or those in attributes that a user can set."""
    found = []
    for name in dir(rule_attr):
        if name.startswith("_") and not private:
            continue
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

def link_of(target, rule, visited):
    """A target's own link, such as that of a cc_binary.

    Args:
        target: Target.
        rule: `ctx.rule` of an aspect.
        visited: depset of struct, the `targets` of BtfCcInfo, from the target's dependencies.

    Returns:
        struct of `own` (list of struct, as `libraries_of` returns them, with the target's label for
        its own files) and `link` (one of the `links` of BtfCcInfo); None if the target links
        nothing.
    """
    inputs = [action.inputs for action in target.actions if action.mnemonic in _LINKS]
    link = struct(
        inputs = depset(transitive = inputs),
        linker_inputs = depset(transitive = [
            other[CcInfo].linking_context.linker_inputs
            for other in _attribute_targets(rule.attr)
            if CcInfo in other
        ]),
    )
    if not link.inputs:
        return None
    read = _by_path(link.inputs)
    own = []
    if OutputGroupInfo in target and hasattr(target[OutputGroupInfo], "compilation_outputs"):
        compiled = _compiled(target, read)
        if compiled:
            own.append(struct(label = target.label, files = tuple(compiled), archives = ()))
    prebuilt = [file for file in _files_of_srcs(rule) if file.path in read]
    if prebuilt:
        # The archive of a library may also be among the sources.
        found = libraries_of(link.linker_inputs.to_list(), read = read)
        libraries = found + [library for other in visited.to_list() for library in other.libraries]
        by_archive = {file.path: library for library in libraries for file in library.archives}
        for library in found:
            by_archive.update({file.path: library for file in library.files})
        own += [
            by_archive.get(file.path, struct(label = target.label, files = (file,), archives = ()))
            for file in prebuilt
        ]
    return struct(link = link, own = own)

def _by_path(inputs):
    return {file.path: file for file in inputs.to_list()}

def _files_of_srcs(rule):
    """Objects, archives and directories in the attribute `srcs`."""
    return [
        file
        for file in getattr(rule.files, "srcs", [])
        if file.extension in _PREBUILT or file.is_directory
    ]

def made_by(target):
    """What a target's own actions compile and archive.

    Args:
        target: Target.

    Returns:
        struct of lists of File: `objects`, in the form (PIC or non-PIC) that a link reads; `dwos`,
        the .dwo files that are written with --fission; `archives`, which contain all objects; and
        `others`, objects and archives that other actions write. The actions that compile a
        directory of sources are not visible.
    """
    objects, dwos, archives, others = {}, [], [], []
    for action in target.actions:
        if action.mnemonic == "CppCompile":
            for file in action.outputs.to_list():
                if file.extension == "dwo":
                    dwos.append(file)
                elif file.extension == "o" and not file.basename.endswith(".indexing.o"):
                    objects[file.path] = file
        elif action.mnemonic in ["CppArchive", "CppLink", "SolibSymlink"]:
            archives += action.outputs.to_list()
        else:
            others += [file for file in action.outputs.to_list() if file.extension in _PREBUILT]
    pic = {path.removesuffix(".o") + ".pic.o": None for path in objects}
    return struct(
        objects = [file for path, file in objects.items() if path not in pic],
        dwos = dwos,
        archives = archives,
        others = others,
    )

def own_libraries(target, rule, linker_inputs, made):
    """The libraries that a target adds to links, without those of its dependencies.

    For what the target compiled, its own actions show them. To search all linker inputs at each
    target would take quadratic time. If a rule links something else than its actions show, a cc_btf
    finds the difference (`owners_of`).

    Args:
        target: Target.
        rule: `ctx.rule` of an aspect.
        linker_inputs: depset of LinkerInput, those of the target and its dependencies.
        made: what `made_by` returned.

    Returns:
        list of struct, as `libraries_of` returns them.
    """
    prebuilt = made.others or _files_of_srcs(rule)
    if not prebuilt and not made.objects:
        prebuilt = made.archives or [
            file
            for other in _attribute_targets(rule.attr, private = False)
            if CcInfo not in other
            for file in other[DefaultInfo].files.to_list()
            if file.extension in _PREBUILT
        ]
    if prebuilt:
        return libraries_of(linker_inputs.to_list(), target.label)
    if not made.objects:
        return []
    return [struct(
        label = target.label,
        files = tuple(made.objects),
        # Another rule may put more into its archives.
        archives = tuple(made.archives if rule.kind == "cc_library" else []),
    )]

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
    return struct(
        targets = [owners[file.path] for file in library.files if file.path in owners],
        rest = [file for file in library.files if file.path not in owners],
    )

def whole_targets(visited, libraries, inputs, links):
    """Finds the targets whose objects are one library of a link, as in most cases.

    Args:
        visited: list of struct, the `targets` of BtfCcInfo, dependencies first.
        libraries: list of struct, as `libraries_of` returns them.
        inputs: list of LinkerInput that are linked.
        links: list of struct, the `links` of BtfCcInfo.

    Returns:
        struct of `targets` (dict from the `root` of each target to the target) and `rest` (list of
        struct, as `libraries_of` returns them: the other libraries).
    """
    by_first = {
        target.libraries[0].files[0].path: target
        for target in visited[::-1]
        if len(target.libraries) == 1
    }
    targets, rest = {}, []
    for library in libraries:
        target = by_first.get(library.files[0].path)
        if target and target.libraries[0].files == library.files:
            targets[target.root] = target
        else:
            rest.append(library)
    for linker_inputs, read in [(inputs, None)] + [
        (link.linker_inputs.to_list(), _by_path(link.inputs))
        for link in links
    ]:
        for linker_input in linker_inputs:
            for library in linker_input.libraries:
                files = library.objects or library.pic_objects
                first = files[0].path if files else None
                if read != None and first not in read and not _is_read(library, read):
                    continue
                target = by_first.get(first)
                if target:
                    own = target.libraries[0]
                    if own.label == linker_input.owner and own.files == tuple(files):
                        targets[target.root] = target
                        continue
                found = _library(linker_input.owner, library)
                if found:
                    rest.append(found)
    return struct(targets = targets, rest = rest)
