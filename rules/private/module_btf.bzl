"""module_btf: the split BTF of a kernel module."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":conversion.bzl", "CONVERSION_ATTRS")
load(":features.bzl", "distilled_mistake", "has_feature")
load(":inline.bzl", "inline_attrs", "link_inline")
load(":link_actions.bzl", "btf_link")
load(
    ":link_inputs.bzl",
    "OUT_ATTRS",
    "STRICT_ATTRS",
    "chain_mistake",
    "chain_of",
    "declare_btf",
    "link_facts",
    "link_inputs",
    "link_mistake",
    "linked_features",
    "linked_providers",
    "srcs_attr",
)
load(":variables.bzl", "VARIABLES_ATTRS", "variables_mistake", "variables_of")

visibility("//rules/...")

# Rule: distilled base: who writes it in Bazel rules.
def _module_btf_impl(ctx):
    features = linked_features(ctx)
    elf = ctx.file.module
    distill = has_feature(features, "distilled_base")
    mistake = (
        link_mistake(ctx, "module") or
        distilled_mistake(ctx, features) or
        chain_mistake(ctx, ctx.attr.base, features) or
        variables_mistake(ctx, features, bool(elf), distill)
    )
    if mistake:
        fail(mistake)
    chain = chain_of(ctx.attr.base)
    facts = link_facts(ctx, elf, features)
    objects = link_inputs(ctx, elf)
    btf = declare_btf(ctx)
    skipped = ctx.actions.declare_file(ctx.label.name + ".skipped")
    distilled = None
    bases = chain.indices
    if distill:
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
        variables = variables_of(ctx),
        strict = ctx.attr.strict,
    )
    on = depset([distilled]) if distilled else chain.bases
    inline = link_inline(ctx, elf, btf, on, features)
    return linked_providers(
        ctx,
        btf,
        skipped,
        facts,
        chain,
        distilled,
        objects,
        features,
        inline = inline,
    )

_ATTRS = (
    CONVERSION_ATTRS | OUT_ATTRS | STRICT_ATTRS | VARIABLES_ATTRS |
    inline_attrs("NAME")
)

module_btf = rule(
    implementation = _module_btf_impl,
    doc = """Links the split BTF of a module, `NAME.btf`: the types that its bases don't have.

```starlark
module_btf(
    name = "disk_btf",
    base = ":vmlinux_btf",
    module = "disk.ko",
)

module_btf(
    name = "raid_btf",           # a module that uses types from disk.ko
    base = ":disk_btf",
    module = "raid.ko",
)
```

The link reads only an index of the base (made by `BtfBase`), never the linked kernel, so the
actions of modules stay cached as long as the kernel's types don't change. Output groups:
`btf_skipped`, `btf_facts`, `btf_base`, `btf_extra` (`NAME-btf-extra.btf`, with
`variables = "separate"`), `btf_inline` (`NAME.inline.btf`, with `inline`).

With the feature `distilled_base`, for modules that other builds of the kernel load, `NAME.btf` is
based on its own small base, `NAME.base.btf` (output group `btf_distilled_base`). These two files
are the contents of `.BTF` and `.BTF.base`.""",
    attrs = _ATTRS | {
        "base": attr.label(
            doc = "The `vmlinux_btf`, or the `module_btf` of a module whose types this one uses.",
            allow_files = True,
            mandatory = True,
        ),
        "module": attr.label(
            doc = """The linked module. It is read for its facts and, if `srcs` is not set, also for
its DWARF.""",
            allow_single_file = True,
        ),
        "srcs": srcs_attr(
            mandatory = False,
            doc = """The module's objects: targets of `btf_objects` and `cc_btf`, `.btfo` files, or
object files (converted here). If `srcs` is set, only some of the objects are converted again after
an edit.""",
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfInfo],
)
