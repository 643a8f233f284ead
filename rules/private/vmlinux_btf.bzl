"""vmlinux_btf: the BTF of a kernel."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":conversion.bzl", "CONVERSION_ATTRS")
load(":exec_groups.bzl", "LINK_EXEC_GROUPS")
load(":inline.bzl", "inline_attrs", "link_inline")
load(":link_actions.bzl", "btf_link", "btf_old_base")
load(
    ":link_inputs.bzl",
    "NO_CHAIN",
    "OUT_ATTRS",
    "STRICT_ATTRS",
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

def _vmlinux_btf_impl(ctx):
    features = linked_features(ctx)
    elf = ctx.file.vmlinux
    mistake = link_mistake(ctx, "vmlinux") or variables_mistake(ctx, features, bool(elf))
    if mistake:
        fail(mistake)
    facts = link_facts(ctx, elf, features)
    objects = link_inputs(ctx, elf)
    btf = declare_btf(ctx)
    skipped = ctx.actions.declare_file(ctx.label.name + ".skipped")
    old_base = None
    if elf:
        old_base = ctx.actions.declare_file(ctx.label.name + ".old.btf")
        btf_old_base(ctx, elf, old_base)
    btf_link(
        ctx,
        objects,
        btf,
        skipped,
        facts = facts,
        variables = variables_of(ctx),
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
        old_base = old_base,
        inline = link_inline(ctx, elf, btf, NO_CHAIN.bases, features),
    )

_ATTRS = (
    CONVERSION_ATTRS | OUT_ATTRS | STRICT_ATTRS | VARIABLES_ATTRS |
    inline_attrs("NAME")
)

vmlinux_btf = rule(
    implementation = _vmlinux_btf_impl,
    doc = """Links the BTF of a kernel: `NAME.btf`, raw BTF, sorted as the kernel's search by name
expects.

```starlark
vmlinux_btf(
    name = "vmlinux_btf",
    srcs = [":net_objects", ":drivers_objects"],
    out = "vmlinux.btf",         # the default is vmlinux_btf.btf
    vmlinux = ":vmlinux",
)
```

The linked kernel is read only for facts (its functions, its per-CPU variables, ...), so after a
link that only moves code, only `BtfFacts` runs. If `srcs` is not set, the linked file is converted:

```starlark
vmlinux_btf(
    name = "vmlinux_btf",
    vmlinux = ":vmlinux",
)
```

In this case `BtfGen` runs after each link of the kernel. If no type has changed, it writes the same
bytes, and no BTF is linked. Output groups: `btf_skipped` (what was left out and why), `btf_facts`,
`btf_base` (the index that modules' links read), `btf_extra` (`NAME-btf-extra.btf`, with
`variables = "separate"`), `btf_inline` (`NAME.inline.btf`, with `inline`).""",
    attrs = _ATTRS | {
        "srcs": srcs_attr(
            mandatory = False,
            doc = """All objects of the kernel: targets of `btf_objects` and `cc_btf`, `.btfo`
files, or object files and archives (converted here). If empty, `vmlinux` is converted.""",
        ),
        "vmlinux": attr.label(
            doc = """The linked ELF file. It is read for its facts and, if `srcs` is not set, also
for its DWARF. If there is no linked file, the BTF has all functions of the objects but no
variables. That is useful for libraries of types, but not for kernels.""",
            allow_single_file = True,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfInfo],
)
