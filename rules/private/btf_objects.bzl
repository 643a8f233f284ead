"""btf_objects: BTF objects of object files and archives that something else built."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:providers.bzl", "BtfObjectsInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":actions.bzl", "btf_gen")
load(":conversion.bzl", "CONVERSION_ATTRS", "conversion_of")
load(":merge_tree.bzl", "layout_path", "merge_tree")

def convert_all(ctx, elves, prefix, conversion):
    """Declares one BtfGen for each ELF file.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        elves: list of File, object files and archives.
        prefix: directory for the BTF objects, unique in the package.
        conversion: what `conversion_of` returned.

    Returns:
        dict from each ELF file's path to its BTF object. The path is relative to the package if the
        file is inside of that.
    """
    objects = {}
    package = ctx.label.package + "/" if ctx.label.package else ""
    for elf in elves:
        path = layout_path(elf)
        if path.startswith(package):
            path = path[len(package):]
        out = ctx.actions.declare_file(paths.join(prefix, path + ".btfo"))
        btf_gen(ctx, elf, out, conversion)
        objects[path] = out
    return objects

def _btf_objects_impl(ctx):
    conversion = conversion_of(ctx.attr)
    objects = convert_all(ctx, ctx.files.srcs, ctx.label.name + ".btfo.d", conversion)
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
    doc = """Converts object files and archives: one `BtfGen` action each, then `BtfMerge` actions
that follow the directories.

```starlark
btf_objects(
    name = "net_objects",
    srcs = glob(["*.o"]) + ["ipv4/built-in.a"],
)
```

Use one target for each directory where you can. Its default output is one BTF object with
everything merged; the output group `btf_objects` has one for each source.""",
    attrs = CONVERSION_ATTRS | {
        "srcs": attr.label_list(
            doc = """Object files and archives (thin archives aren't followed: name their members).
Each must have DWARF: compile with `-g`.""",
            allow_files = [".o", ".a", ".ko", ".lo"],
            allow_empty = False,
            mandatory = True,
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfObjectsInfo],
)
