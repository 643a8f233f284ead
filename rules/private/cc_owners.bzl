"""Which target's actions convert the inputs of a link.

Most libraries are exactly the objects of one target that the aspect visited (`whole_targets`). For
the rest, the files show the targets (`owner_by_file`, `owners_of`). What no target has, the cc_btf
converts itself.
"""

load(":cc_libraries.bzl", "by_path", "is_read", "library_of")

visibility("//rules/...")

def files_of(target):
    """The ELF files that a target's actions convert.

    Args:
        target: struct, one of the `targets` of BtfCcInfo.

    Returns:
        list of File.
    """
    return [file for library in target.libraries for file in library.files]

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
        (link.linker_inputs.to_list(), by_path(link.inputs))
        for link in links
    ]:
        for linker_input in linker_inputs:
            for library in linker_input.libraries:
                files = library.objects or library.pic_objects
                first = files[0].path if files else None
                if read != None and first not in read and not is_read(library, read):
                    continue
                target = by_first.get(first)
                if target:
                    own = target.libraries[0]
                    if own.label == linker_input.owner and own.files == tuple(files):
                        targets[target.root] = target
                        continue
                found = library_of(linker_input.owner, library)
                if found:
                    rest.append(found)
    return struct(targets = targets, rest = rest)

# Rule: cc_btf: which target declares the actions for a library.
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
