"""A target's own link, such as that of a cc_binary: what the link reads."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":cc_attributes.bzl", "attribute_targets", "prebuilt_srcs")
load(":cc_libraries.bzl", "by_path", "libraries_of")

visibility("//rules/...")

# With ThinLTO, the objects that were compiled are inputs of the indexing action, not of the link.
_LINKS = ["CppLTOIndexing", "CppLink"]

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

# Rule: cc_btf: what a link reads. Source: Bazel cc_binary.bzl _collect_linking_context.
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
            for other in attribute_targets(rule.attr)
            if CcInfo in other
        ]),
    )
    if not link.inputs:
        return None
    read = by_path(link.inputs)
    own = []
    if OutputGroupInfo in target and hasattr(target[OutputGroupInfo], "compilation_outputs"):
        compiled = _compiled(target, read)
        if compiled:
            own.append(struct(label = target.label, files = tuple(compiled), archives = ()))
    prebuilt = [file for file in prebuilt_srcs(rule) if file.path in read]
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
