"""The attribute `inline`: BTF of the sites where functions were inlined."""

load(":conversion.bzl", "conversion_of")
load(":convert_actions.bzl", "btf_inline")

visibility("//rules/...")

_DOC = """Whether to also make split BTF of [the sites where functions were
inlined](inline.md), which Linux 7.4 and later read: `{name}.inline.btf`, based on `{name}.btf`
(output group `btf_inline`). Its action reads the DWARF of the linked file, so it runs after each
link of that file. The BTF of types doesn't depend on its output."""

def inline_attrs(name):
    """The attribute `inline`. The parameter is the name of the BTF, for its documentation."""
    return {"inline": attr.bool(doc = _DOC.format(name = name))}

def inline_mistake(attr, linked):
    """Finds a mistake in the attribute `inline`.

    Args:
        attr: struct, the rule's attributes.
        linked: bool, there is a linked file.

    Returns:
        string: what is wrong; None if nothing is.
    """
    if not attr.inline:
        return None
    if not linked:
        return ("inline = True needs a linked file, because its DWARF has the sites of inlined " +
                "functions: set vmlinux or module")
    if conversion_of(attr).input == "btf":
        return ("inline = True needs DWARF, because BTF from compilers has no sites of inlined " +
                "functions: remove input = \"btf\"")
    return None

# Rule: sites of inlined functions: in Bazel rules.
def link_inline(ctx, elf, btf, bases, features):
    """Declares the action that makes the BTF of the sites in a linked file, if `inline` is set.

    Args:
        ctx: context of a rule with CONVERSION_ATTRS and inline_attrs, in which `inline_mistake`
            finds no mistake.
        elf: File, the linked file.
        btf: File, the BTF of that file.
        bases: depset of File, the chain of BTF that btf is based on, deepest first.
        features: list of string, the features of btf.

    Returns:
        struct of `btf` and `skipped`, File; None if `inline` is not set.
    """
    if not ctx.attr.inline:
        return None
    conversion = conversion_of(ctx.attr)
    result = struct(
        btf = ctx.actions.declare_file(ctx.label.name + ".inline.btf"),
        skipped = ctx.actions.declare_file(ctx.label.name + ".inline.skipped"),
    )
    chain = depset([btf], transitive = [bases], order = "postorder")
    btf_inline(ctx, elf, result.btf, result.skipped, chain, conversion, features)
    return result
