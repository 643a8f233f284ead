"""btf_embed and btf_section_object: BTF in ELF files."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":link_actions.bzl", "btf_base")
load(":link_inputs.bzl", "btf_info")
load(":module_actions.bzl", "btf_embed_action")

_BTF_ATTR = attr.label(
    doc = "A `module_btf` or `vmlinux_btf`.",
    allow_files = True,
    mandatory = True,
)

EMBED_ATTRS = {
    "drop_signature": attr.bool(
        doc = """Whether to cut off the signature of a signed module, which would no longer
hold. Without it a signed module is an error.""",
    ),
    "old_base": attr.label(
        doc = """What the `.BTF` of a module that was built with BTF is based on, raw or ELF: the
vmlinux that it was built for. It is read if the module has kfuncs with different flags, which were
sorted by the old ids.""",
        allow_single_file = True,
    ),
    "resolve_ids": attr.bool(
        doc = """Whether the type ids in `.BTF_ids`, if the file has that section, become those
of the BTF that is embedded. A kernel refuses a module with ids of other BTF. And if the file has
kfuncs with implicit arguments (`KF_IMPLICIT_ARGS`, since Linux 7.0), the BTF that is embedded
doesn't show these, as the kernel wants it. For this the action reads the chain of bases, so it runs
again when the kernel's BTF changes.""",
        default = True,
    ),
}

def how_to_embed(ctx):
    """How BTF is embedded, as EMBED_ATTRS say.

    Args:
        ctx: context of a rule with EMBED_ATTRS.

    Returns:
        struct for `btf_embed_action` and `btf_modules`.
    """
    return struct(
        drop_signature = ctx.attr.drop_signature,
        old_base = ctx.file.old_base,
        resolve_ids = ctx.attr.resolve_ids,
    )

def _embedded_info(ctx, info, btf):
    """BtfInfo of BTF that was embedded, and may be other BTF than that of info."""
    index = None
    distilled = getattr(info, "distilled", False)
    if not distilled:
        index = ctx.actions.declare_file(ctx.label.name + ".embedded.btfbase")
        btf_base(ctx, btf, index, info.bases)
    return BtfInfo(
        btf = btf,
        btf_features = getattr(info, "btf_features", None),
        bases = info.bases,
        index = index,
        indices = info.indices,
        distilled = distilled,
        extra = None,
        skipped = info.skipped,
    )

def _btf_embed_impl(ctx):
    info = btf_info(ctx, "btf", ctx.attr.btf)
    how = how_to_embed(ctx)
    embedded = None
    if how.resolve_ids:
        embedded = ctx.actions.declare_file(ctx.label.name + ".embedded.btf")
    out = ctx.outputs.out or ctx.actions.declare_file(
        paths.join(ctx.label.name, ctx.file.src.basename),
    )
    btf_embed_action(
        ctx,
        ctx.file.src,
        out,
        info.btf,
        bases = info.bases,
        distilled = getattr(info, "distilled", False),
        how = how,
        btf_out = embedded,
    )
    if embedded:
        info = _embedded_info(ctx, info, embedded)
    return [DefaultInfo(files = depset([out])), info]

btf_embed = rule(
    implementation = _btf_embed_impl,
    doc = """Copies a kernel module, or another ELF file, with BTF in its section `.BTF`.

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

Type ids in `.BTF_ids` become those of the BTF, unless `resolve_ids` is False. All else in the file
stays as it is. What is based on the BTF as it was embedded names this target as its base: modules
of a kernel since 7.0, the `btf_embed` of vmlinux, whose BTF lost the implicit arguments of kfuncs.
A distilled base, if the BTF is based on one, goes into `.BTF.base`. BTF that the file had is
replaced. In a linked vmlinux that loads its BTF the new one must have the same size: link with a
`btf_section_object` instead.""",
    attrs = EMBED_ATTRS | {
        "btf": _BTF_ATTR,
        "out": attr.output(
            doc = "The file to write. By default `NAME/` and the name of `src`.",
        ),
        "src": attr.label(
            doc = "The module, not compressed; any ELF file with section headers will do.",
            allow_single_file = True,
            mandatory = True,
        ),
    },
    provides = [BtfInfo],
    toolchains = [TOOLCHAIN_TYPE],
)

def _btf_section_object_impl(ctx):
    info = btf_info(ctx, "btf", ctx.attr.btf)
    out = ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + ".o")
    btf_embed_action(ctx, ctx.file.machine_of, out, info.btf)
    return [DefaultInfo(files = depset([out])), info]

btf_section_object = rule(
    implementation = _btf_section_object_impl,
    doc = """Makes an object with the BTF of a kernel, `NAME.o`, for the last link of vmlinux.

```starlark
btf_section_object(
    name = "vmlinux.btf",        # vmlinux.btf.o
    btf = ":vmlinux_btf",
    machine_of = "init/main.o",
)
```

The object has only a section `.BTF` that is loaded. The kernel's linker script puts it
between `__start_BTF` and `__stop_BTF`.""",
    attrs = {
        "btf": _BTF_ATTR,
        "machine_of": attr.label(
            doc = """An ELF file for the machine and ABI of the kernel. Only its ELF header is used,
but any change of the file runs the action: one of the kernel's objects that seldom changes is
best.""",
            allow_single_file = True,
            mandatory = True,
        ),
        "out": attr.output(doc = "The file to write. By default `NAME.o`."),
    },
    provides = [BtfInfo],
    toolchains = [TOOLCHAIN_TYPE],
)
