"""Tests that each file is read once, whatever its name, its package and its configuration."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "BtfObjectsInfo", "btf_objects", "cc_btf", "vmlinux_btf")
load("//rules/tests:common.bzl", "actions_of", "failure_test")

_FLAG = "//rules/tests/keys:variant"

def _variant_impl(_settings, attr):
    return {_FLAG: attr.variant}

_transition = transition(implementation = _variant_impl, inputs = [], outputs = [_FLAG])

def _in_variant_impl(ctx):
    dep = ctx.attr.dep[0]
    files = DefaultInfo(files = dep[DefaultInfo].files)
    return [files] + [dep[provider] for provider in [BtfObjectsInfo, CcInfo] if provider in dep]

in_variant = rule(
    implementation = _in_variant_impl,
    doc = "Forwards a target that is built with a different value of a flag.",
    attrs = {
        "dep": attr.label(allow_files = True, cfg = _transition, mandatory = True),
        "variant": attr.string(mandatory = True),
    },
)

def read_by(actions, mnemonic, extensions):
    """By path: how many actions with the mnemonic read each file that has one of the extensions."""
    read = {}
    for action in actions:
        if action.mnemonic != mnemonic:
            continue
        for file in action.inputs.to_list():
            if file.extension in extensions:
                read[file.path] = read.get(file.path, 0) + 1
    return read

def _once_impl(ctx):
    env = analysistest.begin(ctx)
    read = read_by(analysistest.target_actions(env), "BtfGen", ["bzl", "o"])
    asserts.equals(env, ctx.attr.files, len(read), "files of " + str(read))
    asserts.equals(env, [1], {times: None for times in read.values()}.keys() or [1])

    # Each BTF object is written once and read once.
    written = len(actions_of(env, "BtfGen")) + len(actions_of(env, "BtfMerge"))
    merged = {}
    for mnemonic in ["BtfMerge", "BtfLink"]:
        for path, times in read_by(analysistest.target_actions(env), mnemonic, ["btfo"]).items():
            merged[path] = merged.get(path, 0) + times
    asserts.equals(env, ctx.attr.given + written - ctx.attr.roots, len(merged), str(merged))
    asserts.equals(env, [1], {times: None for times in merged.values()}.keys() or [1])
    return analysistest.end(env)

_ATTRS = {
    "files": attr.int(doc = "how many object files the actions convert"),
    "given": attr.int(doc = "how many BTF objects exist already and are not converted here"),
    "roots": attr.int(default = 1, doc = "how many BTF objects are not read by any action"),
}
_SETTING = str(Label("//rules/settings:grain"))
_once_object_test = analysistest.make(
    _once_impl,
    attrs = _ATTRS,
    config_settings = {_SETTING: "object"},
)
_once_group_test = analysistest.make(
    _once_impl,
    attrs = _ATTRS,
    config_settings = {_SETTING: "16"},
)

def _outputs(actions):
    """The inputs of each BtfGen action, by the action's output."""
    return {
        action.outputs.to_list()[0].short_path.split(".btfo.d/")[-1]: [
            file.path
            for file in action.inputs.to_list()
            if file.extension in ["bzl", "o"]
        ]
        for action in actions
        if action.mnemonic == "BtfGen"
    }

_ActionsInfo = provider(doc = "A target's actions.", fields = {"actions": "list of Action"})

def _actions_aspect_impl(target, _ctx):
    return [_ActionsInfo(actions = target.actions)]

_actions_aspect = aspect(implementation = _actions_aspect_impl)

def _new_files_impl(ctx):
    env = analysistest.begin(ctx)
    now = _outputs(analysistest.target_actions(env))
    before = _outputs(ctx.attr.before[_ActionsInfo].actions)
    asserts.equals(env, ctx.attr.files, len(now))
    for out, inputs in before.items():
        asserts.equals(env, inputs, now.get(out), out)
    return analysistest.end(env)

_new_files_test = analysistest.make(
    _new_files_impl,
    attrs = {"before": attr.label(aspects = [_actions_aspect]), "files": attr.int()},
)

_group_name_test = analysistest.make(
    failure_test("group.0of1 has the same name as a group of objects", functions = 3),
    expect_failure = True,
)

