"""The actions on BTF objects and on BTF."""

load(":arguments.bzl", "add_files")
load(":exec_groups.bzl", "LINK_EXEC_GROUP")
load(":run.bzl", "THREADS", "for_kernel", "run_tool", "tools")

visibility("//rules/...")

def _merge_resources(_os, inputs):
    return {"cpu": 1, "memory": 64 + 8 * inputs}

def _base_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _import_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _module_resources(_os, inputs):
    return {"cpu": 1, "memory": 256 + 8 * inputs}

def _link_resources(_os, inputs):
    return {"cpu": THREADS, "memory": 512 + 8 * inputs}

def btf_merge(ctx, objects, out):
    """Declares BtfMerge: merges several BTF objects into one.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        objects: list of File.
        out: File to write.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    add_files(args, objects)
    run_tool(
        ctx,
        tools(ctx).btfdedup,
        "merge",
        args,
        inputs = objects,
        outputs = [out],
        mnemonic = "BtfMerge",
        progress_message = "Merging types of %{label}: %{output}",
        resource_set = _merge_resources,
    )

# Rule: cut-off: why nothing is linked again after an edit of a function body. BTF objects and facts
# have neither code nor addresses, and the linked file is no input.
def btf_link(
        ctx,
        objects,
        out,
        skipped,
        facts = None,
        bases = depset(),
        distilled = None,
        variables = "",
        strict = False):
    """Declares BtfLink: the final BTF. The rule needs SETTINGS_ATTRS.

    A kernel's rule also needs LINK_EXEC_GROUPS. The link of a module is small: it takes 17 to 35 MB
    on an index of Debian's kernel, and 88 MB with a distilled base.

    Args:
        ctx: context of a rule with the toolchain.
        objects: depset of File, BTF objects.
        out: File to write, raw BTF.
        skipped: File to write, what was left out and why.
        facts: File or None, link facts.
        bases: depset of File, the chain of BTF that out is based on, deepest first.
        distilled: File to write or None, a distilled base. If set, out is based on it.
        variables: which variables to encode: a value of `btfdedup link --variables`; empty if the
            features of the objects decide.
        strict: bool, whether it is an error if the linked file contains nothing from an object.
    """
    kernel = for_kernel(ctx)
    exec_group = LINK_EXEC_GROUP if kernel else None
    args = ctx.actions.args()
    args.add("-o", out)
    if strict:
        args.add("--strict")
    if variables:
        args.add("--variables", variables)
    if distilled:
        args.add("--distilled-base", distilled)
    args.add("--skipped", skipped)
    if facts:
        args.add("--facts", facts)
    args.add_all(bases, before_each = "--base")
    add_files(args, objects)
    run_tool(
        ctx,
        tools(ctx, exec_group).btfdedup,
        "link",
        args,
        threads = THREADS if kernel else 1,
        exec_group = exec_group,
        inputs = depset([facts] if facts else [], transitive = [objects, bases]),
        outputs = [out, skipped] + ([distilled] if distilled else []),
        mnemonic = "BtfLink",
        progress_message = "Linking BTF %{label}",
        resource_set = _link_resources if kernel else _module_resources,
    )

def _on_bases(ctx, verb, src, out, bases, flags = [], **kwargs):
    """Declares an action that makes one file from a file and the chain of its bases.

    Args:
        ctx: context of a rule with the toolchain.
        verb: string, a verb of btfdedup.
        src: File.
        out: File to write.
        bases: depset of File, the chain of BTF that src is based on, deepest first.
        flags: list of string, flags of the verb.
        **kwargs: arguments of `run_tool`: mnemonic, progress_message and resource_set.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(flags)
    args.add_all(bases, before_each = "--base")
    add_files(args, [src])
    run_tool(
        ctx,
        tools(ctx).btfdedup,
        verb,
        args,
        inputs = depset([src], transitive = [bases]),
        outputs = [out],
        **kwargs
    )

def btf_base(ctx, btf, out, bases):
    """Declares BtfBase: makes an index of BTF, which links of split BTF read in place of the BTF.

    Args:
        ctx: context of a rule with the toolchain.
        btf: File, raw BTF.
        out: File to write.
        bases: depset of File, the chain of BTF that btf is based on, deepest first.
    """
    _on_bases(
        ctx,
        "index",
        btf,
        out,
        bases,
        mnemonic = "BtfBase",
        progress_message = "Indexing BTF %{input} for %{label}",
        resource_set = _base_resources,
    )

def btf_import_action(ctx, src, out, bases):
    """Declares BtfImport: extracts BTF, unchanged, from a kernel image or a module.

    Args:
        ctx: context of a rule with the toolchain.
        src: File, a kernel image, an ELF file or raw BTF.
        out: File to write, raw BTF.
        bases: depset of File, the chain of BTF that src is based on, deepest first.
    """
    _on_bases(
        ctx,
        "import",
        src,
        out,
        bases,
        mnemonic = "BtfImport",
        progress_message = "Importing BTF of %{input} for %{label}",
        resource_set = _import_resources,
    )

# Rule: --old-base: default of the attribute old_base.
def btf_old_base(ctx, vmlinux, out):
    """Declares BtfImport: extracts the BTF that a vmlinux already has.

    Args:
        ctx: context of a rule with the toolchain.
        vmlinux: File, a linked kernel.
        out: File to write, raw BTF; an empty file if vmlinux has none.
    """
    _on_bases(
        ctx,
        "import",
        vmlinux,
        out,
        depset(),
        flags = ["--for-old-base"],
        mnemonic = "BtfImport",
        progress_message = "Importing BTF of %{input} for %{label}",
        resource_set = _import_resources,
    )

def btf_header(ctx, btf, out, bases):
    """Declares BtfHeader: BTF as a C header.

    Args:
        ctx: context of a rule with the toolchain.
        btf: File, raw BTF.
        out: File to write.
        bases: depset of File, the chain of BTF that btf is based on, deepest first.
    """
    _on_bases(
        ctx,
        "dump",
        btf,
        out,
        bases,
        flags = ["--format=c"],
        mnemonic = "BtfHeader",
        progress_message = "Writing %{output} for %{label}",
        resource_set = _import_resources,
    )
