"""Tests of cc_btf and btf_cc_aspect."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("//rules:defs.bzl", "BtfObjectsInfo", "cc_btf")
load(":common.bzl", "actions_of", "arguments", "failure_test", "names")

def _stem(name):
    """Returns x for x.o.btfo and x.pic.o.btfo."""
    return name.removesuffix(".btfo").removesuffix(".o").removesuffix(".pic")

def _diamond_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    objects = info.objects.to_list()

    # Four targets have objects; one target's objects are precompiled. Many paths lead to each
    # target, but each object is listed only once, compiled either with or without -fPIC.
    asserts.equals(
        env,
        ["bottom", "bottom2", "left", "main", "precompiled", "right"],
        sorted([_stem(file.basename) for file in objects]),
    )
    roots = info.roots.to_list()
    asserts.equals(env, 4, len(roots), "one root for each target with its own objects")
    pic = [name for name in names(objects) if ".pic." in name]
    if ctx.attr.pic:
        asserts.equals(env, 5, len(pic))
    else:
        asserts.equals(env, [], pic)
    for file in objects:
        # The action belongs to the target that compiles the object.
        asserts.true(env, "/_btf/" in file.path, file.path)
    return analysistest.end(env)

_ATTRS = {"pic": attr.bool()}
_SETTINGS = {str(Label("//rules/settings:grain")): "object"}
_diamond_test = analysistest.make(
    _diamond_impl,
    attrs = _ATTRS,
    config_settings = _SETTINGS | {"//command_line_option:compilation_mode": "fastbuild"},
)
_diamond_opt_test = analysistest.make(
    _diamond_impl,
    attrs = _ATTRS,
    config_settings = _SETTINGS | {"//command_line_option:compilation_mode": "opt"},
)

_wrong_provider_test = analysistest.make(
    failure_test("has no object file to convert"),
    expect_failure = True,
)

_headers_test = analysistest.make(failure_test("deps have only headers"), expect_failure = True)

def _excluded_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(
        env,
        ctx.attr.kept,
        sorted([_stem(file.basename) for file in info.objects.to_list()]),
    )
    asserts.equals(env, ctx.attr.roots, len(info.roots.to_list()))
    return analysistest.end(env)

_excluded_test = analysistest.make(
    _excluded_impl,
    attrs = {"kept": attr.string_list(), "roots": attr.int()},
    config_settings = _SETTINGS,
)

_idle_exclude_test = analysistest.make(
    failure_test("exclude has @@//rules/tests:headers, but deps link no object file of that"),
    expect_failure = True,
)

_all_excluded_test = analysistest.make(
    failure_test("the attribute exclude removes all object files; none is left to convert"),
    expect_failure = True,
)

def _of_its_own_impl(ctx):
    env = analysistest.begin(ctx)
    gens = actions_of(env, "BtfGen")
    asserts.equals(
        env,
        ["bottom", "bottom2", "precompiled"],
        sorted([_stem(action.outputs.to_list()[0].basename) for action in gens]),
    )
    for action in gens:
        args = arguments(action)
        asserts.true(env, "--features=default,global_var" in args, str(args))
        asserts.true(env, "--lang-exclude=c++" in args, str(args))
    info = analysistest.target_under_test(env)[BtfObjectsInfo]
    asserts.equals(env, ["default", "global_var"], info.btf_features)
    asserts.equals(env, [info.root], info.roots.to_list())
    asserts.equals(env, 3, len(info.objects.to_list()))
    return analysistest.end(env)

_of_its_own_test = analysistest.make(_of_its_own_impl, config_settings = _SETTINGS)

_fission_test = analysistest.make(
    _diamond_impl,
    attrs = _ATTRS,
    config_settings = _SETTINGS | {
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:fission": ["yes"],
    },
)

def cc_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["bottom", "bottom2", "left", "right", "main"]:
        write_file(name = file + "_c", out = "cc/" + file + ".c", content = [])
    write_file(name = "precompiled_o", out = "cc/precompiled.o", content = [])
    cc_library(name = "headers", hdrs = ["common.bzl"], tags = ["manual"])
    cc_library(
        name = "bottom",
        srcs = ["cc/bottom.c", "cc/bottom2.c", "cc/precompiled.o"],
        tags = ["manual"],
        deps = [":headers"],
    )
    cc_library(
        name = "left",
        srcs = ["cc/left.c"],
        implementation_deps = [":bottom"],
        tags = ["manual"],
    )
    cc_library(name = "right", srcs = ["cc/right.c"], tags = ["manual"], deps = [":bottom"])
    cc_binary(name = "main", srcs = ["cc/main.c"], tags = ["manual"], deps = [":left", ":right"])
    cc_btf(name = "diamond", tags = ["manual"], deps = [":main", ":left", ":headers", ":bottom"])
    cc_btf(
        name = "of_its_own",
        btf_features = ["default", "global_var"],
        lang_exclude = ["c++"],
        tags = ["manual"],
        deps = [":bottom"],
    )
    cc_btf(name = "without_left", exclude = [":left"], tags = ["manual"], deps = [":main"])
    cc_btf(
        name = "without_two",
        btf_features = ["default", "global_var"],
        exclude = [":another_name_of_bottom", ":right"],
        tags = ["manual"],
        deps = [":main"],
    )
    native.alias(name = "another_name_of_bottom", actual = ":bottom", tags = ["manual"])
    cc_btf(name = "idle_exclude", exclude = [":headers"], tags = ["manual"], deps = [":main"])
    cc_btf(name = "all_excluded", exclude = [":bottom"], tags = ["manual"], deps = [":bottom"])
    cc_btf(name = "only_headers", tags = ["manual"], deps = [":headers"])
    cc_btf(name = "not_cc", tags = ["manual"], deps = [":bottom_c"])
    _diamond_test(name = "diamond_test", pic = True, target_under_test = ":diamond")
    _diamond_opt_test(name = "diamond_opt_test", target_under_test = ":diamond")
    _wrong_provider_test(name = "not_cc_test", target_under_test = ":not_cc")
    _headers_test(name = "only_headers_test", target_under_test = ":only_headers")
    _excluded_test(
        name = "exclude_test",
        kept = ["bottom", "bottom2", "main", "precompiled", "right"],
        roots = 3,
        target_under_test = ":without_left",
    )
    _excluded_test(
        name = "exclude_of_its_own_test",
        kept = ["left", "main"],
        roots = 1,
        target_under_test = ":without_two",
    )
    _idle_exclude_test(name = "idle_exclude_test", target_under_test = ":idle_exclude")
    _all_excluded_test(name = "all_excluded_test", target_under_test = ":all_excluded")
    _of_its_own_test(name = "of_its_own_test", target_under_test = ":of_its_own")
    _fission_test(name = "fission_test", target_under_test = ":diamond")
    native.test_suite(
        name = name,
        tests = [
            ":all_excluded_test",
            ":diamond_test",
            ":diamond_opt_test",
            ":exclude_of_its_own_test",
            ":exclude_test",
            ":fission_test",
            ":idle_exclude_test",
            ":not_cc_test",
            ":of_its_own_test",
            ":only_headers_test",
        ],
    )
