"""What vmlinux_btf and module_btf share: their sources, and which files a link of them reads."""

load("//rules:providers.bzl", "BtfInfo", "BtfObjectsInfo")
load(":conversion.bzl", "conversion_of")
load(":merge_tree.bzl", "layout_path", "merge_tree")

def srcs_attr(mandatory, doc):
    """The attribute `srcs`: targets with BTF objects, or the files themselves."""
    return attr.label_list(
        doc = doc,
        allow_files = [".btfo"],
        allow_empty = not mandatory,
        mandatory = mandatory,
        providers = [[BtfObjectsInfo], []],
    )

def link_inputs(ctx):
    """Declares the merges above the sources.

    Files that are known one by one go into a merge tree. Those that come from a graph of targets
    are linked as they are, merged for each target already: two sources may share parts of such a
    graph, and each part must count once.

    Args:
        ctx: context of a rule with the toolchain and `srcs_attr`.

    Returns:
        depset of File, the BTF objects to link.
    """
    single = {}
    graphs = []
    for src in ctx.attr.srcs:
        if BtfObjectsInfo not in src:
            single.update({layout_path(file): file for file in src[DefaultInfo].files.to_list()})
        elif src[BtfObjectsInfo].root:
            root = src[BtfObjectsInfo].root
            single[layout_path(root)] = root
        else:
            graphs.append(src[BtfObjectsInfo].roots)
    return depset(
        merge_tree(ctx, single, ctx.label.name + ".merge.d", single = False),
        transitive = graphs,
    )

def linked_features(ctx):
    """What the sources of a link were converted with.

    Args:
        ctx: context of a rule with `srcs_attr` and CONVERSION_SETTINGS.

    Returns:
        list of string. Where no source says, what the target or the flag says.
    """
    labels = {}
    for src in ctx.attr.srcs:
        if BtfObjectsInfo in src and hasattr(src[BtfObjectsInfo], "btf_features"):
            labels.setdefault(",".join(src[BtfObjectsInfo].btf_features), src.label)
    if len(labels) > 1:
        fail("{} links objects that were converted with different btf_features: {}".format(
            ctx.label,
            ", ".join(["{} with \"{}\"".format(label, names) for names, label in labels.items()]),
        ))
    for features in labels:
        return features.split(",") if features else []
    return conversion_of(ctx.attr).btf_features

def linked_providers(btf, skipped, facts, bases, distilled = None):
    """The providers of a target that links BTF.

    Args:
        btf: File, raw BTF.
        skipped: File, what was left out and why.
        facts: File or None, link facts.
        bases: depset of File, the chain that btf is split against.
        distilled: File or None, the distilled base that btf stands on instead.

    Returns:
        list of providers.
    """
    return [
        DefaultInfo(files = depset([btf])),
        BtfInfo(
            btf = btf,
            bases = depset([distilled]) if distilled else bases,
            distilled = bool(distilled),
            skipped = skipped,
        ),
        OutputGroupInfo(
            btf_distilled_base = depset([distilled] if distilled else []),
            btf_facts = depset([facts] if facts else []),
            btf_skipped = depset([skipped]),
        ),
    ]
