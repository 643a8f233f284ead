"""The actions that read DWARF and linked ELF files."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":debug_files.bzl", "add_debug_files", "debug_files", "debug_inputs")
load(
    ":run.bzl",
    "ENVIRONMENT",
    "EXECUTION_REQUIREMENTS",
    "INPUTS_ALONE",
    "THREADS",
    "add_conversion",
    "add_features",
    "run_tool",
    "tools",
)

def _objects_resources(_os, inputs):
    return {"cpu": 1, "memory": 128 + 2 * inputs}

def _large_resources(_os, _inputs):
    return {"cpu": THREADS, "memory": 1024}

def _facts_resources(_os, _inputs):
    return {"cpu": 1, "memory": 512}

def btf_gen(ctx, elves, out, conversion):
    """Declares BtfGen: the types of ELF objects, or of an archive's members.

    Args:
        ctx: context of a rule or aspect with the toolchain and CONVERSION_SETTINGS.
        elves: list of File: object files, or one archive, linked file or directory of object files.
        out: File to write, a BTF object.
        conversion: what `conversion_of` returned.
    """
    large = elves[0].is_directory or elves[0].extension not in ["ko", "o"]
    args = ctx.actions.args()
    args.add("-o", out)
    add_conversion(args, conversion)
    args.add_all(elves)
    what = "%{input}" if len(elves) == 1 else "%{output}"
    run_tool(
        ctx,
        tools(ctx).btfgen,
        "object",
        args,
        threads = THREADS if large else 1,
        worker = ctx.attr._workers[BuildSettingInfo].value,
        inputs = elves + debug_inputs(elves, conversion.beside),
        outputs = [out],
        mnemonic = "BtfGen",
        progress_message = "Reading types of " + what + " for %{label}",
        resource_set = _large_resources if large else _objects_resources,
    )

def _gen_each(template_ctx, input_directories, output_directories, tools, additional_params, **_):
    for elf in input_directories["objects"].children:
        out = template_ctx.declare_file(
            elf.tree_relative_path + ".btfo",
            directory = output_directories["converted"],
        )
        args = template_ctx.args()
        args.add("object")
        args.add("-j", 1)
        args.add("-o", out)
        args.add_all(INPUTS_ALONE)
        for flag in ["features", "input", "lang-exclude"]:
            if additional_params[flag]:
                args.add("--{}={}".format(flag, additional_params[flag]))
        if additional_params["skip-unencodable"]:
            args.add("--skip-unencodable")
        args.add(elf)
        template_ctx.run(
            executable = tools["btfgen"],
            inputs = [elf],
            outputs = [out],
            arguments = [args],
            progress_message = "Reading types of %{input}",
        )

def btf_gen_each(ctx, directory, out, conversion):
    """Declares a BtfGen for each file of a directory, once it is known which there are.

    Follows the documentation of Bazel 9; it has not run there yet.

    Args:
        ctx: context of a rule or aspect with the toolchain, of a Bazel that has
            `ctx.actions.map_directory`.
        directory: File, a directory of object files and archives.
        out: File to write, a directory with a BTF object for each.
        conversion: what `conversion_of` returned.
    """
    ctx.actions.map_directory(
        implementation = _gen_each,
        input_directories = {"objects": directory},
        output_directories = {"converted": out},
        tools = {"btfgen": tools(ctx).btfgen},
        additional_params = {
            "features": ",".join(conversion.btf_features),
            "input": conversion.input,
            "lang-exclude": ",".join(conversion.lang_exclude),
            "skip-unencodable": conversion.skip_unencodable,
        },
        env = ENVIRONMENT,
        execution_requirements = EXECUTION_REQUIREMENTS,
        mnemonic = "BtfGen",
        toolchain = TOOLCHAIN_TYPE,
    )

def btf_facts(ctx, elf, out, features, beside = debug_files()):
    """Declares BtfFacts: what only a linked ELF knows.

    Args:
        ctx: context of a rule with the toolchain.
        elf: File, vmlinux or a module.
        out: File to write, text.
        features: list of string, what the objects of the link were converted with.
        beside: what `debug_files_of` returned, of the ELF file.
    """
    args = ctx.actions.args()
    args.add("-o", out)
    args.add_all(INPUTS_ALONE)
    add_debug_files(args, beside)
    add_features(args, features)
    args.add(elf)
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
    run_tool(
        ctx,
        tools(ctx).btfgen,
        "split",
        args,
        threads = THREADS,
        inputs = [elf] + more,
        outputs = outs,
        mnemonic = "BtfSplit",
        progress_message = "Splitting the types of %{input} for %{label}",
        resource_set = _large_resources,
    )
