"""The actions that the rules are made of, one function each.

Every action is one run of a static tool with a parameter file: no shell, no environment, nothing
that the machine decides. Each says that it supports path mapping, because the tools never let a
path reach an output. Each runs as many threads (-j) as it reserves CPUs.
"""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")

# The exec group of the one big action, so that a user can give it a machine of its own size:
# exec_properties = {"btf_link.mem": "16g"}.
LINK_EXEC_GROUP = "btf_link"
LINK_EXEC_GROUPS = {LINK_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}

# How many threads a tool gets where there is work for several. Part of the command line, so the
# same everywhere. Other actions get one.
_THREADS = 4

_EXECUTION_REQUIREMENTS = {"supports-path-mapping": "1"}

# Of actions that may run in a worker, which takes many requests at the same time. Bazel 7.7 starts
# a worker without a sandbox by its mapped path, where there is nothing; so these map no paths.
_WORKER_REQUIREMENTS = {
    "requires-worker-protocol": "proto",
    "supports-multiplex-sandboxing": "1",
    "supports-multiplex-workers": "1",
    "supports-worker-cancellation": "1",
}

def _objects_resources(_os, inputs):
    return {"cpu": 1, "memory": 128 + 2 * inputs}

def _archive_resources(_os, _inputs):
    return {"cpu": _THREADS, "memory": 1024}

def _facts_resources(_os, _inputs):
    return {"cpu": 1, "memory": 512}

def _embed_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _merge_resources(_os, inputs):
    return {"cpu": 1, "memory": 64 + 8 * inputs}

def _base_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _import_resources(_os, _inputs):
    return {"cpu": 1, "memory": 512}

def _link_resources(_os, inputs):
    return {"cpu": _THREADS, "memory": 512 + 8 * inputs}

