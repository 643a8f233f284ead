"""The attribute `variables`: which variables are encoded, and where."""

load(":features.bzl", "has_feature")
load(":link_actions.bzl", "btf_link")

visibility("//rules/...")

VARIABLES_ATTRS = {
    "variables": attr.string(
        doc = """[Which variables](features.md#btf-of-all-variables) to encode, and where. `percpu`:
only per-CPU variables. `separate`: per-CPU variables in `NAME.btf`, and all others in
`NAME-btf-extra.btf`, which is split BTF based on `NAME.btf`. `all`: all variables in `NAME.btf`.
`separate` and `all` need objects with the feature `global_var`. If empty, the value is `all` for
objects with that feature, else `percpu`.""",
        values = ["", "percpu", "separate", "all"],
    ),
}

def variables_mistake(ctx, features, facts, distilled = False):
    """What is wrong with the attribute `variables`.

    Args:
        ctx: context of a rule with VARIABLES_ATTRS.
        features: list of string, the features with which the objects were converted.
        facts: whether the link has facts.
        distilled: whether the BTF will be based on a distilled base.

    Returns:
        string, or None.
    """
    wanted = ctx.attr.variables
    if wanted in ["separate", "all"]:
        if not has_feature(features, "global_var"):
            return ("variables is \"{}\", but the objects are converted without the feature " +
                    "global_var: add it to btf_features of the objects, or to the flag " +
                    "@rules_btf//rules/settings:btf_features").format(wanted)
        if not facts:
            return ("variables is \"{}\", but there is no linked file, from which the addresses " +
                    "of variables are read: set vmlinux or module").format(wanted)
    if wanted == "separate" and distilled:
        return ("variables is \"separate\", and the feature distilled_base is on: use only one " +
                "of them, because BTF on a distilled base can't be a base")
    return None

def variables_of(ctx):
    """Which variables the link of a target encodes: string, for `btf_link`."""
    wanted = ctx.attr.variables
    return "percpu" if wanted == "separate" else wanted

# Rule: extra BTF: in Bazel rules.
def link_extra(ctx, path, objects, facts, bases):
    """Declares the link of the variables that are not per CPU, with `variables = "separate"`.

    Args:
        ctx: context of a rule with VARIABLES_ATTRS.
        path: string, the path of the target's own BTF without `.btf`.
        objects: depset of File, BTF objects.
        facts: File, link facts.
        bases: depset of File, the indices of the bases; the index of the target's own BTF is the
            last.

    Returns:
        struct of `btf` and `skipped`, File; None if `variables` has a different value.
    """
    if ctx.attr.variables != "separate":
        return None
    btf = ctx.actions.declare_file(path + "-btf-extra.btf")
    skipped = ctx.actions.declare_file(path + "-btf-extra.skipped")
    btf_link(ctx, objects, btf, skipped, facts = facts, bases = bases, variables = "extra")
    return struct(btf = btf, skipped = skipped)