def keys_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """

    # Files whose path in this package equals the path of another file in the workspace.
    outside = "rules/tests/cc/precompiled.o"
    write_file(name = "keys_below", out = outside, content = [])
    write_file(name = "keys_at", out = ":@" + outside, content = [])
    external = Label("@bazel_skylib//lib:paths")  # its only file is paths.bzl
    repository = external.workspace_root + "/lib/paths.bzl"
    write_file(name = "keys_external", out = repository, content = [])
    for file in ["one", "two"]:
        write_file(name = "keys_" + file + "_c", out = "keys_cc/" + file + ".c", content = [])
        write_file(name = "keys_" + file + "_o", out = "keys_cc/" + file + ".o", content = [])
    cc_library(name = "keys_library_below", srcs = [outside], tags = ["manual"])
    cc_library(name = "keys_one", srcs = ["keys_cc/one.c"], tags = ["manual"])
    for i in ["1", "2"]:
        in_variant(
            name = "keys_one_o_" + i,
            dep = "keys_cc/one.o",
            tags = ["manual"],
            variant = i,
        )
        in_variant(name = "keys_one_" + i, dep = ":keys_one", tags = ["manual"], variant = i)
        in_variant(name = "keys_merged_" + i, dep = ":keys_merged", tags = ["manual"], variant = i)
    btf_objects(
        name = "keys_merged",
        srcs = ["keys_cc/one.o", "keys_cc/two.o"],
        tags = ["manual"],
    )

    same_path = [
        outside,
        ":@" + outside,
        "//rules/tests:cc/precompiled.o",
        repository,
        external,
    ]
    same_label = ["keys_cc/one.o", ":keys_one_o_1", ":keys_one_o_2", "keys_cc/two.o"]
    for kind, srcs in {"configurations": same_label, "packages": same_path}.items():
        btf_objects(name = "keys_objects_" + kind, srcs = srcs, tags = ["manual"])
        vmlinux_btf(name = "keys_vmlinux_" + kind, srcs = srcs, tags = ["manual"])
    vmlinux_btf(
        name = "keys_vmlinux_merged",
        srcs = [":keys_merged", ":keys_merged_1", ":keys_merged_2"],
        tags = ["manual"],
    )
    cc_btf(
        name = "keys_cc_packages",
        btf_features = ["default", "global_var"],
        tags = ["manual"],
        deps = [":keys_library_below", "//rules/tests:bottom"],
    )

    # Neither added files nor the order of files changes the path of another file's BTF object.
    few = ["keys_cc/one.o", outside]
    btf_objects(name = "keys_few", grain = "object", srcs = few, tags = ["manual"])
    btf_objects(
        name = "keys_more",
        grain = "object",
        srcs = reversed(same_label + same_path),
        tags = ["manual"],
    )

    write_file(name = "keys_group", out = "group.0of1", content = [])
    btf_objects(
        name = "keys_objects_group",
        grain = "16",
        srcs = ["keys_cc/one.o", "keys_cc/two.o", "group.0of1"],
        tags = ["manual"],
    )
    _group_name_test(name = "keys_group_name_test", target_under_test = ":keys_objects_group")

    # For each target: the values of the test's attributes `files`, `given` and `roots`.
    cases = {
        "keys_cc_packages": (4, 0, 1),
        "keys_objects_configurations": (4, 0, 1),
        "keys_objects_packages": (5, 0, 1),
        "keys_vmlinux_configurations": (4, 0, 0),
        "keys_vmlinux_merged": (0, 3, 0),
        "keys_vmlinux_packages": (5, 0, 0),
    }
    tests = ["keys_group_name_test", "keys_new_files_test"]
    _new_files_test(
        name = "keys_new_files_test",
        before = ":keys_few",
        files = 9,
        target_under_test = ":keys_more",
    )
    for target, (files, given, roots) in cases.items():
        for grain, test in {"group": _once_group_test, "object": _once_object_test}.items():
            tests.append(target + "_" + grain + "_test")
            test(
                name = tests[-1],
                files = files,
                given = given,
                roots = roots,
                target_under_test = target,
            )
    native.test_suite(name = name, tests = tests)
