"""Tests that cc_btf converts what is linked, and nothing else."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_shared_library.bzl", "cc_shared_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "BtfObjectsInfo", "cc_btf", "vmlinux_btf")
load("//rules/tests:common.bzl", "failure_test", "only_action")
load(":keys_test.bzl", "in_variant")

def _forward_impl(ctx):
    return [ctx.attr.library[CcInfo]]

forward = rule(
    implementation = _forward_impl,
    doc = "Forwards the CcInfo of a library unchanged.",
    attrs = {"library": attr.label(mandatory = True, providers = [CcInfo])},
)

def _adopt_impl(ctx):
    return [CcInfo(linking_context = cc_common.create_linking_context(
        linker_inputs = depset([cc_common.create_linker_input(
            owner = ctx.label,
            libraries = depset([
                library
                for dep in ctx.attr.deps
                for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list()
                for library in linker_input.libraries
            ]),
        )]),
    ))]

adopt = rule(
    implementation = _adopt_impl,
    doc = "Forwards the libraries of its dependencies, with itself as their owner.",
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def _sources_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(outputs = [directory], command = "exit 1")
    return [DefaultInfo(files = depset([directory]))]

_sources = rule(implementation = _sources_impl)

def _stem(file):
    """x for x.o.btfo, x.pic.o.btfo and x.o@CONFIGURATION.btfo."""
    name = file.basename.removesuffix(".btfo").partition("@")[0]
    return name.removesuffix(".o").removesuffix(".pic")

def _linked_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    found = [_stem(file) for file in info.objects.to_list()]
    asserts.equals(env, sorted(ctx.attr.want), sorted(found))

    # An optimized link reads no position-independent code, so no such code is compiled for the BTF.
    paths = [file.path for file in info.objects.to_list()]
    pic = [path for path in paths if ".pic." in path or "/_pic_objs/" in path]
    asserts.true(env, not ctx.attr.opt or not pic, str(pic))
    return analysistest.end(env)

_SETTING = str(Label("//rules/settings:grain"))
_ATTRS = {"opt": attr.bool(), "want": attr.string_list()}
_linked_test = analysistest.make(
    _linked_impl,
    attrs = _ATTRS,
    config_settings = {
        _SETTING: "object",
        "//command_line_option:compilation_mode": "fastbuild",
    },
)
_linked_opt_test = analysistest.make(
    _linked_impl,
    attrs = _ATTRS,
    config_settings = {
        _SETTING: "object",
        "//command_line_option:compilation_mode": "opt",
    },
)

def _together_impl(ctx):
    env = analysistest.begin(ctx)
    inputs = only_action(env, "BtfLink").inputs.to_list()
    read = [file for file in inputs if file.extension == "btfo"]
    asserts.equals(env, ctx.attr.want, sorted([_stem(file) for file in read]))

    # The order of srcs makes no difference.
    asserts.equals(env, sorted([file.path for file in read]), [file.path for file in read])
    return analysistest.end(env)

_together_test = analysistest.make(
    _together_impl,
    attrs = _ATTRS,
    config_settings = {_SETTING: "object"},
)

_headers_test = analysistest.make(failure_test("deps have only headers"), expect_failure = True)

def linked_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    manual = {"tags": ["manual"], "testonly": True}
    for file in ["a", "b", "alloc", "extra", "main"]:
        write_file(name = "linked_" + file + "_c", out = "linked/" + file + ".c", content = [])
    for file in ["pre.lo", "pre.o", "pre.a"]:
        write_file(name = "linked_" + file, out = "linked/" + file, content = [])
    for library in ["alloc", "extra", "a"]:
        cc_library(name = "l_" + library, srcs = ["linked/" + library + ".c"], **manual)
    cc_library(name = "l_b", srcs = ["linked/b.c"], deps = [":l_a"], **manual)
    cc_library(name = "l_headers", hdrs = ["linked_test.bzl"], **manual)
    forward(name = "f_b", library = ":l_b", **manual)
    forward(name = "f_f_b", library = ":f_b", **manual)
    forward(name = "f_headers", library = ":l_headers", **manual)
    adopt(name = "adopted_b", deps = [":l_b"], **manual)
    in_variant(name = "l_a_1", dep = ":l_a", variant = "1", **manual)
    _sources(name = "linked_tree", **manual)
    native.genrule(
        name = "linked_offsets",
        srcs = [":l_b"],
        outs = ["linked/offsets.h"],
        cmd = "exit 1",
        **manual
    )
    native.filegroup(name = "linked_files", srcs = [":l_a", "linked/pre.a"], **manual)

    # For each target, by name: its srcs, its other attributes, and the stems of the linked objects.
    binaries = {
        "adopt": ([], {"deps": [":adopted_b", ":l_a"]}, ["a", "b"]),
        "attributes": (
            [],
            {"link_extra_lib": ":l_extra", "malloc": ":l_alloc"},
            ["alloc", "extra"],
        ),
        "configurations": ([], {"deps": [":l_a", ":l_a_1"]}, ["a", "a"]),
        "dynamically": ([], {"deps": [":l_b"], "linkstatic": False}, ["a", "b"]),
        "files": ([":linked_files"], {}, ["a", "pre.a"]),
        "files_too": ([":linked_files"], {"deps": [":l_a"]}, ["a", "pre.a"]),
        "forward": ([], {"deps": [":f_b"]}, ["a", "b"]),
        "forward_too": ([], {"deps": [":f_f_b", ":l_a"]}, ["a", "b"]),
        "forward_twice": ([], {"deps": [":f_b", ":f_f_b"]}, ["a", "b"]),
        "generated": ([":linked_offsets"], {}, []),
        "generated_too": ([":linked_offsets"], {"deps": [":l_a"]}, ["a"]),
        "library": ([":l_a"], {}, ["a"]),
        "prebuilt": (
            ["linked/pre.lo", "linked/pre.o", "linked/pre.a"],
            {},
            ["pre", "pre.a", "pre.lo"],
        ),
        "shared": ([], {"deps": [":l_b"], "dynamic_deps": [":shared_a"]}, ["b"]),
        "tree": ([":linked_tree"], {}, ["linked_tree"]),
    }
    tests = []

    for kind, (srcs, attributes, want) in binaries.items():
        cc_binary(
            name = "b_" + kind,
            srcs = ["linked/main.c"] + srcs,
            **(manual | attributes)
        )
        cc_btf(name = "btf_" + kind, deps = [":b_" + kind], **manual)
        cc_btf(
            name = "btf_with_" + kind,
            btf_features = ["default", "global_var"],
            deps = [":b_" + kind],
            **manual
        )
        for target in ["btf_" + kind, "btf_with_" + kind]:
            for suffix, test in {"": _linked_test, "_opt": _linked_opt_test}.items():
                tests.append(target + suffix + "_test")
                test(
                    name = tests[-1],
                    opt = suffix != "",
                    target_under_test = target,
                    want = want + ["main"],
                )

    # Other kinds of targets in deps, and several targets together.
    cc_shared_library(name = "shared_a", deps = [":l_a"], **manual)
    cc_test(name = "l_test", srcs = ["linked/main.c"], deps = [":l_b"], **manual)
    several = {
        "adopt": (["adopted_b"], ["a", "b"], []),
        "all": (["b_" + kind for kind in binaries], [
            "a",
            "a",
            "alloc",
            "b",
            "extra",
            "linked_tree",
            "pre",
            "pre.a",
            "pre.lo",
        ] + ["main"] * len(binaries), []),
        "forward": (["f_b"], ["a", "b"], []),
        "forward_excluded": (["f_b"], ["a"], ["l_b"]),
        "forward_too": (["f_b", "l_b", "f_f_b"], ["a", "b"], []),
        "generated": (["linked_offsets"], ["a", "b"], []),
        "headers_too": (["l_headers", "f_headers", "l_a"], ["a"], []),
        "shared": (["shared_a"], ["a"], []),
        "test": (["l_test"], ["a", "b", "main"], []),
        "variant": (["l_a_1", "l_a"], ["a", "a"], []),
    }
    for kind, (deps, want, exclude) in several.items():
        cc_btf(
            name = "btf_deps_" + kind,
            exclude = exclude,
            deps = deps,
            **manual
        )
        tests.append("btf_deps_" + kind + "_test")
        _linked_test(name = tests[-1], target_under_test = "btf_deps_" + kind, want = want)
    cc_btf(name = "btf_deps_headers", deps = [":f_headers"], **manual)
    tests.append("btf_deps_headers_test")
    _headers_test(name = tests[-1], target_under_test = "btf_deps_headers")

    # Libraries that several cc_btf have in common, in whatever way.
    for order in [1, -1]:
        target = "btf_together_{}".format(order)
        parts = ["deps_forward", "deps_forward_too", "forward", "forward_twice", "adopt"]
        vmlinux_btf(name = target, srcs = [":btf_" + kind for kind in parts][::order], **manual)
        tests.append(target + "_test")
        _together_test(
            name = tests[-1],
            target_under_test = target,
            want = ["a", "b", "main", "main", "main"],
        )
    native.test_suite(name = name, tests = tests)
