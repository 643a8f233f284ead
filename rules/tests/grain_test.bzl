"""Tests of grain: which objects are converted together."""

load("@bazel_skylib//lib:paths.bzl", "paths")
load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//rules:defs.bzl", "BtfObjectsInfo", "btf_objects", "cc_btf")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names")

def _groups(actions):
    """The sources of each BtfGen action, by the action's output."""
    return {
        action.outputs.to_list()[0].short_path.split(".btfo.d/")[-1]: sorted([
            file.short_path
            for file in action.inputs.to_list()
            if file.extension in ["a", "ko", "o"]
        ])
        for action in actions
        if action.mnemonic == "BtfGen"
    }

def _groups_impl(ctx):
    env = analysistest.begin(ctx)
    groups = _groups(analysistest.target_actions(env))
    read = {}
    for out, sources in groups.items():
        asserts.true(env, len(sources) <= 2 * ctx.attr.most, "{}: {}".format(out, sources))
        for source in sources:
            read[source] = read.get(source, 0) + 1
            if len(sources) > 1:
                asserts.true(env, source.endswith(".o"), "{} has {}".format(out, source))
            below = source.split("grain/")[-1]
            within = paths.dirname(out.split("grain/")[-1])
            asserts.true(env, paths.dirname(below).startswith(within), out + " has " + source)
            if not ctx.attr.joins:
                asserts.equals(env, within, paths.dirname(below))
    asserts.equals(env, ctx.attr.objects, len(read))
    asserts.equals(env, [1], {n: None for n in read.values()}.keys())
    asserts.equals(env, ctx.attr.groups, len(groups))
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(env, ctx.attr.groups, len(info.objects.to_list()))
    return analysistest.end(env)

_groups_test = analysistest.make(_groups_impl, attrs = {
    "groups": attr.int(doc = "how many there are"),
    "joins": attr.bool(doc = "whether small directories are joined"),
    "most": attr.int(),
    "objects": attr.int(),
})

_ActionsInfo = provider(doc = "A target's actions.", fields = {"actions": "list of Action"})

def _actions_aspect_impl(target, _ctx):
    return [_ActionsInfo(actions = target.actions)]

_actions_aspect = aspect(implementation = _actions_aspect_impl)

def _new_object_impl(ctx):
    env = analysistest.begin(ctx)
    now = _groups(analysistest.target_actions(env))
    before = _groups(ctx.attr.before[_ActionsInfo].actions)
    asserts.equals(env, before.keys(), now.keys())
    changed = [out for out in now if now[out] != before[out]]
    asserts.equals(env, 1, len(changed), "a new object changed {}".format(changed))
    asserts.equals(env, 1, len(now[changed[0]]) - len(before[changed[0]]))
    return analysistest.end(env)

_new_object_test = analysistest.make(
    _new_object_impl,
    attrs = {"before": attr.label(aspects = [_actions_aspect])},
)

def _arguments_impl(ctx):
    env = analysistest.begin(ctx)
    gens = {elf_inputs(action)[0]: action for action in actions_of(env, "BtfGen")}
    asserts.equals(env, ["lib.a", "x.o"], sorted(gens.keys()))
    asserts.equals(env, ["x.o", "y.o"], elf_inputs(gens["x.o"]))
    asserts.equals(
        env,
        ["object", "-j", "1", "-o", "group.0of1.btfo", "x.o", "y.o"],
        arguments(gens["x.o"]),
    )
    asserts.equals(
        env,
        ["object", "-j", "1", "-o", "lib.a.btfo", "lib.a"],
        arguments(gens["lib.a"]),
    )
    return analysistest.end(env)

_arguments_test = analysistest.make(_arguments_impl)

def _names_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(env, ctx.attr.want, [
        name.replace(".pic.o", ".o")
        for name in names(info.objects.to_list())
    ])
    return analysistest.end(env)

