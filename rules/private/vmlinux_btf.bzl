"""vmlinux_btf: the BTF of a kernel."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":actions.bzl", "LINK_EXEC_GROUPS", "btf_facts", "btf_link")
load(":conversion.bzl", "CONVERSION_SETTINGS")
load(
    ":link_inputs.bzl",
    "NO_CHAIN",
    "link_inputs",
    "linked_features",
    "linked_providers",
    "srcs_attr",
)
load(":variables.bzl", "VARIABLES_ATTRS", "variables_of")

def _vmlinux_btf_impl(ctx):
    facts = None
    if ctx.file.vmlinux:
        facts = ctx.actions.declare_file(ctx.label.name + ".facts")
        btf_facts(ctx, ctx.file.vmlinux, facts, linked_features(ctx))
    btf = ctx.actions.declare_file(ctx.label.name + ".btf")
    skipped = ctx.actions.declare_file(ctx.label.name + ".skipped")
    objects = link_inputs(ctx)
    variables = variables_of(ctx, linked_features(ctx), facts)
    btf_link(ctx, objects, btf, skipped, facts = facts, variables = variables)
    return linked_providers(ctx, btf, skipped, facts, NO_CHAIN, objects = objects)

vmlinux_btf = rule(
    implementation = _vmlinux_btf_impl,
    doc = """Links the BTF of a kernel: `NAME.btf`, raw BTF in the order in which kernels do a
binary search.

```starlark
vmlinux_btf(
    name = "vmlinux_btf",
    srcs = [":net_objects", ":drivers_objects"],
    vmlinux = ":vmlinux",
)
```

The linked kernel is read for facts alone (which functions are in it, which variables are per CPU,
...), so after a link that moves code and changes nothing else only `BtfFacts` runs. Output groups:
`btf_skipped` (what was left out and why), `btf_facts`, `btf_base` (the index that modules' links
read in place of the BTF), `btf_extra` (`NAME-btf-extra.btf`, with `variables = "separate"`).""",
    attrs = CONVERSION_SETTINGS | VARIABLES_ATTRS | {
        "srcs": srcs_attr(
            mandatory = True,
            doc = """Targets of `btf_objects` and `cc_btf`, or `.btfo` files: all objects of the
kernel.""",
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
