"""The actions that read DWARF and linked ELF files."""

load(":arguments.bzl", "add_files")
load(":conversion.bzl", "add_conversion", "add_dwarf", "add_features", "with_features")
load(":debug_files.bzl", "add_debug_files", "debug_files", "debug_inputs")
load(":exec_groups.bzl", "LINK_EXEC_GROUP")
load(":run.bzl", "THREADS", "for_kernel", "run_tool", "tools")

visibility("//rules/...")

def _objects_resources(_os, inputs):
    return {"cpu": 1, "memory": 128 + 2 * inputs}

def _large_resources(_os, _inputs):
    return {"cpu": THREADS, "memory": 1024}

def _module_inline_resources(_os, _inputs):
    return {"cpu": 1, "memory": 256}

def _facts_resources(_os, _inputs):
    return {"cpu": 1, "memory": 128}

# Rule: threads of a Bazel action. Of a conversion.
def size_of(elf, beside, kernel):
    """The threads and resources for the conversion of an ELF file.

    Directories, thin archives and linked kernels may be large. Objects and modules are small, and
    so are most archives that hold their members.

    Args:
        elf: File, the first one that an action converts.
        beside: what `debug_files_of` returned.
        kernel: bool, what `for_kernel` returned.

    Returns:
        struct of `threads` (int, the value of `-j`) and `resource_set`, which reserves as many
        CPUs.
    """
    if elf.extension == "a" and not elf.is_directory:
        large = bool(beside.members)
    else:
        linked = elf.basename.removesuffix(".debug")
        large = elf.is_directory or not linked.endswith(".ko") and elf.extension != "o"
    if kernel and large:
        return struct(threads = THREADS, resource_set = _large_resources)
    return struct(threads = 1, resource_set = _objects_resources)

# Rule: BtfGen: flags of the action. add_conversion in conversion.bzl has the shared ones.
def btf_gen(ctx, elves, out, conversion):
    """Declares BtfGen: the types of ELF objects, or of an archive's members.

    Args:
        ctx: context of a rule or aspect with the toolchain and SETTINGS_ATTRS.
        elves: list of File: object files, or one archive, linked file or directory of object files.
        out: File to write, a BTF object.
        conversion: what `conversion_of` returned.
    """
    size = size_of(elves[0], conversion.beside, for_kernel(ctx))
    args = ctx.actions.args()
    args.add("-o", out)
    add_conversion(args, elves, conversion)
    add_files(args, elves)
    what = "%{input}" if len(elves) == 1 else "%{output}"
    run_tool(
        ctx,
        tools(ctx).btfgen,
        "object",
        args,
        threads = size.threads,
        inputs = elves + debug_inputs(elves, conversion.beside),
        outputs = [out],
        mnemonic = "BtfGen",
        progress_message = "Reading types of " + what + " for %{label}",
        resource_set = size.resource_set,
    )

def btf_facts(ctx, elf, out, features, beside = debug_files()):
    """Declares BtfFacts: what only the linked ELF file shows.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, vmlinux or a module.
        out: File to write, text.
        features: list of string, the features with which the objects of the link were converted.
        beside: what `debug_files_of` returned for the ELF file.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    add_debug_files(args, [elf], beside)
    add_features(args, features)
    add_files(args, [elf])
    run_tool(
        ctx,
        tools(ctx).btfgen,
        "facts",
        args,
        inputs = [elf] + debug_inputs([elf], beside),
        outputs = [out],
        mnemonic = "BtfFacts",
        progress_message = "Reading link facts of %{input} for %{label}",
        resource_set = _facts_resources,
    )

def btf_inline(ctx, elf, out, skipped, bases, conversion, features):
    """Declares BtfInline: where functions were inlined. A kernel's rule needs LINK_EXEC_GROUPS.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, vmlinux or a module.
        out: File to write, raw BTF.
        skipped: File to write, how many locations are unknown and why.
        bases: depset of File, the chain of BTF that out is based on, deepest first; the last one is
            the BTF of elf.
        conversion: what `conversion_of` returned.
        features: list of string, the features of the BTF of elf.
    """
    kernel = for_kernel(ctx)
    exec_group = LINK_EXEC_GROUP if kernel else None
    args = ctx.actions.args()
    args.add("-o", out)
    args.add("--skipped", skipped)
    args.add_all(bases, before_each = "--base")
    add_dwarf(args, [elf], with_features(conversion, features))
    add_files(args, [elf])
    run_tool(
        ctx,
        tools(ctx, exec_group).btfgen,
        "inline",
        args,
        threads = THREADS if kernel else 1,
        exec_group = exec_group,
        inputs = depset([elf] + debug_inputs([elf], conversion.beside), transitive = [bases]),
        outputs = [out, skipped],
        mnemonic = "BtfInline",
        progress_message = "Finding inlined functions in %{input} for %{label}",
        resource_set = _large_resources if kernel else _module_inline_resources,
    )
