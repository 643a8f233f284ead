"""cc_btf and btf_cc_aspect: BTF objects of what cc_library and cc_binary compile."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "BtfCcInfo", "BtfObjectsInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":btf_objects.bzl", "convert_all")
load(
    ":conversion.bzl",
    "CHOICE_ATTRS",
    "CONVERSION_SETTINGS",
    "chosen",
    "conversion_of",
    "with_debug_files",
)
load(":debug_files.bzl", "debug_files")
load(":grain.bzl", "GRAIN_SETTINGS")
load(":merge_tree.bzl", "merge_tree")

# Attributes that lead from a linked target to what is linked into it.
_EDGES = ["deps", "implementation_deps", "srcs"]

def _library_objects(library):
    """The ELF files of one LibraryToLink: its objects, or its archive where it has no objects.

    Of objects in two kinds of code those that aren't position independent are taken, as they are
    where the linker chooses between both.
    """
    for objects in [library.objects, library.pic_objects]:
        if objects:
            return objects
    for archive in [library.static_library, library.pic_static_library]:
        if archive:
            return [archive]
    return []

def _binary_objects(target, rule_files):
    """The ELF files of a binary itself, which no linker input names."""
    compiled = {
        file.path: file
        for action in target.actions
        if action.mnemonic == "CppCompile"
        for file in action.outputs.to_list()
    }
    own = {}
    for file in target[OutputGroupInfo].compilation_outputs.to_list():
        if file.path.endswith(".pic.o"):
            # The group has position independent objects even where the link takes the others.
            file = compiled.get(file.path.removesuffix(".pic.o") + ".o", file)
        if file.extension == "o":
            own[file] = None
    for file in getattr(rule_files, "srcs", []):
        if file.extension in ["a", "o"]:
            own[file] = None
    return own.keys()

def _own_objects(target, rule_files):
    """The ELF files that the target itself brings to a link, as opposed to its dependencies."""
    own = {}
    if CcInfo in target:
        # The linker inputs of a target include its dependencies'; only the label says which are its
        # own.
        for linker_input in target[CcInfo].linking_context.linker_inputs.to_list():
            if linker_input.owner == target.label:
                for library in linker_input.libraries:
                    own.update({file: None for file in _library_objects(library)})
    if own:
        return own.keys()
    if OutputGroupInfo in target and hasattr(target[OutputGroupInfo], "compilation_outputs"):
        return _binary_objects(target, rule_files)
    return []

def _dependencies(rule_attr):
    """BtfCcInfo of the targets that the aspect visited below this one."""
    found = []
    for edge in _EDGES:
        value = getattr(rule_attr, edge, None)
        for dep in value if type(value) == "list" else [value]:
            if type(dep) == "Target" and BtfCcInfo in dep:
                found.append(dep[BtfCcInfo])
    return found

def _dwos(target):
    """The .dwo files that the target's compilations write with --fission."""
    return [
        file
        for action in target.actions
        if action.mnemonic == "CppCompile"
        for file in action.outputs.to_list()
        if file.extension == "dwo"
    ]

def _btf_cc_aspect_impl(target, ctx):
    below = _dependencies(ctx.rule.attr)
    prefix = "_btf/" + target.label.name
    own = _own_objects(target, ctx.rule.files)
    dwos = _dwos(target)
    conversion = with_debug_files(conversion_of(ctx.attr), debug_files(dwos))
    objects = convert_all(ctx, own, prefix, conversion)
    merged = merge_tree(ctx, objects, prefix + ".merge.d", single = True)
    converted = [struct(
        label = target.label,
        files = tuple(own),
        dwos = tuple(dwos),
        objects = tuple(objects.values()),
        root = merged[0],
    )] if own else []
    return [BtfCcInfo(
        targets = depset(converted, transitive = [info.targets for info in below]),
    )]

btf_cc_aspect = aspect(
    implementation = _btf_cc_aspect_impl,
    doc = """Declares `BtfGen` actions for the objects that a C or C++ target compiles, and the
merge of them. The actions are the target's own, so all who link it share them. Follows `deps`,
`implementation_deps` and `srcs`.""",
    attr_aspects = _EDGES,
    attrs = CONVERSION_SETTINGS | GRAIN_SETTINGS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfCcInfo],
)

