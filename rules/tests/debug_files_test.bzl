"""Tests of the attributes input and debug, and of split DWARF in cc_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "btf_objects", "modules_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "arguments", "only_action")

_KINDS = ["a", "o", "dwo", "dwp", "debug", "sup", "elf"]

def _inputs(action):
    """Base names of the ELF files that an action reads."""
    return sorted([file.basename for file in action.inputs.to_list() if file.extension in _KINDS])

def _split_dwarf_impl(ctx):
    env = analysistest.begin(ctx)

    # An object's .dwo file is an input of that object's action; the action of an archive reads all
    # of these files, because it may need any of them.
    asserts.equals(
        env,
        [["a.dwo", "a.o"], ["a.dwo", "b.dwo", "lib.a"], ["b.dwo", "b.o"]],
        sorted([_inputs(action) for action in actions_of(env, "BtfGen")]),
    )
    return analysistest.end(env)

_split_dwarf_test = analysistest.make(_split_dwarf_impl)

def _joined_impl(ctx):
    env = analysistest.begin(ctx)

    # b.dwo belongs to an object with another name, which may be any of the objects.
    asserts.equals(
        env,
        [["a.dwo", "a.o", "b.dwo"], ["b.dwo", "joined.o"]],
        sorted([_inputs(action) for action in actions_of(env, "BtfGen")]),
    )
    return analysistest.end(env)

_joined_test = analysistest.make(_joined_impl)

def _copies_impl(ctx):
    env = analysistest.begin(ctx)

    # a.o and a.pi.o have the same .dwo file; b.dwo belongs to an object of another action.
    inputs = [_inputs(action) for action in actions_of(env, "BtfGen")]
    asserts.equals(env, [["a.dwo", "a.o", "a.pi.o"], ["b.dwo", "b.o"]], sorted(inputs))
    return analysistest.end(env)

_copies_test = analysistest.make(_copies_impl)

def _objects_impl(ctx):
    env = analysistest.begin(ctx)

    # The package belongs to vmlinux; the objects of vmlinux have .dwo files.
    asserts.equals(env, ["a.dwo", "a.o"], _inputs(only_action(env, "BtfGen")))
    asserts.equals(
        env,
        ["a.dwo", "vmlinux.elf", "x.dwp"],
        _inputs(only_action(env, "BtfFacts")),
    )
    return analysistest.end(env)

_objects_test = analysistest.make(_objects_impl)

def _members_impl(ctx):
    env = analysistest.begin(ctx)

    # The archive's members are inputs of its action, but not of the actions of other objects.
    archive, object = sorted(actions_of(env, "BtfGen"), key = lambda gen: len(_inputs(gen)))[::-1]
    asserts.equals(env, ["a.o", "b.o", "lib.a"], _inputs(archive))
    asserts.equals(env, ["a.o", "b.o", "lib.a"], arguments(archive)[-3:])
    asserts.equals(env, ["b.o"], _inputs(object))
    return analysistest.end(env)

_members_test = analysistest.make(_members_impl)

def _flags_impl(ctx):
    env = analysistest.begin(ctx)
    gen = only_action(env, "BtfGen")
    asserts.equals(env, ctx.attr.inputs, _inputs(gen))
    asserts.equals(
        env,
        ["object", "-j", "1", "-o", gen.outputs.to_list()[0].basename] + ctx.attr.flags,
        arguments(gen),
    )
    return analysistest.end(env)

_FLAGS = {"flags": attr.string_list(), "inputs": attr.string_list()}
_flags_test = analysistest.make(_flags_impl, attrs = _FLAGS)
_setting_test = analysistest.make(
    _flags_impl,
    attrs = _FLAGS,
    config_settings = {str(Label("//rules/settings:input")): "btf"},
)

def _separate_impl(ctx):
    env = analysistest.begin(ctx)
    facts = only_action(env, "BtfFacts")
    asserts.equals(env, ["vmlinux.debug", "vmlinux.elf"], _inputs(facts))
    asserts.equals(
        env,
        ["facts", "-j", "1", "-o", "separate_debug_file.facts"] +
        ["vmlinux.debug", "vmlinux.elf"],
        arguments(facts),
    )

    gen = only_action(env, "BtfGen")
    asserts.equals(env, ["vmlinux.debug", "vmlinux.elf"], _inputs(gen))
    asserts.equals(
        env,
        ["object", "-j", "4", "-o", "separate_debug_file.btfo"] +
        ["vmlinux.debug", "vmlinux.elf"],
        arguments(gen),
    )
    return analysistest.end(env)

_separate_test = analysistest.make(_separate_impl)

def _modules_impl(ctx):
    env = analysistest.begin(ctx)

    # The debug file of a module is found by its build-id.
    modules = only_action(env, "BtfModules")
    asserts.true(env, "m.ko.debug" in arguments(modules))
    asserts.equals(env, ["m.ko.debug"], _inputs(modules))
    return analysistest.end(env)

_modules_test = analysistest.make(_modules_impl)

def debug_files_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for path in ["a.o", "b.o", "joined.o", "a.dwo", "b.dwo", "lib.a", "x.dwp"] + [
        "a.pi.o",
        "sub/b.o",
        "sub/b.dwo",
        "vmlinux.elf",
        "vmlinux.debug",
        "common.sup",
        "m.ko",
        "m.ko.debug",
    ]:
        write_file(name = "beside/" + path + "_file", out = "beside/" + path, content = [])
    btf_objects(
        name = "split_dwarf",
        srcs = ["beside/a.o", "beside/b.o", "beside/lib.a"],
        debug = ["beside/a.dwo", "beside/b.dwo"],
        grain = "object",
        tags = ["manual"],
    )
    _split_dwarf_test(name = "split_dwarf_test", target_under_test = ":split_dwarf")
    btf_objects(
        name = "joined_objects",
        srcs = ["beside/a.o", "beside/joined.o"],
        debug = ["beside/a.dwo", "beside/b.dwo"],
        grain = "object",
        tags = ["manual"],
    )
    _joined_test(name = "joined_objects_test", target_under_test = ":joined_objects")
    btf_objects(
        name = "copies",
        srcs = ["beside/a.o", "beside/a.pi.o", "beside/sub/b.o"],
        debug = ["beside/a.dwo", "beside/sub/b.dwo"],
        grain = "2",
        tags = ["manual"],
    )
    _copies_test(name = "copies_test", target_under_test = ":copies")
    btf_objects(
        name = "thin_archive",
        srcs = ["beside/lib.a", "beside/b.o"],
        debug = ["beside/a.o", "beside/b.o"],
        tags = ["manual"],
    )
    _members_test(name = "members_test", target_under_test = ":thin_archive")
    btf_objects(
        name = "all_flags",
        srcs = ["beside/a.o"],
        debug = ["beside/x.dwp", "beside/vmlinux.debug", "beside/common.sup"],
        input = "dwarf",
        tags = ["manual"],
    )
    _flags_test(
        name = "debug_flags_test",
        flags = ["--input=dwarf", "x.dwp", "vmlinux.debug", "common.sup", "a.o"],
        inputs = ["a.o", "common.sup", "vmlinux.debug", "x.dwp"],
        target_under_test = ":all_flags",
    )
    btf_objects(name = "input_by_flag", srcs = ["beside/a.o"], tags = ["manual"])
    _setting_test(
        name = "input_setting_test",
        flags = ["--input=btf", "a.o"],
        inputs = ["a.o"],
        target_under_test = ":input_by_flag",
    )
    vmlinux_btf(
        name = "objects_and_package",
        srcs = ["beside/a.o"],
        debug = ["beside/a.dwo", "beside/x.dwp"],
        tags = ["manual"],
        vmlinux = "beside/vmlinux.elf",
    )
    _objects_test(name = "objects_and_package_test", target_under_test = ":objects_and_package")
    vmlinux_btf(
        name = "separate_debug_file",
        debug = ["beside/vmlinux.debug"],
        tags = ["manual"],
        vmlinux = "beside/vmlinux.elf",
    )
    _separate_test(name = "separate_debug_file_test", target_under_test = ":separate_debug_file")
    modules_btf(
        name = "modules_with_debug_file",
        base = ":separate_debug_file",
        debug = ["beside/m.ko.debug"],
        modules = ["beside/m.ko"],
        tags = ["manual"],
    )
    _modules_test(
        name = "modules_with_debug_file_test",
        target_under_test = ":modules_with_debug_file",
    )
    native.test_suite(
        name = name,
        tests = [
            ":members_test",
            ":split_dwarf_test",
            ":joined_objects_test",
            ":copies_test",
            ":debug_flags_test",
            ":input_setting_test",
            ":objects_and_package_test",
            ":separate_debug_file_test",
            ":modules_with_debug_file_test",
        ],
    )
