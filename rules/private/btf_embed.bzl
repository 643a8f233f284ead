"""btf_embed and btf_section_object: BTF in ELF files."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":link_actions.bzl", "btf_base")
load(":link_inputs.bzl", "extra_mistake", "info_mistake")
load(":module_actions.bzl", "btf_embed_action")

visibility("//rules/...")

_BTF_ATTR = attr.label(
    doc = "A `module_btf` or `vmlinux_btf`.",
    allow_files = True,
    mandatory = True,
)

EMBED_ATTRS = {
    "drop_signature": attr.bool(
        doc = """If the module is signed: whether to remove its signature, which would become
invalid. By default, a signed module is an error.""",
    ),
    "old_base": attr.label(
        doc = """The base (raw BTF or an ELF file) of the `.BTF` that a module already has: the
vmlinux that the module was built for. This base is needed if kfuncs of the module have different
flags, because only the old ids show which flags belong to which kfunc. The default is the `.BTF` of
the linked kernel from which the `vmlinux_btf` was made, or if there is none, the base itself.""",
        allow_single_file = True,
    ),
    "resolve_ids": attr.bool(
        doc = """Whether to fill in the section `.BTF_ids`, if the file has one, with the [type
ids](ids.md) of the embedded BTF. A kernel refuses a module whose ids belong to different BTF. If
this attribute is set, the embedded BTF leaves out the implicit arguments of kfuncs
(`KF_IMPLICIT_ARGS`, since Linux 7.0). The action reads the chain of bases, so it runs again when
the kernel's BTF changes.""",
        default = True,
    ),
}

def how_to_embed(ctx, old_base):
    """How to embed BTF, according to EMBED_ATTRS.

    Args:
        ctx: context of a rule with EMBED_ATTRS.
        old_base: File or None, the default of the attribute old_base.

    Returns:
        struct for `btf_embed_action`.
    """
    return struct(
        drop_signature = ctx.attr.drop_signature,
        old_base = ctx.file.old_base or old_base,
        resolve_ids = ctx.attr.resolve_ids,
    )

# Those of targets with BtfInfo.
_OUTPUT_GROUPS = [
    "btf_base",
    "btf_distilled_base",
    "btf_extra",
    "btf_facts",
    "btf_inline",
    "btf_skipped",
]

def _groups_of(target, changed = {}):
    """The output groups of a target with BtfInfo, with some of them changed."""
    found = {}
    if OutputGroupInfo in target:
        groups = target[OutputGroupInfo]
        found = {name: groups[name] for name in _OUTPUT_GROUPS if hasattr(groups, name)}
    return OutputGroupInfo(**(found | changed))

def _btf_embed_impl(ctx):
    target = ctx.attr.btf
    mistake = info_mistake("btf", target) or extra_mistake(
        target,
        target[BtfInfo].extra,
        "btf_embed may change the BTF on which it is based",
    )
    if mistake:
        fail(mistake)
    info = target[BtfInfo]
    out = ctx.outputs.out or ctx.actions.declare_file(
        paths.join(ctx.label.name, ctx.file.src.basename),
    )
    embedded = ctx.actions.declare_file(ctx.label.name + ".embedded.btf")
    inline = None
    if info.inline:
        inline = ctx.actions.declare_file(ctx.label.name + ".embedded.inline.btf")
    btf_embed_action(
        ctx,
        [ctx.file.src],
        [out],
        [info.btf],
        bases = info.bases,
        distilled = info.distilled,
        # The old BTF of vmlinux has no base.
        how = how_to_embed(ctx, info.old_base if info.bases else None),
        btf_outs = [embedded],
        inlines = [info.inline] if inline else [],
        inline_outs = [inline] if inline else [],
    )
    index = None
    if not info.distilled:
        index = ctx.actions.declare_file(ctx.label.name + ".embedded.btfbase")
        btf_base(ctx, embedded, index, info.bases)
    return [
        DefaultInfo(files = depset([out])),
        BtfInfo(
            btf = embedded,
            btf_features = info.btf_features,
            bases = info.bases,
            index = index,
            indices = info.indices,
            distilled = info.distilled,
            inline = inline,
            old_base = info.old_base,
            skipped = info.skipped,
        ),
        _groups_of(target, {
            "btf_base": depset([index] if index else []),
            "btf_inline": depset([inline] if inline else []),
        }),
    ]

btf_embed = rule(
    implementation = _btf_embed_impl,
    doc = """Copies a kernel module or another ELF file, and puts BTF into the section `.BTF` of the
copy.

```starlark
module_btf(
    name = "disk_btf",
    base = ":vmlinux_btf",
    module = "disk.ko",
)

btf_embed(
    name = "disk",               # bazel-bin/disk/disk.ko
    src = "disk.ko",
    btf = ":disk_btf",
)
```

The rule replaces any BTF in the file, puts a distilled base into `.BTF.base`, and fills in
`.BTF_ids` unless `resolve_ids` is False. If `btf` has `inline = True`, the rule also puts the sites
of inlined functions into `.BTF.inline`. The rest of the file stays the same. For kernels since 7.0,
the base of modules must be the `btf_embed` of vmlinux, because that target removes the implicit
arguments of kfuncs from the BTF. In a linked vmlinux whose `.BTF` is in a loaded segment, smaller
BTF is padded, and larger BTF is an error: link vmlinux with a `btf_section_object` instead. The
output groups are those of `btf`, for the embedded BTF.""",
    attrs = EMBED_ATTRS | {
        "btf": _BTF_ATTR,
        "out": attr.output(
            doc = "The file to write. The default is `NAME/` followed by the file name of `src`.",
        ),
        "src": attr.label(
            doc = "An uncompressed module, or any other ELF file with section headers.",
            allow_single_file = True,
            mandatory = True,
        ),
    },
    provides = [BtfInfo],
    toolchains = [TOOLCHAIN_TYPE],
)

def _btf_section_object_impl(ctx):
    mistake = info_mistake("btf", ctx.attr.btf)
    if mistake:
        fail(mistake)
    info = ctx.attr.btf[BtfInfo]
    out = ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + ".o")
    btf_embed_action(ctx, [ctx.file.machine_of], [out], [info.btf])
    return [DefaultInfo(files = depset([out])), info, _groups_of(ctx.attr.btf)]

btf_section_object = rule(
    implementation = _btf_section_object_impl,
    doc = """Puts the BTF of a kernel into an object file, `NAME.o`, for the last link of vmlinux.

```starlark
btf_section_object(
    name = "vmlinux.btf",        # vmlinux.btf.o
    btf = ":vmlinux_btf",
    machine_of = "init/main.o",
)
```

The object contains only the section `.BTF`, which is loaded. The kernel's linker script puts this
section between `__start_BTF` and `__stop_BTF`. The output groups are those of `btf`.""",
    attrs = {
        "btf": _BTF_ATTR,
        "machine_of": attr.label(
            doc = """An ELF file for the machine and ABI of the kernel, preferably an object of the
kernel that seldom changes: only its ELF header is used, but any change to the file reruns the
action.""",
            allow_single_file = True,
            mandatory = True,
        ),
        "out": attr.output(doc = "The file to write. The default is `NAME.o`."),
    },
    provides = [BtfInfo],
    toolchains = [TOOLCHAIN_TYPE],
)
