"""What the analysis tests share."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules/private:debug_files.bzl", "NO_DEBUG_FILE")

def _directory_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(outputs = [out], command = "exit 1")
    return [DefaultInfo(files = depset([out]))]

directory = rule(
    implementation = _directory_impl,
    doc = "A directory whose files are unknown until an action has made it.",
)

def actions_of(env, mnemonic):
    """The actions that the target under test declares with a mnemonic."""
    return [action for action in analysistest.target_actions(env) if action.mnemonic == mnemonic]

def only_action(env, mnemonic):
    """The one action with a mnemonic."""
    found = actions_of(env, mnemonic)
    asserts.equals(env, 1, len(found), "number of {} actions".format(mnemonic))
    return found[0]

def written(env, ending):
    """What the target under test writes to the file whose name has this ending."""
    found = [
        action
        for action in analysistest.target_actions(env)
        if [file for file in action.outputs.to_list() if file.basename.endswith(ending)]
    ]
    asserts.equals(env, 1, len(found), "number of actions that write " + ending)
    return found[0]

def names(files):
    """Sorted base names of a list of File."""
    return sorted([file.basename for file in files])

# Mnemonics of actions whose tools search for more files, unless a flag forbids that.
_LOOKING = ["BtfFacts", "BtfGen", "BtfInline", "BtfModules"]

def arguments(action):
    """The arguments of an action's tool, with base names in place of paths.

    The argument that all actions with the mnemonics in _LOOKING must have is left out.
    """
    found = [argument.rsplit("/", 1)[-1] for argument in action.argv[1:]]
    if action.mnemonic in _LOOKING:
        if NO_DEBUG_FILE not in found:
            fail("{} has unexpected inputs: {}".format(action, found))
        found.remove(NO_DEBUG_FILE)
    return found

_KINDS = ["o", "a", "ko", "btfo", "btf", "btfbase", "facts", "elf", "gz"]

def elf_inputs(action):
    """Base names of the action's inputs without the tool and its parts."""
    return sorted([
        file.basename
        for file in action.inputs.to_list()
        if file.is_directory or file.extension in _KINDS
    ])

def failure_test(message, functions = 1):
    """A test that the analysis of the target under test fails with a message.

    Args:
        message: string.
        functions: how many functions the traceback may have (rules/private/mistakes.bzl).
    """

    def _impl(ctx):
        env = analysistest.begin(ctx)
        asserts.expect_failure(env, message)
        for cause in analysistest.target_under_test(env)[AnalysisFailureInfo].causes.to_list():
            asserts.true(env, cause.message.count("\tFile ") <= functions, cause.message)
        return analysistest.end(env)

    return _impl