def _shared(targets):
    """The BTF objects of the aspect's actions: struct of `objects` and `roots`, depsets of File."""
    return struct(
        objects = depset([file for target in targets for file in target.objects]),
        root = None,
        roots = depset([target.root for target in targets]),
    )

def _own(ctx, targets, conversion):
    """The BTF objects of actions of the rule's own, for a conversion other than the flags'."""
    files = {file: None for target in targets for file in target.files}
    dwos = {file: None for target in targets for file in target.dwos}
    objects = convert_all(
        ctx,
        files.keys(),
        ctx.label.name + ".btfo.d",
        with_debug_files(conversion, debug_files(dwos.keys())),
    )
    merged = merge_tree(ctx, objects, ctx.label.name + ".merge.d", single = True)
    return struct(
        objects = depset(objects.values()),
        root = merged[0],
        roots = depset(merged),
    )

def _targets(ctx):
    """Those targets with objects of their own that deps lead to and exclude doesn't name."""
    for dep in ctx.attr.deps:
        if CcInfo not in dep and not dep[BtfCcInfo].targets:
            fail(("{}: {} compiles and links no object file: deps takes cc_library, cc_binary " +
                  "and the like; object files and archives are srcs of a btf_objects").format(
                ctx.label,
                dep.label,
            ))
    found = depset(transitive = [dep[BtfCcInfo].targets for dep in ctx.attr.deps]).to_list()
    if not found:
        fail(("{}: deps have headers alone, and no object file with types: name what " +
              "compiles").format(ctx.label))
    excluded = {dep.label: None for dep in ctx.attr.exclude}
    idle = [str(label) for label in excluded if label not in [target.label for target in found]]
    if idle:
        fail(("{}: exclude names {}, but deps link no object file of that target itself: name " +
              "the library that has the object or archive in its srcs").format(
            ctx.label,
            ", ".join(idle),
        ))
    kept = [target for target in found if target.label not in excluded]
    if not kept:
        fail("{}: exclude leaves no object file to convert".format(ctx.label))
    return kept

def _cc_btf_impl(ctx):
    targets = _targets(ctx)
    conversion = conversion_of(ctx.attr)
    found = _own(ctx, targets, conversion) if chosen(ctx.attr) else _shared(targets)
    return [
        DefaultInfo(files = found.roots),
        BtfObjectsInfo(
            btf_features = conversion.btf_features,
            objects = found.objects,
            root = found.root,
            roots = found.roots,
        ),
        OutputGroupInfo(btf_objects = found.objects),
    ]

cc_btf = rule(
    implementation = _cc_btf_impl,
    doc = """Converts everything that C and C++ targets link: the objects of each target once,
however many paths lead to it, by `BtfGen` actions for some objects each.

```starlark
cc_btf(
    name = "drivers_objects",
    deps = ["//drivers:disk", "//drivers:net"],
)
```

Compile with debug information, for example `--copt=-g`: an object without any is an error, which
names the library that it is of (`for //third_party:zlib`). A library that comes without is left
out:

```starlark
cc_btf(
    name = "server_objects",
    deps = ["//server"],
    exclude = ["//third_party:zlib"],  # a prebuilt libz.a
)
```

With `--fission` the `.dwo` files are read, too. What to encode comes from the flags
`@rules_btf//rules/settings:btf_features` and `:lang_exclude`, what to read from `:input`, and how
many objects an action converts from `:grain`.

All `cc_btf` share the actions of a library that several link. One with attributes that say
otherwise than the flags has actions of its own:

```starlark
cc_btf(
    name = "drivers_objects_with_variables",
    btf_features = ["default", "global_var"],
    deps = ["//drivers:disk", "//drivers:net"],
)
```""",
    attrs = CONVERSION_SETTINGS | CHOICE_ATTRS | GRAIN_SETTINGS | {
        "deps": attr.label_list(
            doc = """`cc_library`, `cc_binary` and other targets that link; what they depend on is
included. A library of headers has no types of its own, and may be among them.""",
            aspects = [btf_cc_aspect],
            allow_empty = False,
            mandatory = True,
        ),
        "exclude": attr.label_list(
            doc = """Targets among `deps` and what they depend on whose own objects are left out:
those without debug information. What such a target depends on is converted.""",
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfObjectsInfo],
)
