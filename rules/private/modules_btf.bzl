"""modules_btf: the BTF of many modules of one kernel."""

load("//rules:providers.bzl", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":btf_embed.bzl", "EMBED_ATTRS", "how_to_embed")
load(":conversion.bzl", "CONVERSION_ATTRS", "conversion_mistake", "conversion_of")
load(":convert_actions.bzl", "btf_facts")
load(":exec_groups.bzl", "LINK_EXEC_GROUPS")
load(":features.bzl", "distilled_mistake", "has_feature")
load(":grain.bzl", "grain_of", "groups_of")
load(":inline.bzl", "inline_attrs", "inline_mistake")
load(":layout.bzl", "layout_path")
load(":link_inputs.bzl", "chain_mistake", "chain_of")
load(":module_actions.bzl", "btf_embed_action", "btf_modules", "is_set")
load(":variables.bzl", "VARIABLES_ATTRS", "variables_mistake", "variables_of")

visibility("//rules/...")

def _name_of(ko):
    """The name of a module, as `btfgen modules` derives it."""
    return ko.basename.removesuffix(".debug").removesuffix(".ko")

# These are extensions of files that are linked into modules or made from modules.
_NO_MODULES = ["a", "btf", "btfo", "o", "so"]

def _module_mistake(kos):
    """What is wrong with the files in the attribute `modules`: string, or None."""
    directories, by_name = {}, {}
    for ko in kos:
        if is_set(ko):
            other = directories.setdefault(ko.basename, ko)
            if other != ko:
                return ("{} and {} have the same name, so their outputs would " +
                        "have the same name: use a separate modules_btf for one of them").format(
                    other.short_path,
                    ko.short_path,
                )
            continue
        if ko.extension in _NO_MODULES:
            return "{} is not a linked module: use the .ko file that it is linked into".format(
                ko.short_path,
            )
        name = _name_of(ko).replace("-", "_").replace(",", "_")  # as the kernel calls it
        if name in by_name:
            return "{} and {} are both the module {}: rename or remove one".format(
                by_name[name].short_path,
                ko.short_path,
                name,
            )
        by_name[name] = ko
    return None

# Rule: grain: which modules one action processes.
def _groups(ctx):
    """The groups of modules: list of lists of File. A directory or archive is a group."""
    directories = [[ko] for ko in ctx.files.modules if is_set(ko)]
    by_path = {layout_path(ko): ko for ko in ctx.files.modules if not is_set(ko)}
    return groups_of(by_path, grain_of(ctx.attr), ["ko", "debug"]).values() + directories

def _outputs(ctx, kos, where, suffix, directory, names = []):
    """Declares files NAME + suffix for modules, or one directory: list of File.

    Args:
        ctx: the context.
        kos: list of File, a group of modules.
        where: string, the directory of the outputs.
        suffix: string, the end of the name of a module's file, such as `.btf`.
        directory: string, the end of the name of the directory, if kos is a directory or archive.
        names: list of string, further ends of names of a module's files.
    """
    if is_set(kos[0]):
        return [ctx.actions.declare_directory(where + "/" + kos[0].basename + directory)]
    return [
        ctx.actions.declare_file(where + "/" + _name_of(ko) + end)
        for end in [suffix] + names
        for ko in kos
    ]

def _link(ctx, kos, conversion, chain, variables):
    """Declares the actions for a group of modules."""
    where = ctx.label.name
    separate = ctx.attr.variables == "separate"
    ends = (["-btf-extra.skipped"] if separate else []) + (
        [".inline.skipped"] if ctx.attr.inline else []
    )

    def btfs(where):
        return _outputs(ctx, kos, where, ".btf", ".btf.d")

    def inlines(where):
        return _outputs(ctx, kos, where, ".inline.btf", ".inline.d") if ctx.attr.inline else []

    # The embedded BTF doesn't show implicit arguments of kfuncs.
    changes = ctx.attr.embed and ctx.attr.resolve_ids
    linked_in = where + "/linked" if changes else where
    order = ctx.file.order if is_set(kos[0]) else None
    linked = struct(
        btfs = btfs(linked_in),
        skipped = _outputs(ctx, kos, where, ".skipped", ".skipped.d", ends),
        extras = _outputs(ctx, kos, where, "-btf-extra.btf", ".btf-extra.d") if separate else [],
        inlines = inlines(linked_in),
        embedded = [],
    )
    btf_modules(
        ctx,
        kos,
        linked,
        conversion,
        chain,
        order = order,
        variables = "" if separate else variables,
    )
    if not ctx.attr.embed:
        return linked
    outputs = struct(
        btfs = btfs(where) if changes else linked.btfs,
        skipped = linked.skipped,
        extras = linked.extras,
        inlines = inlines(where) if changes else linked.inlines,
        embedded = _outputs(ctx, kos, where, ".ko", ".ko.d"),
    )
    btf_embed_action(
        ctx,
        kos,
        outputs.embedded,
        linked.btfs,
        bases = chain.bases,
        how = how_to_embed(ctx, chain.old_base),
        btf_outs = outputs.btfs if changes else [],
        inlines = linked.inlines,
        inline_outs = outputs.inlines if changes else [],
        many = True,
        order = order,
    )
    return outputs

def _infos(kos, outputs):
    """The modules of a group, for BtfModulesInfo."""
    if is_set(kos[0]):
        return []
    return [
        struct(
            name = _name_of(ko),
            module = ko,
            btf = outputs.btfs[i],
            extra = outputs.extras[i] if outputs.extras else None,
            inline = outputs.inlines[i] if outputs.inlines else None,
            skipped = outputs.skipped[i],
            embedded = outputs.embedded[i] if outputs.embedded else None,
        )
        for i, ko in enumerate(kos)
    ]

