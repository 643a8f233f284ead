"""How actions run. The functions that declare actions, one for each mnemonic, are in
convert_actions.bzl, link_actions.bzl, module_actions.bzl and program_actions.bzl.

Every action runs a static tool with a parameter file, without a shell, in the same way on every
machine. No output contains a path, so every action supports path mapping. An action runs as many
threads (-j) as it reserves CPUs.
"""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")

visibility(["//kbuild/...", "//rules/..."])

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
    """What is wrong if the toolchain lacks this tool, which is optional: string, or None."""
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
