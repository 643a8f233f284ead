"""btf_objects: BTF objects from object files and archives that something else built."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:providers.bzl", "BtfObjectsInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(
    ":conversion.bzl",
    "CONVERSION_ATTRS",
    "conversion_mistake",
    "conversion_of",
    "with_debug_files",
)
load(":convert_actions.bzl", "btf_gen")
load(":debug_files.bzl", "beside_objects")
load(":grain.bzl", "GRAIN_ATTRS", "grain_of", "groups_of")
load(":layout.bzl", "laid_out")
load(":merge_tree.bzl", "merge_tree")
load(":mistakes.bzl", "first_mistake")
load(":settings.bzl", "grain_mistake")
load(":sources.bzl", "elves_of", "source_mistake")

visibility("//rules/...")

# Rule: paths of object files: how they get onto command lines. laid_out in layout.bzl gives each
# file a path that decides its group, groups_of in grain.bzl makes the groups, and btf_gen in
# convert_actions.bzl passes their files.
def convert_all(ctx, elves, prefix, conversion):
    """Declares the BtfGen actions of ELF files.

    Args:
        ctx: context of a rule or aspect with the toolchain and SETTINGS_ATTRS.
        elves: list of File, object files, archives and directories of them. A repeated file is
            converted once.
        prefix: directory for the BTF objects, unique in the package.
        conversion: what `conversion_of` returned.

    Returns:
        dict from the path of each ELF file or group of ELF files to the BTF object made from it.
        Paths of files in the package are relative to the package.
    """
    package = paths.join(ctx.label.workspace_root, ctx.label.package)
    if conversion.beside.dwos:
        conversion = with_debug_files(conversion, beside_objects(conversion.beside, elves))
    by_path = laid_out(ctx, elves, package + "/" if package else "")
    objects = {}
    for path, group in groups_of(by_path, grain_of(ctx.attr)).items():
        objects[path] = ctx.actions.declare_file(prefix + "/" + path + ".btfo")
        btf_gen(ctx, group, objects[path], conversion)
    return objects

def _btf_objects_impl(ctx):
    conversion = conversion_of(ctx.attr)
    elves = [elf for src in ctx.attr.srcs for elf in elves_of(src)]
    mistake = (
        conversion_mistake(ctx.attr) or
        (grain_mistake("grain", ctx.attr.grain) if ctx.attr.grain else None) or
        first_mistake([source_mistake(src) for src in ctx.attr.srcs])
    )
    if mistake:
        fail(mistake)
    objects = convert_all(ctx, elves, ctx.label.name + ".btfo.d", conversion)
    merged = merge_tree(ctx, objects, ctx.label.name + ".merge.d", single = True)
    return [
        DefaultInfo(files = depset(merged)),
        BtfObjectsInfo(
            btf_features = conversion.btf_features,
            objects = depset(objects.values()),
            root = merged[0],
            roots = depset(merged),
        ),
        OutputGroupInfo(btf_objects = depset(objects.values())),
    ]

btf_objects = rule(
    implementation = _btf_objects_impl,
    doc = """Converts object files and archives to BTF objects, and merges these. Each `BtfGen`
action converts several object files (see `grain`); there is a `BtfMerge` action for each directory.

```starlark
btf_objects(
    name = "net_objects",
    srcs = glob(["*.o"]) + ["ipv4/checksum.a"],
)
```

If possible, use one target for each directory. The default output is one merged BTF object; the
output group `btf_objects` has the outputs of the `BtfGen` actions.""",
    attrs = CONVERSION_ATTRS | GRAIN_ATTRS | {
        "srcs": attr.label_list(
            doc = """Object files, archives, and linked files (`vmlinux`, modules, or their separate
debug files). List the members of a thin archive in `debug`, or list them here and leave out the
archive. Each file must have DWARF or a compiler's BTF: compile with `-g` or `-gbtf`. A `cc_library`
means its archive. Tree artifacts (`ctx.actions.declare_directory`) are also allowed, if they
contain only such files; one action converts each tree artifact.""",
            allow_files = True,
            allow_empty = False,
            mandatory = True,
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfObjectsInfo],
)
