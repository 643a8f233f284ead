"""What vmlinux_btf and module_btf share: their sources, and which files a link of them reads."""

load("//rules:providers.bzl", "BtfInfo", "BtfObjectsInfo")
load(":link_actions.bzl", "btf_base")
load(":conversion.bzl", "conversion_of")
load(":merge_tree.bzl", "layout_path", "merge_tree")
load(":variables.bzl", "link_extra")

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

def chain_of(ctx, label, info):
    """The chain of bases of what stands on a target.

    Args:
        ctx: context of a rule.
        label: Label of the target.
        info: BtfInfo of the target.

    Returns:
        struct of `bases` and `indices`, depsets of File.
    """
    if info.distilled:
        fail(("{} can't stand on {}: that was made with the feature distilled_base, so it fits " +
              "many kernels and has the ids of none").format(ctx.label, label))
    return struct(
        bases = depset([info.btf], transitive = [info.bases], order = "postorder"),
        indices = depset([info.index], transitive = [info.indices], order = "postorder"),
    )

# The chain of vmlinux.
NO_CHAIN = struct(bases = depset(order = "postorder"), indices = depset(order = "postorder"))

def linked_providers(ctx, btf, skipped, facts, chain, distilled = None, objects = None):
    """The providers of a target that makes BTF. It declares the index and the extra variables, too.

    Args:
        ctx: context of a rule with the toolchain; with VARIABLES_ATTRS too, if there are objects.
        btf: File, raw BTF.
        skipped: File or None, what was left out and why.
        facts: File or None, link facts.
        chain: what `chain_of` returned, the chain that btf is split against.
        distilled: File or None, the distilled base that btf stands on instead.
        objects: depset of File, the BTF objects that were linked; None if btf was made otherwise.

    Returns:
        list of providers.
    """
    index = None
    if not distilled:
        index = ctx.actions.declare_file(ctx.label.name + ".btfbase")
        btf_base(ctx, btf, index, chain.bases)
    indices = depset([index] if index else [], transitive = [chain.indices], order = "postorder")
    extra = None
    if objects != None:
        extra = link_extra(ctx, ctx.label.name, objects, facts, indices)
    return [
        DefaultInfo(files = depset([btf])),
        BtfInfo(
            btf = btf,
            bases = depset([distilled]) if distilled else chain.bases,
            index = index,
            indices = depset(order = "postorder") if distilled else chain.indices,
            distilled = bool(distilled),
            extra = extra.btf if extra else None,
            skipped = skipped,
        ),
        OutputGroupInfo(
            btf_base = depset([index] if index else []),
            btf_distilled_base = depset([distilled] if distilled else []),
            btf_extra = depset([extra.btf] if extra else []),
            btf_facts = depset([facts] if facts else []),
            btf_skipped = depset([file for file in [skipped, extra and extra.skipped] if file]),
        ),
    ]
