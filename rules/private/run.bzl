"""How actions run. The functions that declare them are in convert_actions.bzl, link_actions.bzl and
module_actions.bzl, one for each mnemonic.

Every action runs a static tool with a parameter file, without a shell, in the same way on every
machine. Each supports path mapping, because no path reaches an output. Each runs as many threads
(-j) as it reserves CPUs.
"""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":debug_files.bzl", "add_debug_files")

# The exec group of the large actions, so that a user can choose their machine:
# exec_properties = {"btf_link.mem": "16g"}.
LINK_EXEC_GROUP = "btf_link"
LINK_EXEC_GROUPS = {LINK_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}

# The threads of large actions; others get one. It is part of the command line, so the same
# everywhere.
THREADS = 4

# Tells the tools that a message is for a user of the rules. It reaches no output.
ENVIRONMENT = {"RULES_BTF_ACTION": "1"}

EXECUTION_REQUIREMENTS = {"supports-path-mapping": "1"}

# For actions that may run in a worker, which serves many requests at a time. They don't map paths,
# because Bazel 7.7 starts a worker without a sandbox by its mapped path, which doesn't exist.
_WORKER_REQUIREMENTS = {
    "requires-worker-protocol": "proto",
    "supports-multiplex-sandboxing": "1",
    "supports-multiplex-workers": "1",
    "supports-worker-cancellation": "1",
}

def tools(ctx, exec_group = None):
    """The tools of the toolchain, for an exec group if one is named: BtfToolchainInfo."""
    toolchains = ctx.exec_groups[exec_group].toolchains if exec_group else ctx.toolchains
    return toolchains[TOOLCHAIN_TYPE].btf

def run_tool(ctx, tool, verb, args, threads = 1, exec_group = None, worker = False, **kwargs):
    """Declares an action that runs a verb of a tool.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        tool: FilesToRunProvider or File, of `tools`.
        verb: string.
        args: Args, which go into a parameter file.
        threads: int, what `-j` gets.
        exec_group: string or None, the exec group whose platform runs it.
        worker: bool, whether it may run in a persistent worker.
        **kwargs: of `ctx.actions.run`: inputs, outputs, mnemonic and more.
    """
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    command = ctx.actions.args()
    command.add(verb)
    command.add("-j", threads)
    ctx.actions.run(
        executable = tool,
        arguments = [command, args],
        env = ENVIRONMENT,
        execution_requirements = _WORKER_REQUIREMENTS if worker else EXECUTION_REQUIREMENTS,
        exec_group = exec_group,
        toolchain = TOOLCHAIN_TYPE,
        **kwargs
    )

def add_features(args, features):
    """Adds `--features`, if there are any (list of string)."""
    args.add_joined(
        features,
        join_with = ",",
        format_joined = "--features=%s",
        omit_if_empty = True,
    )

def add_conversion(args, elves, conversion):
    """Adds the flags of `btfgen object` for what `conversion_of` returned.

    Args:
        args: Args.
        elves: list of File, what the action converts.
        conversion: what `conversion_of` returned.
    """
    if conversion.input != "auto":
        args.add(conversion.input, format = "--input=%s")
    add_debug_files(args, elves, conversion.beside)
    add_features(args, conversion.btf_features)
    args.add_joined(
        conversion.lang_exclude,
        join_with = ",",
        format_joined = "--lang-exclude=%s",
        omit_if_empty = True,
    )
    if conversion.skip_unencodable:
        args.add("--skip-unencodable")
