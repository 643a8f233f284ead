"""vmlinux_btf: the BTF of a kernel."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":convert_actions.bzl", "btf_facts")
load(":link_actions.bzl", "btf_link")
load(":run.bzl", "LINK_EXEC_GROUPS")
load(":conversion.bzl", "CONVERSION_ATTRS", "conversion_of")
load(":debug_files.bzl", "check_debug_files")
load(":grain.bzl", "GRAIN_SETTINGS")
load(
    ":link_inputs.bzl",
    "NO_CHAIN",
    "OUT_ATTRS",
    "STRICT_ATTRS",
    "declare_btf",
    "link_inputs",
    "linked_features",
    "linked_providers",
    "srcs_attr",
)
load(":shards.bzl", "SHARDS_DOC", "sharded")
load(":variables.bzl", "VARIABLES_ATTRS", "variables_of")

def _objects_of(ctx):
    """The BTF objects to link."""
    if ctx.attr.srcs:
        if ctx.attr.shards or ctx.files.archive:
            fail(("{} has srcs, which are converted already, and shards or archive: name one way " +
                  "to get the kernel's types").format(ctx.label))
        return link_inputs(ctx)
    if not ctx.attr.shards:
        fail(("{} needs srcs (BTF objects), or shards and vmlinux (an ELF file with " +
              "DWARF)").format(ctx.label))
    if not ctx.files.archive:
        if not ctx.file.vmlinux:
            fail("{} has shards of nothing: name the file in vmlinux or archive".format(ctx.label))
        return sharded(ctx, ctx.file.vmlinux, ctx.attr.shards, conversion_of(ctx.attr))
    archives = [file for file in ctx.files.archive if file.extension == "a"]
    if len(archives) != 1:
        fail("{}: archive has {} files *.a; it is one, and the members of it if it is thin".format(
            ctx.label,
            len(archives),
        ))
    members = [file for file in ctx.files.archive if file.extension != "a"]
    return sharded(ctx, archives[0], ctx.attr.shards, conversion_of(ctx.attr), members)

def _vmlinux_btf_impl(ctx):
    features = linked_features(ctx)
    objects = _objects_of(ctx)
    facts = None
    if ctx.file.vmlinux:
        facts = ctx.actions.declare_file(ctx.label.name + ".facts")
        beside = conversion_of(ctx.attr).beside
        check_debug_files(ctx.label, beside, [ctx.file.vmlinux])
        btf_facts(ctx, ctx.file.vmlinux, facts, features, beside)
    btf = declare_btf(ctx)
    skipped = ctx.actions.declare_file(ctx.label.name + ".skipped")
    variables = variables_of(ctx, features, facts)
    btf_link(
        ctx,
        objects,
        btf,
        skipped,
        facts = facts,
        variables = variables,
        strict = ctx.attr.strict,
    )
    return linked_providers(
        ctx,
        btf,
        skipped,
        facts,
        NO_CHAIN,
        objects = objects,
        features = features,
    )

_ATTRS = (
    CONVERSION_ATTRS | GRAIN_SETTINGS | OUT_ATTRS | STRICT_ATTRS | VARIABLES_ATTRS
)

vmlinux_btf = rule(
    implementation = _vmlinux_btf_impl,
    doc = """Links the BTF of a kernel: `NAME.btf`, raw BTF in the order in which kernels do a
binary search.

```starlark
vmlinux_btf(
    name = "vmlinux_btf",
    srcs = [":net_objects", ":drivers_objects"],
    out = "vmlinux.btf",         # vmlinux_btf.btf without it
    vmlinux = ":vmlinux",
)
```

A kernel that one large action builds has no objects to name. Its DWARF is converted in parts:

```starlark
vmlinux_btf(
    name = "vmlinux_btf",
    shards = 64,
    vmlinux = ":vmlinux",
)
```

Otherwise the linked kernel is read for facts alone (which functions are in it, which variables are
per CPU, ...), so after a link that moves code and changes nothing else only `BtfFacts` runs.

Output groups:
`btf_skipped` (what was left out and why), `btf_facts`, `btf_base` (the index that modules' links
read in place of the BTF), `btf_extra` (`NAME-btf-extra.btf`, with `variables = "separate"`).""",
    attrs = _ATTRS | {
        "archive": attr.label_list(
            doc = """What the shards are made of instead of `vmlinux`: an archive of the kernel's
objects (`vmlinux.a`), and its members if it is a thin one.""",
            allow_files = True,
        ),
        "shards": attr.int(
            doc = SHARDS_DOC.format(
                file = "vmlinux",
                more = "In place of `srcs`.",
            ),
        ),
        "srcs": srcs_attr(
            mandatory = False,
            doc = """All objects of the kernel: targets of `btf_objects` and `cc_btf`, `.btfo`
files, or object files and archives, which are converted here. Without them there are `shards`.""",
        ),
        "vmlinux": attr.label(
            doc = """The linked ELF. Without it every function that an object defines counts as
present and there are no variables, which suits libraries of types, not kernels.""",
            allow_single_file = True,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfInfo],
)
