"""modules_btf: the BTF of many modules of one kernel."""

load("//rules:providers.bzl", "BtfInfo", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":convert_actions.bzl", "btf_facts", "btf_gen")
load(":link_actions.bzl", "btf_base", "btf_link", "btf_shared")
load(":module_actions.bzl", "btf_embed_action", "btf_modules")
load(":run.bzl", "LINK_EXEC_GROUPS")
load(":btf_embed.bzl", "EMBED_ATTRS", "how_to_embed")
load(":conversion.bzl", "CONVERSION_ATTRS", "conversion_of", "has_feature")
load(":link_inputs.bzl", "chain_of")
load(":variables.bzl", "VARIABLES_ATTRS", "link_extra", "variables_of")

def _source(ctx, ko, name, conversion):
    """Declares the actions of one module before its link, and returns what the link reads."""
    path = ctx.label.name + "/" + name
    converted = ctx.actions.declare_file(path + ".btfo")
    btf_gen(ctx, [ko], converted, conversion)
    facts = ctx.actions.declare_file(path + ".facts")
    btf_facts(ctx, ko, facts, conversion.btf_features)
    return struct(name = name, module = ko, object = converted, facts = facts)

def _sources(ctx, conversion):
    """Returns what is to be linked: struct for a module, File for a directory of modules."""
    sources, by_name = [], {}
    for ko in ctx.files.modules:
        if ko.is_directory:
            sources.append(ko)
            continue
        name = ko.basename.removesuffix(".debug").removesuffix(".ko")
        if name in by_name:
            fail("{}: {} and {} are both the module {}".format(
                ctx.label,
                by_name[name].short_path,
                ko.short_path,
                name,
            ))
        by_name[name] = ko
        sources.append(_source(ctx, ko, name, conversion))
    return sources

def _link_directory(ctx, kos, where, conversion, chain, result):
    """Declares the action of a directory of modules."""
    path = where + "/" + kos.basename
    separate = result.extra and ctx.attr.variables == "separate"
    btf = ctx.actions.declare_directory(path + ".btf.d")
    skipped = ctx.actions.declare_directory(path + ".skipped.d")
    extra = ctx.actions.declare_directory(path + ".btf-extra.d") if separate else None
    embedded = ctx.actions.declare_directory(path + ".ko.d") if result.embed else None
    how = how_to_embed(ctx)

    # An index has neither the names of the base, which ids need, nor its types, which other BTF on
    # a module's needs.
    bases = chain.bases if extra or embedded and how.resolve_ids else chain.indices
    btf_modules(
        ctx,
        kos,
        btf,
        skipped,
        conversion,
        bases,
        order = ctx.file.order,
        variables = "" if extra else result.variables,
        extra = extra,
        embedded = embedded,
        how = how,
    )
    return struct(btf = btf, skipped = [skipped], extra = extra, embedded = embedded)

def _extra(ctx, source, path, objects, chain, btf):
    """Declares the link of a module's variables that are not per CPU, on its BTF."""
    if ctx.attr.variables != "separate":
        return None
    index = ctx.actions.declare_file(path + ".btfbase")
    btf_base(ctx, btf, index, chain.bases)
    indices = depset([index], transitive = [chain.indices], order = "postorder")
    return link_extra(ctx, path, objects, source.facts, indices)

def _link(ctx, source, where, conversion, chain, result):
    """Declares the link of a module, or of a directory, on a chain; `where` is where it writes."""
    if type(source) == "File":
        return _link_directory(ctx, source, where, conversion, chain, result)
    path = where + "/" + source.name
    btf = ctx.actions.declare_file(path + ".btf")
    skipped = ctx.actions.declare_file(path + ".skipped")
    objects = depset([source.object])
    how = how_to_embed(ctx)

    # Embedding may change the BTF together with the ids.
    linked = btf
    if result.embed and how.resolve_ids:
        linked = ctx.actions.declare_file("{}/linked/{}.btf".format(where, source.name))
    btf_link(
        ctx,
        objects,
        linked,
        skipped,
        facts = source.facts,
        bases = chain.indices,
        variables = result.variables,
    )
    extra = _extra(ctx, source, path, objects, chain, btf) if result.extra else None
    embedded = None
    if result.embed:
        embedded = ctx.actions.declare_file(path + ".ko")
        btf_embed_action(
            ctx,
            source.module,
            embedded,
            linked,
            bases = chain.bases,
            how = how,
            btf_out = btf if linked != btf else None,
        )
    return struct(
        name = source.name,
        module = source.module,
        btf = btf,
        skipped = [skipped] + ([extra.skipped] if extra else []),
        extra = extra.btf if extra else None,
        facts = source.facts,
        embedded = embedded,
    )

