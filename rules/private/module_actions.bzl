"""Actions on whole files and trees: modules, vmlinux, the BTF of a release."""

load(":arguments.bzl", "add_file_as", "add_files", "add_named")
load(":conversion.bzl", "add_conversion")
load(":debug_files.bzl", "debug_inputs")
load(":exec_groups.bzl", "LINK_EXEC_GROUP")
load(":run.bzl", "THREADS", "run_tool", "tools")

visibility("//rules/...")

def _embed_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _link_resources(_os, inputs):
    return {"cpu": THREADS, "memory": 512 + 8 * inputs}

def _release_resources(_os, inputs):
    return {"cpu": 1, "memory": 256 + inputs // 4}

def _modules_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

# The ends of the names of archives. "btfgen modules" has the same list.
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.zst", ".deb", ".rpm")

def is_set(file):
    """Whether a file is a directory or an archive of modules, whose names are unknown."""
    return file.is_directory or file.basename.endswith(_ARCHIVES)

def _directory_of(file):
    """The directory of a file, or a directory itself."""
    return file.path if file.is_directory else file.dirname

def btf_modules(ctx, modules, outputs, conversion, chain, order = None, variables = ""):
    """Declares BtfModules: the BTF of several modules. The rule needs LINK_EXEC_GROUPS.

    Args:
        ctx: context of a rule with the toolchain.
        modules: list of File, linked modules, or one directory or archive of them.
        outputs: struct of lists of File to write: a directory, or files in one directory.
            `btfs` (NAME.btf of each module), `skipped` (NAME.skipped, what was left out, and
            NAME-btf-extra.skipped if there are extras), `extras` (NAME-btf-extra.btf, the variables
            that are not per CPU; or empty), `inlines` (NAME.inline.btf, the sites of inlined
            functions; or empty).
        conversion: what `conversion_of` returned.
        chain: what `chain_of` returned: the chain of bases.
        order: File or None, Kbuild's modules.order: the modules to read from a directory.
        variables: which variables are encoded, as for `btfgen modules --variables`; empty if
            the features decide.
    """
    args = ctx.actions.args()
    for flag, files in {
        "-o": outputs.btfs,
        "--skipped-dir": outputs.skipped,
        "--extra-dir": outputs.extras,
        "--inline-dir": outputs.inlines,
    }.items():
        args.add_all(
            files[:1],
            before_each = flag,
            expand_directories = False,
            map_each = _directory_of,
        )
    add_conversion(args, modules, conversion)

    # Extra BTF needs types of the base, and sites need functions of the base. An index has neither.
    bases = chain.bases if outputs.extras or outputs.inlines else chain.indices
    args.add_all(bases, before_each = "--base")
    more = debug_inputs(modules, conversion.beside)
    if order:
        add_files(args, [order], before_each = "--order")
        more.append(order)
    if variables:
        args.add("--variables", variables)
    add_files(args, modules, expand_directories = False)

    # A group of files is small, and there are many groups. A directory or archive may be large.
    several = is_set(modules[0])
    exec_group = LINK_EXEC_GROUP if several else None
    run_tool(
        ctx,
        tools(ctx, exec_group).btfgen,
        "modules",
        args,
        threads = THREADS if several else 1,
        exec_group = exec_group,
        inputs = depset(modules + more, transitive = [bases]),
        outputs = outputs.btfs + outputs.skipped + outputs.extras + outputs.inlines,
        mnemonic = "BtfModules",
        progress_message = "Making the BTF of modules of %{label}: %{output}",
        resource_set = _link_resources if several else _modules_resources,
    )

def btf_embed_action(
        ctx,
        elves,
        outs,
        btfs,
        bases = depset(),
        distilled = False,
        how = None,
        btf_outs = [],
        inlines = [],
        inline_outs = [],
        many = False,
        order = None):
    """Declares BtfEmbed: embeds BTF in ELF files. All lists but elves may have a directory.

    Args:
        ctx: context of a rule with the toolchain.
        elves: list of File, an ELF file; or modules, or one directory or archive of them.
        outs: list of File to write, elves with the BTF, or an object file to link.
        btfs: list of File, raw BTF.
        bases: depset of File, the chain of BTF that btfs are based on, deepest first.
        distilled: whether bases is a distilled base.
        how: struct, what `how_to_embed` returned; None if outs is an object that has only the
            BTF, for the machine of elves.
        btf_outs: list of File to write, the embedded BTF, which may be padded, and without implicit
            arguments of kfuncs; may be empty.
        inlines: list of File, the sites of inlined functions, based on btfs; may be empty.
        inline_outs: list of File to write, these sites, based on btf_outs; may be empty.
        many: whether elves are modules, and the other files are named after them. The rule then
            needs LINK_EXEC_GROUPS.
        order: as for `btf_modules`.
    """
    args = ctx.actions.args()

    def add(flag, files):
        args.add_all(
            files[:1],
            before_each = flag,
            expand_directories = False,
            map_each = _directory_of if many else None,
        )

    add("-o", outs)
    add("--btf", btfs)
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
        add("--btf-out", btf_outs)
        add("--inline", inlines)
        add("--inline-out", inline_outs)
        if (how.resolve_ids or inlines) and not distilled:
            args.add_all(bases, before_each = "--base")
            read.append(bases)
        if how.resolve_ids and how.old_base:
            add_files(args, [how.old_base], before_each = "--old-base")
            read.append(depset([how.old_base]))
    if order:
        add_files(args, [order], before_each = "--order")
        read.append(depset([order]))
    add_files(args, elves, expand_directories = False)
    several = many and is_set(elves[0])
    exec_group = LINK_EXEC_GROUP if several else None
    run_tool(
        ctx,
        tools(ctx, exec_group).btfdedup,
        "embed",
        args,
        threads = THREADS if several else 1,
        exec_group = exec_group,
        inputs = depset(elves + btfs + inlines, transitive = read),
        outputs = outs + btf_outs + inline_outs,
        mnemonic = "BtfEmbed",
        progress_message = "Embedding BTF %{label}: %{output}",
        resource_set = _link_resources if several else _embed_resources,
    )

def btf_archive_files(ctx, vmlinux, modules, many, release, out):
    """Declares BtfArchive: the BTF of a release with its manifest.

    Args:
        ctx: context of a rule with the toolchain.
        vmlinux: BtfInfo.
        modules: list of struct: `path` (string, the module's path or name), `btf` (File),
            `distilled` (File or None, the distilled base of btf), `inline` (File or None, the
            sites of inlined functions, based on btf), `on` (string or None, the path of
            the module on which btf is based).
        many: depset of File, raw BTF files named after their modules, and directories of them,
            based on vmlinux; and the sites of inlined functions, named MODULE.inline.btf.
        release: string, the kernel's release.
        out: File to write, a directory or a file NAME.tar or NAME.tar.zst.
    """
    args = ctx.actions.args()
    args.add_all("-o", [out], expand_directories = False)
    args.add("--release", release)
    args.add("--vmlinux", vmlinux.btf)
    inputs = [vmlinux.btf]
    for module in modules:
        inputs.append(module.btf)
        if module.distilled:
            inputs.append(module.distilled)
            add_file_as(args, "--distilled-base=" + module.path, module.distilled)
        if module.on:
            args.add("--on={}={}".format(module.path, module.on))
        add_file_as(args, module.path, module.btf)
        if module.inline:
            inputs.append(module.inline)
            name = module.path.removesuffix(".debug").removesuffix(".ko")
            add_file_as(args, name + ".inline", module.inline)
    if vmlinux.inline:
        inputs.append(vmlinux.inline)
        add_file_as(args, "vmlinux.inline", vmlinux.inline)
    add_named(args, many)
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
