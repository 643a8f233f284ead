"""How actions run. The functions that declare actions, one for each mnemonic, are in
convert_actions.bzl, link_actions.bzl, module_actions.bzl and program_actions.bzl.

Every action runs a static tool with a parameter file, without a shell, in the same way on every
machine. No output contains a path, so every action supports path mapping. An action runs as many
threads (-j) as it reserves CPUs.
"""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":debug_files.bzl", "add_debug_files")

visibility(["//kbuild/...", "//rules/..."])

# The large actions have an exec group, so that a user can choose their machine:
# exec_properties = {"btf_link.mem": "16g"}.
LINK_EXEC_GROUP = "btf_link"
LINK_EXEC_GROUPS = {LINK_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}

# Tests run in the group that Bazel calls "test". If a rule didn't declare this group, Bazel 9 would
# run its tests only on machines like the target platform, and would refuse to build the tests of a
# kernel for another machine.
TEST_EXEC_GROUP = "test"
TEST_EXEC_GROUPS = {TEST_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}

# This is the number of threads of large actions; other actions use one thread. It is part of the
# command line, so it must be the same on all machines.
# Rule: threads of a Bazel action.
THREADS = 4

# This variable makes the tools write messages for users of the rules. It changes no output.
ENVIRONMENT = {"RULES_BTF_ACTION": "1"}

# With this variable, Go's runtime starts fewer threads for a tool that works on one thread.
ONE_THREAD = ENVIRONMENT | {"GOMAXPROCS": "1"}

EXECUTION_REQUIREMENTS = {"supports-path-mapping": "1"}

def tools(ctx, exec_group = None):
    """Returns BtfToolchainInfo: the tools of the toolchain, for an exec group if one is given."""
    toolchains = ctx.exec_groups[exec_group].toolchains if exec_group else ctx.toolchains
    return toolchains[TOOLCHAIN_TYPE].btf

def tool_mistake(ctx, name, exec_group = None):
    """What is wrong if the toolchain lacks a tool that it need not have: string, or None."""
    if getattr(tools(ctx, exec_group), name):
        return None
    return "the toolchain has no {0}: set the attribute {0} of its btf_toolchain".format(name)

def for_kernel(ctx):
    """Whether a target may be large, as a kernel is: a target on a base is a module."""
    return not hasattr(ctx.attr, "base")

def run_tool(ctx, tool, verb, args, threads = 1, exec_group = None, **kwargs):
    """Declares an action that runs a verb of a tool.

    Args:
        ctx: context of a rule or aspect with the toolchain.
        tool: FilesToRunProvider or File, from `tools`.
        verb: string.
        args: Args, which go into a parameter file.
        threads: int, the value of `-j`.
        exec_group: string or None, the exec group whose platform runs the action.
        **kwargs: arguments of `ctx.actions.run`: inputs, outputs, mnemonic and more.
    """
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    ctx.actions.run(
        executable = tool,
        arguments = [verb, "-j", str(threads), args],
        env = ONE_THREAD if threads == 1 else ENVIRONMENT,
        execution_requirements = EXECUTION_REQUIREMENTS,
        exec_group = exec_group,
        toolchain = TOOLCHAIN_TYPE,
        **kwargs
    )

def add_features(args, features):
    """Adds `--features`, unless the list of features is empty."""
    if features:
        args.add_joined(features, join_with = ",", format_joined = "--features=%s")

def add_conversion(args, elves, conversion):
    """Adds the flags of `btfgen object` for what `conversion_of` returned.

    Args:
        args: Args.
        elves: list of File, what the action converts.
        conversion: what `conversion_of` returned.
    """
    if conversion.input != "auto":
        args.add(conversion.input, format = "--input=%s")
    add_dwarf(args, elves, conversion)

def add_dwarf(args, elves, conversion):
    """Like `add_conversion`, for a verb that reads only DWARF."""
    add_debug_files(args, elves, conversion.beside)
    add_features(args, conversion.btf_features)
    if conversion.lang_exclude:
        args.add_joined(
            conversion.lang_exclude,
            join_with = ",",
            format_joined = "--lang-exclude=%s",
        )
