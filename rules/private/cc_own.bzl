"""What a target itself adds to the links of others, such as the objects of a cc_library."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":cc_attributes.bzl", "PREBUILT", "attribute_targets", "prebuilt_srcs")
load(":cc_libraries.bzl", "libraries_of")

visibility("//rules/...")

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
            others += [file for file in action.outputs.to_list() if file.extension in PREBUILT]
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
    prebuilt = made.others or prebuilt_srcs(rule)
    if not prebuilt and not made.objects:
        prebuilt = made.archives or [
            file
            for other in attribute_targets(rule.attr, private = False)
            if CcInfo not in other
            for file in other[DefaultInfo].files.to_list()
            if file.extension in PREBUILT
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
