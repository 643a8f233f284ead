"""The attribute `inline`: BTF of the sites where functions were inlined."""

load(":conversion.bzl", "conversion_of")
load(":convert_actions.bzl", "btf_inline")

_DOC = """Whether to also make split BTF of [the sites where functions were
inlined](inline.md), which Linux 7.4 and later read: `{name}.inline.btf`, based on `{name}.btf`
(output group `btf_inline`). Its action reads the DWARF of the linked file, so it runs after each
link of that file; nothing else depends on its output."""

def inline_attrs(name):
    """The attribute `inline`. The parameter is the name of the BTF, for its documentation."""
    return {"inline": attr.bool(doc = _DOC.format(name = name))}

def inline_mistake(attr, linked):
    """What is wrong with the attribute `inline`.

    Args:
        attr: struct, the rule's attributes.
        linked: bool, there is a linked file.

    Returns:
        string, or None.
    """
    if not attr.inline:
        return None
    if not linked:
        return ("inline = True needs a linked file, whose DWARF says where functions were inlined: " +
                "set vmlinux or module")
    if conversion_of(attr).input == "btf":
        return ("inline = True can't read BTF that the compiler wrote (input = \"btf\"): only DWARF " +
                "says where functions were inlined")
    return None

def link_inline(ctx, elf, btf, bases, features):
    """Declares the BTF of the sites in a linked file, with `inline = True`.

    Args:
        ctx: context of a rule with LINK_EXEC_GROUPS, CONVERSION_ATTRS and inline_attrs, in which
            `inline_mistake` finds no mistake.
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
