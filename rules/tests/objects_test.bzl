"""Tests of btf_objects and of the merge tree."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfObjectsInfo", "btf_objects")
load("//rules/private:merge_tree.bzl", "FAN_IN")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "names", "only_action")

def _one_action_an_object_impl(ctx):
    env = analysistest.begin(ctx)
    gens = actions_of(env, "BtfGen")
    inputs = sorted([elf_inputs(action) for action in gens])
    asserts.equals(env, [["a.o"], ["b.o"], ["lib.a"]], inputs)
    asserts.equals(
        env,
        [
            "object",
            "-j",
            "1",
            "-o",
            "a.o.btfo",
            "--features=var,float",
            "--lang-exclude=rust",
            "a.o",
        ],
        arguments([action for action in gens if elf_inputs(action) == ["a.o"]][0]),
    )
    merge = only_action(env, "BtfMerge")
    asserts.equals(env, ["a.o.btfo", "b.o.btfo", "lib.a.btfo"], elf_inputs(merge))
    asserts.equals(
        env,
        ["merge", "-j", "1", "-o", "merge.btfo", "a.o.btfo", "b.o.btfo", "lib.a.btfo"],
        arguments(merge),
    )
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(env, ["a.o.btfo", "b.o.btfo", "lib.a.btfo"], names(info.objects.to_list()))
    asserts.equals(env, [info.root], info.roots.to_list())
    return analysistest.end(env)

_one_action_an_object_test = analysistest.make(_one_action_an_object_impl)

def _settings_impl(ctx):
    env = analysistest.begin(ctx)
    gen = only_action(env, "BtfGen")
    asserts.equals(
        env,
        [
            "object",
            "-j",
            "1",
            "-o",
            "a.o.btfo",
            "--features=float",
            "--lang-exclude=c++11,rust",
            "a.o",
        ],
        arguments(gen),
    )
    asserts.equals(env, [], actions_of(env, "BtfMerge"))
    return analysistest.end(env)

_settings_test = analysistest.make(
    _settings_impl,
    config_settings = {
        str(Label("//rules/settings:btf_features")): ["float"],
        str(Label("//rules/settings:lang_exclude")): ["c++11", "rust"],
    },
)

def _directory_impl(ctx):
    env = analysistest.begin(ctx)
    by_input = {str(elf_inputs(action)): arguments(action) for action in actions_of(env, "BtfGen")}
    asserts.equals(env, ["object", "-j", "1", "-o", "a.o.btfo"], by_input[str(["a.o"])][:5])

    # One action converts all files of the directory.
    args = by_input[str(["tree.o"])]
    asserts.equals(env, ["object", "-j", "4", "-o", "tree.o.btfo"], args[:5])
    merge = [action for action in actions_of(env, "BtfMerge") if len(elf_inputs(action)) == 2][0]
    asserts.equals(env, ["a.o.btfo", "tree.o.btfo"], elf_inputs(merge))
    return analysistest.end(env)

_directory_test = analysistest.make(_directory_impl)

def _tree_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(outputs = [directory], command = "exit 1")
    return [DefaultInfo(files = depset([directory]))]

_tree = rule(implementation = _tree_impl)

def _merge_tree_impl(ctx):
    env = analysistest.begin(ctx)
    merges = actions_of(env, "BtfMerge")
    asserts.true(env, len(merges) > ctx.attr.objects // FAN_IN, "a tree and not one merge")

    # Every object, and every merge but the last, is read exactly once.
    read = {}
    for merge in merges:
        inputs = elf_inputs(merge)
        asserts.true(env, len(inputs) <= 2 * FAN_IN, "{} inputs of one merge".format(len(inputs)))
        for file in merge.inputs.to_list():
            if file.extension == "btfo":
                read[file] = read.get(file, 0) + 1
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(env, ctx.attr.objects, len(info.objects.to_list()))
    for file in info.objects.to_list() + [merge.outputs.to_list()[0] for merge in merges]:
        want = 0 if file == info.root else 1
        asserts.equals(env, want, read.get(file, 0), "reads of {}".format(file.short_path))
    return analysistest.end(env)

_merge_tree_test = analysistest.make(_merge_tree_impl, attrs = {"objects": attr.int()})

# A new object may change at most this many merges: one for each level of this tree.
_LEVELS = 4

def _new_object_impl(ctx):
    env = analysistest.begin(ctx)

    def merges(actions):
        return {
            action.outputs.to_list()[0].short_path.split(".merge.d/")[-1]: [
                file.short_path.split(".d/")[-1]
                for file in action.inputs.to_list()
                if file.extension == "btfo"
            ]
            for action in actions
            if action.mnemonic == "BtfMerge"
        }

    now = merges(analysistest.target_actions(env))
    before = merges(ctx.attr.before[_ActionsInfo].actions)
    changed = [path for path in now if now[path] != before.get(path)]
    asserts.true(env, len(changed) <= _LEVELS, "a new object changed {}".format(changed))
    asserts.true(env, len(changed) > 0, "a new object changes a merge")
    return analysistest.end(env)

_ActionsInfo = provider(doc = "A target's actions.", fields = {"actions": "list of Action"})

def _actions_aspect_impl(target, _ctx):
    return [_ActionsInfo(actions = target.actions)]

_actions_aspect = aspect(implementation = _actions_aspect_impl)

_new_object_test = analysistest.make(
    _new_object_impl,
    attrs = {"before": attr.label(aspects = [_actions_aspect])},
)

def objects_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for path in ["a.o", "b.o", "lib.a"]:
        write_file(name = path + "_file", out = "objects/" + path, content = [])
    paths = ["tree/drivers/d{}/f{}.o".format(d, f) for d in range(3) for f in range(50)]
    paths += ["tree/few/g{}.o".format(f) for f in range(3)] + ["tree/lib/extra.o"]
    for path in paths:
        write_file(name = path + "_file", out = path, content = [])
    btf_objects(
        name = "three_objects",
        grain = "object",
        srcs = ["objects/a.o", "objects/b.o", "objects/lib.a"],
        btf_features = ["var", "float"],
        lang_exclude = ["rust"],
        tags = ["manual"],
    )
    btf_objects(name = "one_object", srcs = ["objects/a.o"], tags = ["manual"])
    btf_objects(name = "tree", grain = "object", srcs = paths[:-1], tags = ["manual"])
    btf_objects(
        name = "tree_with_more",
        grain = "object",
        srcs = paths + ["objects/a.o"],
        tags = ["manual"],
    )
    _one_action_an_object_test(
        name = "one_action_an_object_test",
        target_under_test = ":three_objects",
    )
    _settings_test(name = "settings_test", target_under_test = ":one_object")
    _tree(name = "objects/tree.o", tags = ["manual"])
    btf_objects(
        name = "directory_objects",
        srcs = ["objects/a.o", ":objects/tree.o"],
        tags = ["manual"],
    )
    _directory_test(name = "directory_test", target_under_test = ":directory_objects")
    _merge_tree_test(name = "merge_tree_test", objects = 153, target_under_test = ":tree")
    _new_object_test(
        name = "new_object_test",
        before = ":tree",
        target_under_test = ":tree_with_more",
    )
    native.test_suite(
        name = name,
        tests = [
            ":one_action_an_object_test",
            ":settings_test",
            ":directory_test",
            ":merge_tree_test",
            ":new_object_test",
        ],
    )