_NAMES_ATTRS = {"want": attr.string_list()}
_SETTING = str(Label("//rules/settings:grain"))
_names_test = analysistest.make(_names_impl, attrs = _NAMES_ATTRS)
_names_object_test = analysistest.make(
    _names_impl,
    attrs = _NAMES_ATTRS,
    config_settings = {_SETTING: "object"},
)
_names_number_test = analysistest.make(
    _names_impl,
    attrs = _NAMES_ATTRS,
    config_settings = {_SETTING: "8"},
)

_bad_attribute_test = analysistest.make(
    failure_test("grain is \"some\"; expected \"object\", \"directory\" or a positive number"),
    expect_failure = True,
)
_bad_setting_test = analysistest.make(
    failure_test("rules/settings:grain is \"0\"; expected"),
    expect_failure = True,
    config_settings = {_SETTING: "0"},
)

def grain_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    many = ["grain/drivers/d{}/f{}.o".format(d, f) for d in range(2) for f in range(50)]
    few = ["grain/drivers/few{}/g{}.o".format(d, f) for d in range(4) for f in range(3)]
    archives = ["grain/lib.a", "grain/drivers/few0/lib.a"]
    srcs = many + few + archives
    for path in srcs + ["grain/x.o", "grain/y.o", "grain/drivers/d0/new.o"]:
        write_file(name = path + "_file", out = path, content = [])
    for file in ["one", "two"]:
        write_file(name = "grain_" + file + "_c", out = "grain/" + file + ".c", content = [])
    tests = []

    targets = {
        "grain_object": ("object", srcs),
        "grain_16": ("16", srcs),
        "grain_16_more": ("16", srcs + ["grain/drivers/d0/new.o"]),
        "grain_directory": ("directory", srcs),
        "grain_bad": ("some", ["grain/x.o"]),
        "grain_pair": ("4", ["grain/x.o", "grain/y.o", "grain/lib.a"]),
    }
    for target, (grain, files) in targets.items():
        btf_objects(name = target, grain = grain, srcs = files, tags = ["manual"])
    btf_objects(name = "grain_by_setting", srcs = ["grain/x.o"], tags = ["manual"])
    cc_library(
        name = "grain_library",
        srcs = ["grain/one.c", "grain/two.c", "grain/lib.a"],
        tags = ["manual"],
    )
    cc_btf(name = "grain_cc", tags = ["manual"], deps = [":grain_library"])

    counts = {
        # Two directories with 4 groups each, one group for the small directories, and two archives.
        "grain_16": (16, True, 8 + 1 + 2),
        "grain_directory": (128, False, 2 + 4 + 2),
        "grain_object": (1, False, 100 + 12 + 2),
    }
    for target, (most, joins, groups) in counts.items():
        tests.append(target + "_test")
        _groups_test(
            name = target + "_test",
            groups = groups,
            joins = joins,
            most = most,
            objects = len(srcs),
            target_under_test = target,
        )
    _new_object_test(
        name = "grain_new_object_test",
        before = ":grain_16",
        target_under_test = ":grain_16_more",
    )
    _arguments_test(name = "grain_arguments_test", target_under_test = ":grain_pair")
    _names_object_test(
        name = "grain_cc_object_test",
        want = ["lib.a.btfo", "one.o.btfo", "two.o.btfo"],
        target_under_test = ":grain_cc",
    )
    _names_number_test(
        name = "grain_cc_number_test",
        want = ["group.0of1.btfo", "lib.a.btfo"],
        target_under_test = ":grain_cc",
    )
    _names_test(
        name = "grain_alone_test",
        want = ["x.o.btfo"],
        target_under_test = ":grain_by_setting",
    )
    _bad_attribute_test(name = "grain_bad_attribute_test", target_under_test = ":grain_bad")
    _bad_setting_test(name = "grain_bad_setting_test", target_under_test = ":grain_by_setting")
    native.test_suite(name = name, tests = tests + [
        "grain_new_object_test",
        "grain_arguments_test",
        "grain_cc_object_test",
        "grain_cc_number_test",
        "grain_alone_test",
        "grain_bad_attribute_test",
        "grain_bad_setting_test",
    ])
