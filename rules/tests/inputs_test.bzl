"""Tests of what `srcs` accepts: all files with types, from whatever rule they come."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//rules:defs.bzl", "btf_objects", "module_btf", "modules_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "arguments", "failure_test", "only_action")

def _converted_impl(ctx):
    env = analysistest.begin(ctx)
    gens = actions_of(env, "BtfGen")
    asserts.equals(
        env,
        ctx.attr.converted,
        sorted([arguments(action)[-1] for action in gens]),
        "files that are converted",
    )
    for action in gens:
        for flag in ctx.attr.flags:
            asserts.true(env, flag in arguments(action), flag)
    if ctx.attr.linked:
        link = arguments(only_action(env, "BtfLink"))
        asserts.equals(env, ctx.attr.linked, link[-len(ctx.attr.linked):])
    return analysistest.end(env)

_converted_test = analysistest.make(
    _converted_impl,
    attrs = {
        "converted": attr.string_list(),
        "flags": attr.string_list(),
        "linked": attr.string_list(),
    },
)

def _directory_of_objects_impl(ctx):
    env = analysistest.begin(ctx)
    link = arguments(only_action(env, "BtfLink"))
    asserts.equals(env, "any_directory.d.btfo", link[-1])
    return analysistest.end(env)

_directory_test = analysistest.make(_directory_of_objects_impl)

def _strict_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.true(env, "--strict" in arguments(only_action(env, "BtfLink")))
    return analysistest.end(env)

_strict_test = analysistest.make(_strict_impl)

def _failing(message):
    return analysistest.make(failure_test(message), expect_failure = True)

_object_test = _failing("x.btfo in srcs is converted already: put it into srcs of a vmlinux_btf")
_source_test = _failing("source.c in srcs is source code: use its object file")
_idle_test = _failing(
    "input and lang_exclude can't change srcs that are converted already: set them on",
)

_empty_test = _failing("@@//rules/tests:inputs_empty in srcs has no file")
_modules_test = _failing("inputs_modules in srcs is BTF already: use its modules")
_directory_as_kernel_test = _failing("vmlinux is a directory, rules/tests/any_directory.d: set")
_directory_as_module_test = _failing("module is a directory, rules/tests/any_directory.d: set")

def _directory_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name + ".d")
    ctx.actions.run_shell(outputs = [directory], command = "exit 1")
    return [DefaultInfo(files = depset([directory]))]

_directory = rule(implementation = _directory_impl)

def inputs_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux", "vmlinux.debug", "x.o", "y.o", "x.btfo", "m.ko", "source.c"]:
        write_file(name = "inputs_" + file, out = "inputs/" + file, content = [])
    cc_library(name = "both_forms", srcs = ["inputs/source.c"], tags = ["manual"])
    cc_library(
        name = "always_linked",
        srcs = ["inputs/source.c"],
        alwayslink = True,
        tags = ["manual"],
    )
    native.filegroup(name = "inputs_empty", srcs = [])
    _directory(name = "any_directory", tags = ["manual"])

    objects = {
        "linked_files": ["inputs/vmlinux", "inputs/vmlinux.debug", "inputs/m.ko"],
        "library_once": [":both_forms"],
        "always_linked_once": [":always_linked"],
        "objects_again": ["inputs/x.btfo"],
        "source_code": ["inputs/source.c"],
        "inputs_x": ["inputs/x.o"],
    }
    for target, srcs in objects.items():
        btf_objects(name = target, srcs = srcs, tags = ["manual"])
    btf_objects(
        name = "skipping",
        srcs = ["inputs/x.o"],
        btf_features = ["+skip_unencodable"],
        tags = ["manual"],
    )
    vmlinux_btf(
        name = "kernel_of_files",
        srcs = [":inputs_x", "inputs/x.btfo", "inputs/y.o"],
        lang_exclude = ["c++"],
        tags = ["manual"],
    )
    vmlinux_btf(name = "kernel_of_directory", srcs = [":any_directory"], tags = ["manual"])
    vmlinux_btf(name = "kernel_of_nothing", srcs = [":inputs_empty"], tags = ["manual"])
    vmlinux_btf(name = "directory_as_kernel", vmlinux = ":any_directory", tags = ["manual"])
    module_btf(
        name = "directory_as_module",
        base = ":strict_kernel",
        module = ":any_directory",
        tags = ["manual"],
    )
    vmlinux_btf(name = "strict_kernel", srcs = [":inputs_x"], strict = True, tags = ["manual"])
    vmlinux_btf(
        name = "idle",
        srcs = [":inputs_x"],
        input = "dwarf",
        lang_exclude = ["rust"],
        tags = ["manual"],
    )
    module_btf(
        name = "strict_module",
        srcs = ["inputs/x.o"],
        base = ":strict_kernel",
        strict = True,
        tags = ["manual"],
    )

    _converted_test(
        name = "linked_files_test",
        converted = ["m.ko", "vmlinux", "vmlinux.debug"],
        target_under_test = ":linked_files",
    )
    _converted_test(
        name = "library_once_test",
        converted = ["libboth_forms.a"],
        target_under_test = ":library_once",
    )
    _converted_test(
        name = "always_linked_once_test",
        converted = ["libalways_linked.lo"],
        target_under_test = ":always_linked_once",
    )
    modules_btf(
        name = "inputs_modules",
        base = ":strict_kernel",
        modules = [":any_directory"],
        tags = ["manual"],
    )
    vmlinux_btf(name = "kernel_of_modules", srcs = [":inputs_modules"], tags = ["manual"])
    _modules_test(name = "kernel_of_modules_test", target_under_test = ":kernel_of_modules")
    _empty_test(name = "kernel_of_nothing_test", target_under_test = ":kernel_of_nothing")
    _directory_as_kernel_test(
        name = "directory_as_kernel_test",
        target_under_test = ":directory_as_kernel",
    )
    _directory_as_module_test(
        name = "directory_as_module_test",
        target_under_test = ":directory_as_module",
    )
    _converted_test(
        name = "skipping_test",
        converted = ["x.o"],
        flags = ["--features=+skip_unencodable"],
        target_under_test = ":skipping",
    )
    _converted_test(
        name = "kernel_of_files_test",
        converted = ["y.o"],
        flags = ["--lang-exclude=c++"],
        linked = ["y.o.btfo", "x.btfo", "x.o.btfo"],
        target_under_test = ":kernel_of_files",
    )
    _directory_test(name = "kernel_of_directory_test", target_under_test = ":kernel_of_directory")
    _strict_test(name = "strict_kernel_test", target_under_test = ":strict_kernel")
    _strict_test(name = "strict_module_test", target_under_test = ":strict_module")
    _object_test(name = "objects_again_test", target_under_test = ":objects_again")
    _source_test(name = "source_code_test", target_under_test = ":source_code")
    _idle_test(name = "idle_test", target_under_test = ":idle")
    tests = [
        "always_linked_once_test",
        "directory_as_kernel_test",
        "directory_as_module_test",
        "idle_test",
        "kernel_of_directory_test",
        "kernel_of_files_test",
        "kernel_of_modules_test",
        "kernel_of_nothing_test",
        "library_once_test",
        "linked_files_test",
        "objects_again_test",
        "skipping_test",
        "source_code_test",
        "strict_kernel_test",
        "strict_module_test",
    ]
    native.test_suite(name = name, tests = [":" + test for test in tests])
