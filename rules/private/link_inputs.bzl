"""What vmlinux_btf and module_btf share: their sources, and the inputs of their links."""

load("//rules:providers.bzl", "BtfInfo", "BtfObjectsInfo")
load(":btf_objects.bzl", "convert_all")
load(":conversion.bzl", "chosen", "conversion_mistake", "conversion_of", "for_objects")
load(":convert_actions.bzl", "btf_facts", "btf_gen")
load(":features.bzl", "base_mistake", "same_mistake")
load(":inline.bzl", "inline_mistake")
load(":layout.bzl", "laid_out", "put")
load(":link_actions.bzl", "btf_base")
load(":merge_tree.bzl", "merge_tree")
load(":mistakes.bzl", "first_mistake")
load(":sources.bzl", "elves_of", "source_mistake")
load(":variables.bzl", "link_extra")

visibility("//rules/...")

STRICT_ATTRS = {
    "strict": attr.bool(
        doc = """Whether it is an error if the linked file has none of an object's
functions, for example because the object in `srcs` belongs to a module, and the linked file is
`vmlinux`. By default such objects are left out with a warning. Unneeded members of archives are
always left out silently.""",
    ),
}

OUT_ATTRS = {
    "out": attr.output(doc = "The BTF file to write. The default is `NAME.btf`."),
}

def declare_btf(ctx):
    """Declares the BTF of a rule with OUT_ATTRS: File."""
    return ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + ".btf")

def srcs_attr(mandatory, doc):
    """The attribute `srcs`: targets with BTF objects, or files."""
    return attr.label_list(
        doc = doc,
        allow_files = True,
        allow_empty = not mandatory,
        mandatory = mandatory,
    )

def link_mistake(ctx, name):
    """What is wrong with the sources or the linked file of a link.

    Args:
        ctx: context of a rule with `srcs_attr`, CONVERSION_ATTRS.
        name: string, the attribute with the linked file.

    Returns:
        string, or None.
    """
    elf = getattr(ctx.file, name)
    if elf and elf.is_directory:
        return "{} is a directory, {}: set it to the linked file".format(name, elf.short_path)
    if not ctx.attr.srcs and not elf:
        return "{}_btf needs srcs (BTF objects), {} (an ELF file with DWARF), or both".format(
            name,
            name,
        )
    return (
        conversion_mistake(ctx.attr) or
        inline_mistake(ctx.attr, bool(elf)) or
        first_mistake([_source_mistake(src) for src in ctx.attr.srcs]) or
        _idle_mistake(ctx) or
        same_mistake(
            ctx.label,
            "links objects that were converted with",
            _features_by_label(ctx),
        )
    )

def _source_mistake(src):
    """What is wrong with a target in `srcs`: string, or None."""
    if BtfObjectsInfo not in src and not src[DefaultInfo].files:
        return ("{} in srcs has no file: srcs takes targets of btf_objects and cc_btf, .btfo " +
                "files, object files and archives").format(src.label)
    return source_mistake(src) if _is_elf(src) else None

def _idle_mistake(ctx):
    """What is wrong if nothing is converted that attributes could affect: string, or None."""
    idle = [name for name in chosen(ctx.attr) if name != "btf_features"]
    if not idle or not ctx.attr.srcs or [src for src in ctx.attr.srcs if _is_elf(src)]:
        return None
    if ctx.attr.inline:  # the linked file is read
        return None
    return "{} can't change srcs that are converted already: set {} on their targets".format(
        " and ".join(idle),
        "it" if len(idle) == 1 else "them",
    )

def link_facts(ctx, elf, features):
    """Declares the facts of a link.

    Args:
        ctx: context of a rule with the toolchain and CONVERSION_ATTRS.
        elf: File or None, what was linked.
        features: list of string, the features with which the objects of the link were converted.

    Returns:
        File, or None if there is no linked file.
    """
    if not elf:
        return None
    facts = ctx.actions.declare_file(ctx.label.name + ".facts")
    btf_facts(ctx, elf, facts, features, conversion_of(ctx.attr).beside)
    return facts

# Rule: srcs or the linked file: which is converted.
def link_inputs(ctx, elf):
    """Declares the conversions that a link needs, and the merges of their outputs.

    Without sources, one action converts the linked file. For a kernel, this takes about a second;
    splitting the file for several actions would take longer.

    Args:
        ctx: context of a rule with the toolchain, `srcs_attr` and CONVERSION_ATTRS, in
            which `link_mistake` finds no mistake.
        elf: File or None, the linked file.

    Returns:
        depset of File, the BTF objects to link.
    """
    if ctx.attr.srcs:
        return _converted_srcs(ctx)
    converted = ctx.actions.declare_file(ctx.label.name + ".btfo")
    btf_gen(ctx, [elf], converted, conversion_of(ctx.attr))
    return depset([converted])

def _converted_srcs(ctx):
    """Does the work of `link_inputs` for a target with sources.

    Single files go into a merge tree. BTF objects from a graph of targets are linked as they are:
    they have already been merged for each target, and two sources may share parts of such a graph,
    each of which must be linked only once.
    """
    single = []
    graphs = []
    parts = []
    elves = []
    for src in ctx.attr.srcs:
        if _is_elf(src):
            elves += elves_of(src)
        elif BtfObjectsInfo not in src:
            single += src[DefaultInfo].files.to_list()
        elif src[BtfObjectsInfo].root:
            single.append(src[BtfObjectsInfo].root)
        elif src[BtfObjectsInfo].parts:
            parts.append(src[BtfObjectsInfo].parts)
        else:
            graphs.append(src[BtfObjectsInfo].roots)
    conversion = for_objects(conversion_of(ctx.attr))
    objects = laid_out(ctx, single)
    for path, object in convert_all(ctx, elves, ctx.label.name + ".btfo.d", conversion).items():
        put(objects, path, object)
    return depset(
        _roots_of(depset(transitive = parts)) +
        merge_tree(ctx, objects, ctx.label.name + ".merge.d", single = False),
        transitive = graphs,
    )

