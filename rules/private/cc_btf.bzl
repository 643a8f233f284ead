"""cc_btf and btf_cc_aspect: BTF objects from cc_library and cc_binary."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "BtfCcInfo", "BtfObjectsInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":btf_objects.bzl", "convert_all")
load(":cc_link.bzl", "link_of")
load(":cc_own.bzl", "made_by", "own_libraries")
load(":cc_owners.bzl", "files_of", "owner_by_file", "owners_of", "whole_targets")
load(
    ":conversion.bzl",
    "CHOICE_ATTRS",
    "chosen",
    "conversion_mistake",
    "conversion_of",
)
load(":debug_files.bzl", "debug_files")
load(":merge_tree.bzl", "merge_tree")
load(":settings.bzl", "SETTINGS_ATTRS")

visibility("//rules/...")

# The aspect visits the possible inputs of a link through these attributes. Which of the visited
# targets are inputs depends on the link. Inputs that can be reached only through other attributes
# are converted by actions of the cc_btf itself.
_EDGES = ["deps", "implementation_deps", "link_extra_lib", "malloc", "srcs"]

def _linked(target, rule, below, made):
    """The inputs of a target's link or, for a library, the inputs that it adds to links.

    Args:
        target: Target.
        rule: `ctx.rule` of the aspect.
        below: list of BtfCcInfo of the targets that the aspect visited below this one.
        made: what `made_by` returned.

    Returns:
        struct of `own` (list of struct, as `libraries_of` returns them), the target's own
        libraries without its dependencies; and `libraries`, `linker_inputs` and `links`, as in
        BtfCcInfo.
    """
    linker_inputs = depset()
    if CcInfo in target:
        linker_inputs = target[CcInfo].linking_context.linker_inputs
    linked = None
    if not linker_inputs:
        linked = link_of(target, rule, depset(transitive = [info.targets for info in below]))
    if linked:
        return struct(
            own = [library for library in linked.own if library.label == target.label],
            libraries = depset(linked.own),
            linker_inputs = linker_inputs,
            links = depset([linked.link]),
        )
    if CcInfo not in target:
        # This is, for example, a rule that calls a linker itself.
        return struct(
            own = [],
            libraries = depset(transitive = [info.libraries for info in below]),
            linker_inputs = depset(transitive = [info.linker_inputs for info in below]),
            links = depset(transitive = [info.links for info in below]),
        )
    return struct(
        own = own_libraries(target, rule, linker_inputs, made) if linker_inputs else [],
        libraries = depset(),
        linker_inputs = linker_inputs,
        links = depset(),
    )

def _dependencies(rule_attr):
    """The dependencies that the aspect visited: list of BtfCcInfo."""
    found = []
    for edge in _EDGES:
        value = getattr(rule_attr, edge, None)
        for dep in value if type(value) == "list" else [value]:
            if type(dep) == "Target" and BtfCcInfo in dep:
                found.append(dep[BtfCcInfo])
    return found

def _part(files, root):
    """One of the `parts` of BtfObjectsInfo: the merge of the BTF objects of ELF files."""
    return struct(files = tuple(sorted([file.path for file in files])), root = root)

def _btf_cc_aspect_impl(target, ctx):
    below = _dependencies(ctx.rule.attr)
    prefix = "_btf/" + target.label.name
    made = made_by(target)
    linked = _linked(target, ctx.rule, below, made)
    own = {file: None for library in linked.own for file in library.files}.keys()
    converted = []
    if own:
        conversion = conversion_of(ctx.attr, debug_files(made.dwos))
        objects = convert_all(ctx, own, prefix, conversion)
        root = merge_tree(ctx, objects, prefix + ".merge.d", single = True)[0]
        converted.append(struct(
            label = target.label,
            libraries = tuple(linked.own),
            dwos = tuple(made.dwos),
            objects = tuple(objects.values()),
            part = _part(own, root),
            root = root,
        ))
    info = BtfCcInfo(
        libraries = linked.libraries,
        linker_inputs = linked.linker_inputs,
        links = linked.links,
        objects = depset(
            [file for own in converted for file in own.objects],
            transitive = [info.objects for info in below],
        ),
        targets = depset(
            converted,
            transitive = [info.targets for info in below],
            order = "postorder",
        ),
    )
    if OutputGroupInfo in target and hasattr(target[OutputGroupInfo], "btf_objects"):
        return [info]  # a cc_btf, for example, has this output group already
    return [info, OutputGroupInfo(btf_objects = info.objects)]

btf_cc_aspect = aspect(
    implementation = _btf_cc_aspect_impl,
    doc = """Declares the actions that convert the objects of a C or C++ target (`BtfGen`), and the