def _shared_base(ctx, sources, conversion, chain, variables):
    """Declares the shared base, and returns it and the chain that ends with it."""
    where = ctx.label.name + "/alone"
    result = struct(variables = variables, extra = False, embed = False)
    alone = [_link(ctx, source, where, conversion, chain, result).btf for source in sources]
    shared = ctx.actions.declare_file(ctx.label.name + ".shared.btf")
    btf_shared(ctx, alone, shared, chain.bases)
    index = ctx.actions.declare_file(ctx.label.name + ".shared.btfbase")
    btf_base(ctx, shared, index, chain.bases)
    return shared, struct(
        bases = depset([shared], transitive = [chain.bases], order = "postorder"),
        indices = depset([index], transitive = [chain.indices], order = "postorder"),
    )

def _info(module):
    """What BtfModulesInfo says of a module."""
    return struct(
        name = module.name,
        module = module.module,
        btf = module.btf,
        extra = module.extra,
        skipped = module.skipped[0],
        embedded = module.embedded,
    )

def _modules_btf_impl(ctx):
    chain = chain_of(ctx, ctx.attr.base.label, ctx.attr.base[BtfInfo])
    conversion = conversion_of(ctx.attr)
    if has_feature(conversion.btf_features, "distilled_base"):
        fail(("{}: modules of one kernel build need no distilled base; module_btf makes one, for " +
              "a module that other builds load").format(ctx.label))
    if ctx.attr.shared_base and ctx.attr.embed:
        fail(("{}: embed and shared_base contradict each other: the kernel's loader takes no " +
              "chain of bases").format(ctx.label))
    if ctx.file.order and not [ko for ko in ctx.files.modules if ko.is_directory]:
        fail("{}: order lists what to take of a directory, and modules has none".format(ctx.label))
    variables = variables_of(ctx, conversion.btf_features, facts = True)
    sources = _sources(ctx, conversion)
    shared = None
    if ctx.attr.shared_base:
        shared, chain = _shared_base(ctx, sources, conversion, chain, variables)
    result = struct(variables = variables, extra = True, embed = ctx.attr.embed)
    linked = [
        _link(ctx, source, ctx.label.name, conversion, chain, result)
        for source in sources
    ]
    btfs = depset([module.btf for module in linked])
    return [
        DefaultInfo(files = depset([shared] if shared else [], transitive = [btfs])),
        BtfModulesInfo(
            btfs = btfs,
            modules = [_info(module) for module in linked if hasattr(module, "name")],
            bases = chain.bases,
            indices = chain.indices,
            shared = shared,
        ),
        OutputGroupInfo(
            btf_embedded = depset([module.embedded for module in linked if module.embedded]),
            btf_extra = depset([module.extra for module in linked if module.extra]),
            btf_facts = depset([module.facts for module in linked if hasattr(module, "facts")]),
            btf_skipped = depset([file for module in linked for file in module.skipped]),
        ),
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
on other modules need `module_btf`. Output groups: `btf_skipped`, `btf_facts`, `btf_extra`,
`btf_embedded`.

With `variables = "separate"` there is `NAME/MODULE-btf-extra.btf` for each, on `NAME/MODULE.btf`;
of a directory `DIR`, these are in the directory `NAME/DIR.btf-extra.d`. For that, the action of a
directory reads the chain of BTF, so it runs again when the kernel's BTF changes.

With `embed`, the output group `btf_embedded` has the modules with their BTF, as `btf_embed` makes
them: `NAME/MODULE.ko`, of an action (`BtfEmbed`) for each, or a directory. `NAME/MODULE.btf` is
what is embedded, without the implicit arguments of kfuncs, so that action writes it, too; with
`resolve_ids = False` nothing is embedded unless it is asked for.""",
    attrs = CONVERSION_ATTRS | EMBED_ATTRS | VARIABLES_ATTRS | {
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
        "order": attr.label(
            doc = """Kbuild's `modules.order`: of a directory, only the modules that it lists are
taken. Its paths begin at the directory.""",
            allow_single_file = True,
        ),
        "shared_base": attr.bool(
            doc = """Whether types that two or more of the modules hold are stored once, in
`NAME.shared.btf`, on which all modules stand then. A third of the bytes of a small kernel's modules
goes, and nearly two thirds of a distribution's. It is for archives of BTF, such as BTFHub's, and
for tracing tools that take a chain of bases, the kernel's BTF first, then the shared one. The
kernel's loader takes no chain, so don't embed such BTF in modules. All modules are linked twice,
and an edit of one that changes what is shared links all of them again.""",
            default = False,
        ),
    },
    exec_groups = LINK_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfModulesInfo],
)