def _release_resources(_os, inputs):
    return {"cpu": 1, "memory": 256 + inputs // 4}

def _tools(ctx, exec_group = None):
    toolchains = ctx.exec_groups[exec_group].toolchains if exec_group else ctx.toolchains
    return toolchains[TOOLCHAIN_TYPE].btf

def _run(ctx, tool, verb, args, threads = 1, exec_group = None, worker = False, **kwargs):
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    command = ctx.actions.args()
    command.add(verb)
    command.add("-j", threads)
    ctx.actions.run(
        executable = tool,
        arguments = [command, args],
        execution_requirements = _WORKER_REQUIREMENTS if worker else _EXECUTION_REQUIREMENTS,
        exec_group = exec_group,
        toolchain = TOOLCHAIN_TYPE,
        **kwargs
    )

def _add_features(args, features):
    args.add_joined(
        features,
        join_with = ",",
        format_joined = "--features=%s",
        omit_if_empty = True,
    )

def _add_conversion(args, conversion):
    _add_features(args, conversion.btf_features)
    args.add_joined(
        conversion.lang_exclude,
        join_with = ",",
        format_joined = "--lang-exclude=%s",
        omit_if_empty = True,
    )

def btf_gen(ctx, elves, out, conversion):
    """Declares BtfGen: the types of ELF objects, or of an archive's members.

    Args:
        ctx: context of a rule or aspect with the toolchain and CONVERSION_SETTINGS.
        elves: list of File: object files, or one archive or linked file.
        out: File to write, a BTF object.
        conversion: what `conversion_of` returned.
    """
    archive = elves[0].extension == "a" or elves[0].extension == "lo"
    args = ctx.actions.args()
    args.add("-o", out)
    _add_conversion(args, conversion)
    args.add_all(elves)
    what = "%{input}" if len(elves) == 1 else "%{output}"
    _run(
        ctx,
        _tools(ctx).btfgen,
        "object",
        args,
        threads = _THREADS if archive else 1,
        worker = ctx.attr._workers[BuildSettingInfo].value,
        inputs = elves,
        outputs = [out],
        mnemonic = "BtfGen",
        progress_message = "Reading types of " + what + " for %{label}",
        resource_set = _archive_resources if archive else _objects_resources,
    )

def btf_facts(ctx, elf, out, features):
    """Declares BtfFacts: what only a linked ELF knows.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, vmlinux or a module.
        out: File to write, text.
        features: list of string, what the objects of the link were converted with.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    _add_features(args, features)
    args.add(elf)
    _run(
        ctx,
        _tools(ctx).btfgen,
        "facts",
        args,
        inputs = [elf],
        outputs = [out],
        mnemonic = "BtfFacts",
        progress_message = "Reading link facts of %{input} for %{label}",
        resource_set = _facts_resources,
    )

def btf_merge(ctx, objects, out):
    """Declares BtfMerge: several BTF objects as one.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        objects: list of File.
        out: File to write.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(objects)
    _run(
        ctx,
        _tools(ctx).btfdedup,
        "merge",
        args,
        inputs = objects,
        outputs = [out],
        mnemonic = "BtfMerge",
        progress_message = "Merging types of %{label}: %{output}",
        resource_set = _merge_resources,
    )

def btf_link(
        ctx,
        objects,
        out,
        skipped,
        facts = None,
        bases = depset(),
        distilled = None,
        variables = ""):
    """Declares BtfLink: the final BTF. The rule needs LINK_EXEC_GROUPS and CONVERSION_SETTINGS.

    Args:
        ctx: context of a rule with the toolchain.
        objects: depset of File, BTF objects.
        out: File to write, raw BTF.
        skipped: File to write, what was left out and why.
        facts: File or None, link facts.
        bases: depset of File, the chain of BTF to split against, outermost first.
        distilled: File to write or None, the distilled base that out stands on instead.
        variables: which variables are encoded, as `btfdedup link --variables` takes it; empty for
            those that the features of the objects say.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    if variables:
        args.add("--variables", variables)
    if distilled:
        args.add("--distilled-base", distilled)
    args.add("--skipped", skipped)
    if facts:
        args.add("--facts", facts)
    args.add_all(bases, before_each = "--base")
    args.add_all(objects)
    _run(
        ctx,
        _tools(ctx, LINK_EXEC_GROUP).btfdedup,
        "link",
        args,
        threads = _THREADS,
        # The link of a kernel takes more memory than a process that stays should have had.
        worker = bool(bases) and ctx.attr._workers[BuildSettingInfo].value,
        exec_group = LINK_EXEC_GROUP,
        inputs = depset([facts] if facts else [], transitive = [objects, bases]),
        outputs = [out, skipped] + ([distilled] if distilled else []),
        mnemonic = "BtfLink",
        progress_message = "Linking BTF %{label}",
        resource_set = _link_resources,
    )

def btf_base(ctx, btf, out, bases):
    """Declares BtfBase: the index of BTF, which links of split BTF read in place of it.

    Args:
        ctx: context of a rule with the toolchain.
        btf: File, raw BTF.
        out: File to write.
        bases: depset of File, the chain of BTF that btf is split against, outermost first.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(bases, before_each = "--base")
    args.add(btf)
    _run(
        ctx,
        _tools(ctx).btfdedup,
        "index",
        args,
        inputs = depset([btf], transitive = [bases]),
        outputs = [out],
        mnemonic = "BtfBase",
        progress_message = "Indexing BTF %{input} for %{label}",
        resource_set = _base_resources,
    )

def btf_import_action(ctx, src, out, bases):
    """Declares BtfImport: BTF as it is in a kernel image or module that something else made.

    Args:
        ctx: context of a rule with the toolchain.
        src: File, a kernel image, an ELF file or raw BTF.
        out: File to write, raw BTF.
        bases: depset of File, the chain of BTF that it is split against, outermost first.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(bases, before_each = "--base")
    args.add(src)
    _run(
        ctx,
        _tools(ctx).btfdedup,
        "import",
        args,
        inputs = depset([src], transitive = [bases]),
        outputs = [out],
        mnemonic = "BtfImport",
        progress_message = "Importing BTF of %{input} for %{label}",
        resource_set = _import_resources,
    )

def btf_shared(ctx, modules, out, bases):
    """Declares BtfShared: split BTF with the types that repeat across modules.

    Args:
        ctx: context of a rule with the toolchain.
        modules: list of File, raw BTF of modules, or directories of that.
        out: File to write, raw BTF.
        bases: depset of File, the chain of BTF that the modules stand on, outermost first.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(bases, before_each = "--base")
    args.add_all(modules, expand_directories = False)
    _run(
        ctx,
        _tools(ctx).btfdedup,
        "shared",
        args,
        inputs = depset(modules, transitive = [bases]),
        outputs = [out],
        mnemonic = "BtfShared",
        progress_message = "Finding types that modules share for %{label}",
        resource_set = _base_resources,
    )

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
    _add_conversion(args, conversion)
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
    _run(
        ctx,
        _tools(ctx, LINK_EXEC_GROUP).btfdedup,
        "modules",
        args,
        threads = _THREADS,
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
    _run(
        ctx,
        _tools(ctx).btfdedup,
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
    _run(
        ctx,
        _tools(ctx).btfdedup,
        "archive",
        args,
        inputs = depset(inputs, transitive = [many]),
        outputs = [out],
        mnemonic = "BtfArchive",
        progress_message = "Archiving BTF %{label}",
        resource_set = _release_resources,
    )

def btf_split(ctx, elf, more, outs, conversion):
    """Declares BtfSplit: the DWARF of a large ELF file or archive in small files for `btf_gen`.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, a linked file or an archive.
        more: list of File, the members of a thin archive.
        outs: list of File to write, the shards.
        conversion: what `conversion_of` returned.
    """
    args = ctx.actions.args()
    args.add_all(outs, before_each = "-o")
    args.add_joined(
        conversion.lang_exclude,
        join_with = ",",
        format_joined = "--lang-exclude=%s",
        omit_if_empty = True,
    )
    args.add(elf)
    _run(
        ctx,
        _tools(ctx).btfgen,
        "split",
        args,
        threads = _THREADS,
        inputs = [elf] + more,
        outputs = outs,
        mnemonic = "BtfSplit",
        progress_message = "Splitting the types of %{input} for %{label}",
        resource_set = _archive_resources,
    )
