"""The actions on whole files and trees: modules, vmlinux, the BTF of a release."""

load(":run.bzl", "LINK_EXEC_GROUP", "THREADS", "add_conversion", "run_tool", "tools")

def _embed_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _link_resources(_os, inputs):
    return {"cpu": THREADS, "memory": 512 + 8 * inputs}

def _release_resources(_os, inputs):
    return {"cpu": 1, "memory": 256 + inputs // 4}

def btf_modules(
        ctx,
        modules,
        out,
        skipped,
        conversion,
        bases,
        order = None,
        variables = "",
        extra = None,
        embedded = None,
        how = None):
    """Declares BtfModules: the BTF of all modules in a directory. The rule needs LINK_EXEC_GROUPS.

    Args:
        ctx: context of a rule with the toolchain.
        modules: File, a directory of linked modules.
        out: directory to write, raw BTF of each module.
        skipped: directory to write, what of each was left out and why.
        conversion: what `conversion_of` returned.
        bases: depset of File, the chain to split against, outermost first: indices, or BTF.
        order: File or None, Kbuild's modules.order, which lists the modules to take.
        variables: which variables are encoded, as `btfdedup modules --variables` takes it; empty
            for those that the features say.
        extra: directory to write or None, split BTF of the variables that are not per CPU on out;
            bases must be BTF.
        embedded: directory to write or None, the modules with their BTF.
        how: struct, how to embed: what `how_to_embed` returned.
    """
    args = ctx.actions.args()
    args.add_all([out], before_each = "-o", expand_directories = False)
    args.add_all([skipped], before_each = "--skipped-dir", expand_directories = False)
    add_conversion(args, conversion)
    args.add_all(bases, before_each = "--base")
    more = []
    if order:
        args.add("--order", order)
        more.append(order)
    if variables:
        args.add("--variables", variables)
    if extra:
        args.add_all([extra], before_each = "--extra-dir", expand_directories = False)
    if embedded:
        args.add_all([embedded], before_each = "--embed", expand_directories = False)
        if how.drop_signature:
            args.add("--drop-signature")
        if not how.resolve_ids:
            args.add("--keep-ids")
        elif how.old_base:
            more.append(how.old_base)
            args.add("--old-base", how.old_base)
    args.add_all([modules], expand_directories = False)
    run_tool(
        ctx,
        tools(ctx, LINK_EXEC_GROUP).btfdedup,
        "modules",
        args,
        threads = THREADS,
        exec_group = LINK_EXEC_GROUP,
        inputs = depset([modules] + more, transitive = [bases]),
        outputs = [out, skipped] + [file for file in [extra, embedded] if file],
        mnemonic = "BtfModules",
        progress_message = "Making the BTF of modules %{input} for %{label}",
        resource_set = _link_resources,
    )

def btf_embed_action(
        ctx,
        elf,
        out,
        btf,
        bases = depset(),
        distilled = False,
        how = None,
        btf_out = None):
    """Declares BtfEmbed: an ELF file with BTF in it.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, an ELF file.
        out: File to write: elf with the BTF, or an object to link.
        btf: File, raw BTF.
        bases: depset of File, the chain of BTF that btf stands on, outermost first.
        distilled: whether bases is a distilled base.
        how: struct, what `how_to_embed` returned; None if out is an object that has nothing but the
            BTF, for the machine of elf.
        btf_out: File to write or None, the BTF that is embedded: without implicit arguments of
            kfuncs. Only if ids are resolved.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add("--btf", btf)
    read = []
    if how == None:
        args.add("--object")
    else:
        if distilled:
            args.add_all(bases, before_each = "--btf-base")
            read.append(bases)
        if how.drop_signature:
            args.add("--drop-signature")
        if how.resolve_ids:
            args.add("--resolve-ids")
            if btf_out:
                args.add("--btf-out", btf_out)
            if not distilled:
                args.add_all(bases, before_each = "--base")
                read.append(bases)
            if how.old_base:
                args.add("--old-base", how.old_base)
                read.append(depset([how.old_base]))
    args.add(elf)
    run_tool(
        ctx,
        tools(ctx).btfdedup,
        "embed",
        args,
        inputs = depset([elf, btf], transitive = read),
        outputs = [out] + ([btf_out] if btf_out else []),
        mnemonic = "BtfEmbed",
        progress_message = "Embedding BTF %{label}: %{output}",
        resource_set = _embed_resources,
    )

def btf_archive_files(ctx, vmlinux, modules, many, shared, objects, release, build_id, out):
    """Declares BtfArchive: the BTF of a release with its manifest.

    Args:
        ctx: context of a rule with the toolchain.
        vmlinux: File, raw BTF.
        modules: list of struct: `path` (string, of the module or its name), `btf` (File),
            `distilled` (File or None, the distilled base of btf), `on` (string or None, the path of
            the module on which btf stands, or `vmlinux` if others stand on a shared base).
        many: depset of File, raw BTF named for its module, and directories of it; on the shared
            base if there is one, else on vmlinux.
        shared: File or None, the shared base of many.
        objects: list of File, lists of objects of modules, NAME.mod.
        release: string, the kernel's release.
        build_id: string, vmlinux's, may be empty.
        out: File to write, a directory or a file NAME.tar or NAME.tar.zst.
    """
    args = ctx.actions.args()
    args.add_all("-o", [out], expand_directories = False)
    args.add("--release", release)
    if build_id:
        args.add("--build-id", build_id)
    args.add("--vmlinux", vmlinux)
    args.add_all(objects, before_each = "--objects")
    inputs = [vmlinux] + objects
    if shared:
        inputs.append(shared)
        args.add("--shared-base", shared)
    for module in modules:
        inputs.append(module.btf)
        name = module.path.replace("%", "%%")
        if module.distilled:
            inputs.append(module.distilled)
            args.add(module.distilled, format = "--distilled-base=" + name + "=%s")
        if module.on:
            args.add("--on={}={}".format(module.path, module.on))
        args.add(module.btf, format = name + "=%s")
    args.add_all(many)
    run_tool(
        ctx,
        tools(ctx).btfdedup,
        "archive",
        args,
        inputs = depset(inputs, transitive = [many]),
        outputs = [out],
        mnemonic = "BtfArchive",
        progress_message = "Archiving BTF %{label}",
        resource_set = _release_resources,
    )
