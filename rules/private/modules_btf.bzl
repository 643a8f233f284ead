"""modules_btf: the BTF of many modules of one kernel."""

load("//rules:providers.bzl", "BtfInfo", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(
    ":actions.bzl",
    "LINK_EXEC_GROUPS",
    "btf_embed_action",
    "btf_facts",
    "btf_gen",
    "btf_link",
    "btf_modules",
)
load(":btf_embed.bzl", "EMBED_ATTRS", "how_to_embed")
load(":conversion.bzl", "CONVERSION_ATTRS", "conversion_of", "has_feature")
load(":link_inputs.bzl", "chain_of")

def _module(ctx, ko, name, conversion, indices):
    """Declares the actions of one module, and returns its BTF and what was left out."""
    path = ctx.label.name + "/" + name
    converted = ctx.actions.declare_file(path + ".btfo")
    btf_gen(ctx, ko, converted, conversion)
    facts = ctx.actions.declare_file(path + ".facts")
    btf_facts(ctx, ko, facts, conversion.btf_features)
    btf = ctx.actions.declare_file(path + ".btf")
    skipped = ctx.actions.declare_file(path + ".skipped")
    btf_link(ctx, depset([converted]), btf, skipped, facts = facts, bases = indices)
    return btf, skipped

def _embedded(ctx, ko, name, btf, chain):
    """Declares BtfEmbed of one module, and returns the module with its BTF."""
    if not ctx.attr.embed:
        return None
    out = ctx.actions.declare_file(ctx.label.name + "/" + name + ".ko")
    btf_embed_action(ctx, ko, out, btf, bases = chain.bases, how = how_to_embed(ctx))
    return out

def _directory(ctx, kos, conversion, chain):
    """Declares the action of a directory, and returns its BTF, what was left out, the modules."""
    path = ctx.label.name + "/" + kos.basename
    btf = ctx.actions.declare_directory(path + ".btf.d")
    skipped = ctx.actions.declare_directory(path + ".skipped.d")
    embedded = ctx.actions.declare_directory(path + ".ko.d") if ctx.attr.embed else None
    how = how_to_embed(ctx)

    # Ids need the names of the base, which an index doesn't have.
    bases = chain.bases if embedded and how.resolve_ids else chain.indices
    btf_modules(ctx, kos, btf, skipped, conversion, bases, embedded, how)
    return btf, skipped, embedded

def _modules_btf_impl(ctx):
    chain = chain_of(ctx, ctx.attr.base.label, ctx.attr.base[BtfInfo])
    conversion = conversion_of(ctx.attr)
    if has_feature(conversion.btf_features, "distilled_base"):
        fail(("{}: modules of one kernel build need no distilled base; module_btf makes one, for " +
              "a module that other builds load").format(ctx.label))
    btfs, skips, embeds, modules, by_name = [], [], [], [], {}
    for ko in ctx.files.modules:
        if ko.is_directory:
            btf, skipped, embedded = _directory(ctx, ko, conversion, chain)
        else:
            name = ko.basename.removesuffix(".debug").removesuffix(".ko")
            if name in by_name:
                fail("{}: {} and {} are both the module {}".format(
                    ctx.label,
                    by_name[name].short_path,
                    ko.short_path,
                    name,
                ))
            by_name[name] = ko
            btf, skipped = _module(ctx, ko, name, conversion, chain.indices)
            embedded = _embedded(ctx, ko, name, btf, chain)
            modules.append(struct(
                name = name,
                module = ko,
                btf = btf,
                skipped = skipped,
                embedded = embedded,
            ))
        btfs.append(btf)
        skips.append(skipped)
        if embedded:
            embeds.append(embedded)
    return [
        DefaultInfo(files = depset(btfs)),
        BtfModulesInfo(modules = modules, bases = chain.bases, indices = chain.indices),
        OutputGroupInfo(btf_embedded = depset(embeds), btf_skipped = depset(skips)),
    ]

modules_btf = rule(
    implementation = _modules_btf_impl,
    doc = """Links the BTF of many modules that stand on one kernel, each as `module_btf` does:
`NAME/MODULE.btf` for each `MODULE.ko`.

```starlark
modules_btf(
    name = "modules_btf",
    base = ":vmlinux_btf",
    modules = glob(["kernel/**/*.ko"]),
)
```

A module that is a file has actions of its own (`BtfGen`, `BtfFacts`, `BtfLink`), so an edit of one
module runs these three again. Modules in a directory, a tree artifact whose files are known only
when it is made, are converted by one action (`BtfModules`), with the same bytes. Modules that stand
on other modules need `module_btf`. Output groups: `btf_skipped`, `btf_embedded`.

With `embed`, the output group `btf_embedded` has the modules with their BTF, as `btf_embed` makes
them: `NAME/MODULE.ko`, of an action (`BtfEmbed`) for each, or a directory. Nothing embeds them
unless they are asked for; of a directory, the one action does.""",
    attrs = CONVERSION_ATTRS | EMBED_ATTRS | {
        "base": attr.label(
            doc = "The `vmlinux_btf`, or whatever else the modules stand on.",
            mandatory = True,
            providers = [BtfInfo],
        ),
        "embed": attr.bool(
            doc = """Whether there are modules with their BTF, too: the output group
`btf_embedded`. Then a module must be the file that is loaded, with its DWARF.""",
        ),
        "modules": attr.label_list(
            doc = """The linked modules, `.ko` files with DWARF, each with a name of its own; or
directories of them.""",
            allow_empty = False,
            allow_files = True,
            mandatory = True,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfModulesInfo],
)