# Rule: cc_btf: common object files are linked once.
def _roots_of(parts):
    """The BTF objects of parts of graphs: of those made from the same ELF files, only one."""
    by_files = {}
    for part in sorted(parts.to_list(), key = lambda part: part.root.path):
        by_files.setdefault(part.files, part.root)
    return by_files.values()

def _is_elf(src):
    """Whether a target in `srcs` has files to convert."""
    if BtfObjectsInfo in src:
        return False
    return bool([file for file in src[DefaultInfo].files.to_list() if file.extension != "btfo"])

def linked_features(ctx):
    """The features of the sources of a link.

    Args:
        ctx: context of a rule with `srcs_attr` and SETTINGS_ATTRS.

    Returns:
        list of string. If no source has features, the result comes from the target or the flag.
    """
    return _features_by_label(ctx).values()[0]

def _features_by_label(ctx):
    """The features that the sources of a link chose: dict from a Label to a list of string."""
    found = {
        src.label: src[BtfObjectsInfo].btf_features
        for src in ctx.attr.srcs
        if BtfObjectsInfo in src and src[BtfObjectsInfo].btf_features != None
    }
    own = conversion_of(ctx.attr).btf_features
    if ctx.attr.btf_features or not found or [src for src in ctx.attr.srcs if _is_elf(src)]:
        found[ctx.label] = own
    return found

def info_mistake(name, target):
    """What is wrong with a target that should have BtfInfo.

    Args:
        name: string, an attribute with allow_files.
        target: Target in that attribute.

    Returns:
        string, or None.
    """
    if BtfInfo in target:
        return None
    return ("{}: {} has no BTF of a kernel or module: use its vmlinux_btf or module_btf, or a " +
            "btf_import of the file").format(name, target.label)

# Rule: bases in Bazel rules: what is refused.
def chain_mistake(ctx, base, features = None):
    """What is wrong with a base.

    Args:
        ctx: context of a rule.
        base: Target of the attribute base.
        features: list of string, the features of the BTF to make; None if they are unknown.

    Returns:
        string, or None.
    """
    mistake = info_mistake("base", base)
    if mistake:
        return mistake
    info = base[BtfInfo]
    if info.distilled:
        return ("{} can't be a base: it has the feature distilled_base, so its ids belong to no " +
                "kernel; use a base without that feature").format(base.label)
    if not info.index or bool(info.bases) != bool(info.indices):
        return ("{} can't be a base: its BtfInfo has no index, or no indices of its bases; use a " +
                "btf_import of its file").format(base.label)
    if features == None:
        return None
    return base_mistake(ctx.label, features, base.label, info.btf_features)

def extra_mistake(target, has, why):
    """What is wrong with a target whose extra BTF a rule can't pass on: string, or None.

    Args:
        target: Target.
        has: whether the target has extra BTF.
        why: string, why the rule can't pass it on.
    """
    if not has:
        return None
    return ("{} has extra BTF, but {}: use a target with variables = \"percpu\" or \"all\" here, " +
            "and {} for its output group btf_extra").format(target.label, why, target.label)

def chain_of(base):
    """The chain of bases for BTF that is based on a target.

    Args:
        base: Target of the attribute base, in which `chain_mistake` finds no mistake.

    Returns:
        struct of `bases` and `indices`, depsets of File, and of `old_base`, File or None.
    """
    info = base[BtfInfo]
    return struct(
        bases = depset([info.btf], transitive = [info.bases], order = "postorder"),
        indices = depset([info.index], transitive = [info.indices], order = "postorder"),
        old_base = info.old_base,
    )

# The chain of bases for vmlinux, which has no base.
NO_CHAIN = struct(
    bases = depset(order = "postorder"),
    indices = depset(order = "postorder"),
    old_base = None,
)

# Rule: distilled base: in BtfInfo.
def linked_providers(
        ctx,
        btf,
        skipped,
        facts,
        chain,
        distilled = None,
        objects = None,
        features = None,
        old_base = None,
        inline = None):
    """The providers of a target that makes BTF. Also declares the index and the extra BTF.

    Args:
        ctx: context of a rule with the toolchain, and with VARIABLES_ATTRS if there are objects.
        btf: File, raw BTF.
        skipped: File or None, what was left out and why.
        facts: File or None, link facts.
        chain: what `chain_of` returned, the chain that btf is based on.
        distilled: File or None, the distilled base on which btf is based.
        objects: depset of File, the BTF objects that were linked; None if btf was made in another
            way.
        features: list of string, the features with which the objects were converted; None if they
            are unknown.
        old_base: File or None, the BTF that a linked vmlinux already has.
        inline: what `link_inline` returned.

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
            btf_features = features,
            bases = depset([distilled]) if distilled else chain.bases,
            index = index,
            indices = depset(order = "postorder") if distilled else chain.indices,
            distilled = bool(distilled),
            extra = extra.btf if extra else None,
            inline = inline.btf if inline else None,
            old_base = old_base or chain.old_base,
            skipped = skipped,
        ),
        OutputGroupInfo(
            btf_base = depset([index] if index else []),
            btf_distilled_base = depset([distilled] if distilled else []),
            btf_extra = depset([extra.btf] if extra else []),
            btf_facts = depset([facts] if facts else []),
            btf_inline = depset([inline.btf] if inline else []),
            btf_skipped = depset([
                file
                for file in [skipped, extra and extra.skipped, inline and inline.skipped]
                if file
            ]),
        ),
    ]
