"""module_btf: the BTF of a kernel module, split against what it builds upon."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":conversion.bzl", "CONVERSION_ATTRS")
load(":features.bzl", "check_distilled", "has_feature")
load(":grain.bzl", "GRAIN_SETTINGS")
load(":link_actions.bzl", "btf_link")
load(
    ":link_inputs.bzl",
    "OUT_ATTRS",
    "STRICT_ATTRS",
    "chain_of",
    "declare_btf",
    "link_facts",
    "link_inputs",
    "linked_features",
    "linked_file",
    "linked_providers",
    "srcs_attr",
)
load(":run.bzl", "LINK_EXEC_GROUPS")
load(":variables.bzl", "VARIABLES_ATTRS", "variables_of")

def _module_btf_impl(ctx):
    features = linked_features(ctx)
    check_distilled(ctx, features)
    chain = chain_of(ctx, ctx.attr.base, features)
    elf = linked_file(ctx, "module")
    facts = link_facts(ctx, elf, features)
    objects = link_inputs(ctx, "module", elf)
    btf = declare_btf(ctx)
    skipped = ctx.actions.declare_file(ctx.label.name + ".skipped")
    distilled = None
    bases = chain.indices
    if has_feature(features, "distilled_base"):
        distilled = ctx.actions.declare_file(ctx.label.name + ".base.btf")
        bases = chain.bases
    btf_link(
        ctx,
        objects,
        btf,
        skipped,
        facts = facts,
        bases = bases,
        distilled = distilled,
        variables = variables_of(ctx, features, facts, bool(distilled)),
        strict = ctx.attr.strict,
    )
    return linked_providers(ctx, btf, skipped, facts, chain, distilled, objects, features)

_ATTRS = (
    CONVERSION_ATTRS | GRAIN_SETTINGS | OUT_ATTRS | STRICT_ATTRS | VARIABLES_ATTRS
)

module_btf = rule(
    implementation = _module_btf_impl,
    doc = """Links the BTF of a module, `NAME.btf`: only what the chain of bases doesn't have
already.

```starlark
module_btf(
    name = "disk_btf",
    base = ":vmlinux_btf",
    module = "disk.ko",
)

module_btf(
    name = "raid_btf",           # a module that uses types of the first
    base = ":disk_btf",
    module = "raid.ko",
)
```

The base is read as its own small file, the index that `BtfBase` makes of its BTF, and never
as the linked kernel. So a kernel whose types stay as they are leaves all modules' actions in the
cache. Output groups: `btf_skipped`, `btf_facts`, `btf_base`, `btf_extra`
(`NAME-btf-extra.btf`, with `variables = "separate"`).

With the feature `distilled_base`, which is for modules that other builds of the kernel load,
`NAME.btf` is based on its own small base instead, `NAME.base.btf`: output group
`btf_distilled_base`. They are the contents of the sections `.BTF` and `.BTF.base`.""",
    attrs = _ATTRS | {
        "base": attr.label(
            doc = "The `vmlinux_btf`, or a `module_btf` that this one builds upon, to any depth.",
            allow_files = True,
            mandatory = True,
        ),
        "module": attr.label(
            doc = "The linked module. Its facts are read; its DWARF too, when there are no `srcs`.",
            allow_single_file = True,
        ),
        "srcs": srcs_attr(
            mandatory = False,
            doc = """The module's objects, for actions as small as the edits: targets of
`btf_objects` and `cc_btf`, `.btfo` files, or object files, which are converted here.""",
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfInfo],
)