action that merges the results. All targets that link the same C or C++ target share these
actions.

The output group `btf_objects` has the BTF objects of the target and of the dependencies that it
has in `deps`, `srcs` and the like, whether its link reads them or not. So no target of the rules is
needed to make them:

```
bazel build //server --aspects=@rules_btf//rules:defs.bzl%btf_cc_aspect --output_groups=btf_objects
```""",
    attr_aspects = _EDGES,
    attrs = SETTINGS_ATTRS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfCcInfo],
)

def _convert(ctx, where, files, dwos):
    """Declares the rule's own actions.

    Args:
        ctx: context of the rule.
        where: string, the beginning of the paths of the outputs.
        files: list of File, the ELF files.
        dwos: list of File, the .dwo files of some of the ELF files.

    Returns:
        struct of `objects` (list of File, the BTF objects) and `part` (what `_part` returned).
    """
    conversion = conversion_of(ctx.attr, debug_files(dwos))
    objects = convert_all(ctx, files, where + ".btfo.d", conversion)
    root = merge_tree(ctx, objects, where + ".merge.d", single = True)[0]
    return struct(objects = objects.values(), part = _part(files, root))

# Rule: cc_btf: which libraries it converts, exclude.
def _chosen(ctx):
    """What deps link, without those in exclude, and the targets that convert it.

    Args:
        ctx: context of the rule.

    Returns:
        struct of `linked` (bool, whether deps link anything), `targets` (list of struct: the
        `targets` of BtfCcInfo whose actions convert what is linked), `rest` (for ELF files that no
        such action converts: dict from the Label of their owner to the list of files), `dwos`
        (dict from such a Label to the .dwo files of the target) and `idle` (list of Label: those in
        exclude that deps don't link).
    """
    infos = [dep[BtfCcInfo] for dep in ctx.attr.deps]
    visited = depset(
        transitive = [info.targets for info in infos],
        order = "postorder",
    ).to_list()
    found = whole_targets(
        visited,
        depset(transitive = [info.libraries for info in infos]).to_list(),
        depset(transitive = [info.linker_inputs for info in infos]).to_list(),
        depset(transitive = [info.links for info in infos]).to_list(),
    )
    excluded = {dep.label: False for dep in ctx.attr.exclude}
    targets, rest, taken, owners = dict(found.targets), {}, {}, {}
    if found.rest:
        linked = [library for target in targets.values() for library in target.libraries]
        owners = owner_by_file(visited, linked + found.rest)
    if excluded:
        for target in found.targets.values():
            if target.label in excluded:
                excluded[target.label] = True
                targets.pop(target.root)
    for library in found.rest:
        by = owners_of(library, owners)
        labels = [library.label] + [target.label for target in by.targets]
        named = [label for label in labels if label in excluded]
        if named:
            excluded.update({label: True for label in named})
            continue
        targets.update({target.root: target for target in by.targets})
        if by.rest and not [file for file in library.archives if file.path in taken]:
            files = [file for file in by.rest if file.path not in taken]
            rest.setdefault(library.label, []).extend(files)
            taken.update({file.path: None for file in by.rest + list(library.archives)})
    rest = {label: files for label, files in rest.items() if files}
    return struct(
        linked = bool(found.targets or found.rest),
        idle = [label for label, linked in excluded.items() if not linked],
        rest = rest,
        dwos = {target.label: target.dwos for target in visited if target.label in rest},
        targets = targets.values(),
    )

def _mistake(ctx, left):
    """What is wrong with the attributes.

    Args:
        ctx: context of the rule.
        left: what `_chosen` returned.

    Returns:
        string, or None.
    """
    for dep in ctx.attr.deps:
        info = dep[BtfCcInfo]
        if CcInfo not in dep and not info.libraries and not info.linker_inputs and not info.links:
            return ("{} has no object file to convert: deps takes cc_library, cc_binary and the " +
                    "like; use btf_objects for object files and archives").format(dep.label)
    if not left.linked:
        return "deps have only headers and no object file with types: add a target that compiles"
    if left.idle:
        return ("exclude has {}, but deps link no object file of that target: exclude the " +
                "library that has the object or archive in its srcs").format(
            ", ".join([str(label) for label in left.idle]),
        )
    if not left.targets and not left.rest:
        return "the attribute exclude removes all object files; none is left to convert"
    return conversion_mistake(ctx.attr)

def _cc_btf_impl(ctx):
    left = _chosen(ctx)
    mistake = _mistake(ctx, left)
    if mistake:
        fail(mistake)
    targets, rest = left.targets, left.rest
    name = ctx.label.name
    if chosen(ctx.attr):
        files = [file for target in targets for file in files_of(target)]
        for others in rest.values():
            files += others
        dwos = [file for target in targets for file in target.dwos]
        parts = [_convert(ctx, name, files, dwos)]
    else:
        parts = targets + [
            _convert(
                ctx,
                paths.join(name + ".d", label.workspace_root, label.package, label.name),
                files,
                left.dwos.get(label, []),
            )
            for label, files in rest.items()
        ]
    objects = depset([file for part in parts for file in part.objects])
    roots = depset([part.part.root for part in parts])
    return [
        DefaultInfo(files = roots),
        BtfObjectsInfo(
            btf_features = conversion_of(ctx.attr, debug_files()).btf_features,
            objects = objects,
            parts = depset([part.part for part in parts]),
            root = parts[0].part.root if chosen(ctx.attr) else None,
            roots = roots,
        ),
        OutputGroupInfo(btf_objects = objects),
    ]

cc_btf = rule(
    implementation = _cc_btf_impl,
    doc = """Converts everything that C and C++ targets link. Each `BtfGen` action converts several
objects, and each object is converted once.

```starlark
cc_btf(
    name = "drivers_objects",
    deps = ["//drivers:disk", "//drivers:net"],
)
```

Compile with debug information, for example with `--copt=-g`. For an object without it, the error
names the object's library (`for //third_party:zlib`), which you can exclude:

```starlark
cc_btf(
    name = "server_objects",
    deps = ["//server"],
    exclude = ["//third_party:zlib"],  # a prebuilt libz.a
)
```

All inputs of a `cc_binary`'s link are converted, including libraries from its attribute `malloc`
and from your own rule that forwards `CcInfo`. A library that is linked in several configurations is
converted in each. A library that only a `genrule` reads is not converted. With `--fission`, the
`.dwo` files are read too; a library that your own rule forwards must then be in `deps`.

The flags `btf_features`, `lang_exclude`, `input` and `grain` in `@rules_btf//rules/settings` set
what to encode, what to read and how many objects an action converts. All `cc_btf` targets share the
actions of a library, except targets that set attributes instead of relying on the flags:

```starlark
cc_btf(
    name = "drivers_objects_with_variables",
    btf_features = ["default", "global_var"],
    deps = ["//drivers:disk", "//drivers:net"],
)
```""",
    attrs = SETTINGS_ATTRS | CHOICE_ATTRS | {
        "deps": attr.label_list(
            doc = """`cc_library`, `cc_binary` and other targets that link, with their dependencies.
Header-only libraries are allowed; they add nothing.""",
            aspects = [btf_cc_aspect],
            allow_empty = False,
            mandatory = True,
        ),
        "exclude": attr.label_list(
            doc = """Targets whose own objects are left out, for example because the objects have no
debug information. The targets must be in `deps`, or be dependencies of targets in `deps`. The
dependencies of an excluded target are still converted.""",
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfObjectsInfo],
)
