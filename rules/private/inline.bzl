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

def check_inline(ctx, input):
    """Fails if there can be no sites. The parameter input is the kind of debugging information."""
    if ctx.attr.inline and input == "btf":
        fail(("{} has inline = True, but reads BTF that the compiler wrote (input = \"btf\"): only " +
              "DWARF says where functions were inlined").format(ctx.label))

def link_inline(ctx, elf, btf, bases, features):
    """Declares the BTF of the sites in a linked file, with `inline = True`.

    Args:
        ctx: context of a rule with LINK_EXEC_GROUPS, CONVERSION_ATTRS and INLINE_ATTRS.
        elf: File or None, the linked file.
        btf: File, the BTF of that file.
        bases: depset of File, the chain of BTF that btf is based on, deepest first.
        features: list of string, the features of btf.

    Returns:
        struct of `btf` and `skipped`, File; None if `inline` is not set.
    """
    if not ctx.attr.inline:
        return None
    if not elf:
        fail(("{} has inline = True, but no linked file, whose DWARF says where functions were " +
              "inlined: set vmlinux or module").format(ctx.label))
    conversion = conversion_of(ctx.attr)
    check_inline(ctx, conversion.input)
    result = struct(
        btf = ctx.actions.declare_file(ctx.label.name + ".inline.btf"),
        skipped = ctx.actions.declare_file(ctx.label.name + ".inline.skipped"),
    )
    chain = depset([btf], transitive = [bases], order = "postorder")
    btf_inline(ctx, elf, result.btf, result.skipped, chain, conversion, features)
    return result