def _facts(ctx, modules, conversion):
    """Declares the facts of each module, for an output group."""
    found = []
    for module in modules:
        facts = ctx.actions.declare_file("{}/{}.facts".format(ctx.label.name, module.name))
        btf_facts(ctx, module.module, facts, conversion.btf_features, conversion.beside)
        found.append(facts)
    return found

def _mistake(ctx, conversion):
    """What is wrong with attributes that other rules don't have in this form: string, or None."""
    if has_feature(conversion.btf_features, "distilled_base"):
        return ("modules of one kernel build need no distilled base; use module_btf for a module " +
                "that other builds load")
    if ctx.file.order and not [ko for ko in ctx.files.modules if is_set(ko)]:
        return "the attribute order needs a directory or an archive in the attribute modules"
    return None

def _modules_btf_impl(ctx):
    conversion = conversion_of(ctx.attr)
    features = conversion.btf_features
    mistake = (
        conversion_mistake(ctx.attr) or
        inline_mistake(ctx.attr, True) or
        distilled_mistake(ctx, features) or
        chain_mistake(ctx, ctx.attr.base, features) or
        _mistake(ctx, conversion) or
        variables_mistake(ctx, features, facts = True) or
        _module_mistake(ctx.files.modules)
    )
    if mistake:
        fail(mistake)
    chain = chain_of(ctx.attr.base)
    variables = variables_of(ctx)
    groups = _groups(ctx)
    linked = [_link(ctx, kos, conversion, chain, variables) for kos in groups]
    modules = [info for i, kos in enumerate(groups) for info in _infos(kos, linked[i])]
    btfs = depset([file for outputs in linked for file in outputs.btfs])
    extras = depset([file for outputs in linked for file in outputs.extras])
    inlines = depset([file for outputs in linked for file in outputs.inlines])
    return [
        DefaultInfo(files = btfs),
        BtfModulesInfo(
            btfs = btfs,
            extras = extras,
            inlines = inlines,
            modules = modules,
            bases = chain.bases,
            indices = chain.indices,
        ),
        OutputGroupInfo(
            btf_embedded = depset([file for outputs in linked for file in outputs.embedded]),
            btf_extra = extras,
            btf_facts = depset(_facts(ctx, modules, conversion)),
            btf_inline = inlines,
            btf_skipped = depset([file for outputs in linked for file in outputs.skipped]),
        ),
    ]

modules_btf = rule(
    implementation = _modules_btf_impl,
    doc = """Links the BTF of many modules of one kernel: `NAME/MODULE.btf` for each `MODULE.ko`.

```starlark
modules_btf(
    name = "modules_btf",
    base = ":vmlinux_btf",
    modules = glob(["kernel/**/*.ko"]),
)
```

Each `BtfModules` action converts and links several modules (see `grain`). An edit of one module
reruns its action, which writes the same bytes for the other modules. A tree artifact or an archive
of modules is processed by one action. Modules that are based on other modules need `module_btf`.
Output groups: `btf_skipped`, `btf_facts`, `btf_extra`, `btf_inline`, `btf_embedded`.

With `variables = "separate"` there is also a `NAME/MODULE-btf-extra.btf` for each module; for a
directory or archive `DIR`, these files are in `NAME/DIR.btf-extra.d`. With `inline`, the sites of a
directory's modules are in `NAME/DIR.inline.d`. In both cases the actions read the chain of BTF, so
they run again when the kernel's BTF changes.

With `embed`, `BtfEmbed` actions put the BTF and the sites into copies of the modules: the output
group `btf_embedded`, with `NAME/MODULE.ko`, or for a directory `NAME/DIR.ko.d`. They too read the
chain of BTF, unless `resolve_ids` is False. The target has the embedded BTF. The BTF before that,
on which extra BTF is based, is in `NAME/linked`; it only differs if the module has kfuncs with
implicit arguments.""",
    attrs = CONVERSION_ATTRS | EMBED_ATTRS | VARIABLES_ATTRS |
            inline_attrs("NAME/MODULE") | {
        "base": attr.label(
            doc = "The `vmlinux_btf` or other base of the modules.",
            allow_files = True,
            mandatory = True,
        ),
        "embed": attr.bool(
            doc = """Whether to also write a copy of each module, with the BTF in the copy's section
`.BTF` (output group `btf_embedded`). Each file in `modules` must then be the file that will be
loaded, and must still have its DWARF.""",
        ),
        "grain": attr.string(
            doc = """How many modules one action processes: `object` (one action per module),
`directory` (one action per directory, several for a large directory), or a number such as `16` (at
most about that many, from one directory and the small directories below it). The result is the
same, byte for byte, for any grain. If empty, the value of the flag
`@rules_btf//rules/settings:grain` is used, which is `16` unless it is set.""",
        ),
        "modules": attr.label_list(
            doc = """The linked modules: `.ko` files with DWARF; directories of them; or
archives of them (`.tar`, `.tar.gz`, `.tgz`, `.tar.xz`, `.tar.zst`, `.deb`, `.rpm`), in which
modules may be compressed. Modules must have different names (where `-` is the same as `_`), and so
must directories and archives.""",
            allow_empty = False,
            allow_files = True,
            mandatory = True,
        ),
        "order": attr.label(
            doc = """Kbuild's `modules.order`, which selects modules in a directory or archive. Its
paths are relative to the directory.""",
            allow_single_file = True,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfModulesInfo],
)
