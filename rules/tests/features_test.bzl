"""Tests of the features that targets must share if they are linked, or based on each other."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfInfo", "btf_objects", "module_btf", "modules_btf", "vmlinux_btf")
load("//rules/private:features.bzl", "feature_set", "has_feature")
load(":common.bzl", "failure_test")

_DEFAULT = feature_set(["default"])

def _lists_impl(ctx):
    env = unittest.begin(ctx)
    for features, want in [
        ([], _DEFAULT),
        (["none"], []),
        (["var", "float"], ["float", "var"]),
        (["var,float", "float"], ["float", "var"]),
        (["force_cu_merging", "var"], ["var"]),
        (["+layout"], sorted(_DEFAULT + ["layout"])),
        (["-var"], [name for name in _DEFAULT if name != "var"]),
        (["default", "-var", "layout"], sorted(["layout"] + feature_set(["-var"]))),
        (["-all"], []),
    ]:
        asserts.equals(env, want, feature_set(features), str(features))
    for feature, of_all in {
        "attributes": True,
        "distilled_base": False,
        "global_var": True,
        "layout": False,
    }.items():
        asserts.equals(env, of_all, has_feature(["all"], feature), feature)
        asserts.false(env, has_feature([], feature), feature)
    return unittest.end(env)

_lists_test = unittest.make(_lists_impl)

def _same_impl(ctx):
    env = analysistest.begin(ctx)
    features = analysistest.target_under_test(env)[BtfInfo].btf_features
    asserts.equals(env, ctx.attr.expected, feature_set(features))
    return analysistest.end(env)

_same_test = analysistest.make(_same_impl, attrs = {"expected": attr.string_list()})

def _failing(message, flag = None):
    return analysistest.make(
        failure_test(message),
        config_settings = {str(Label("//rules/settings:btf_features")): flag} if flag else {},
        expect_failure = True,
    )

_mixed_test = _failing("//rules/tests:floats with \"var,float\", @@//rules/tests:plain with the " +
                       "default; set the same btf_features on all of them, or use the flag")
_unlike_itself_test = _failing("unlike_itself with \"var\"; set the same")
_unlike_base_test = _failing("has btf_features the default, but its base " +
                             "@@//rules/tests:of_floats has \"float,var\", so common " +
                             "types would be repeated")
_many_unlike_base_test = _failing("so common types would be repeated")
_misspelt_test = _failing("unknown feature \"flaot\"; the known features are encode_force,")
_by_flag_test = _failing(
    "the flag @rules_btf//rules/settings:btf_features turns on distilled_base for all modules",
    flag = ["default", "distilled_base"],
)

def features_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["a.o", "b.o", "m.ko"]:
        write_file(name = "features_" + file, out = "features/" + file, content = [])
    for target, features in {
        "plain": [],
        "floats": ["var", "float"],
        "floats_again": ["float,var"],
    }.items():
        btf_objects(
            name = target,
            srcs = ["features/a.o"],
            btf_features = features,
            tags = ["manual"],
        )
    vmlinux_btf(name = "mixed", srcs = [":floats", ":plain"], tags = ["manual"])
    vmlinux_btf(name = "of_floats", srcs = [":floats_again", ":floats"], tags = ["manual"])
    vmlinux_btf(name = "of_plain", srcs = [":plain"], tags = ["manual"])
    vmlinux_btf(
        name = "unlike_itself",
        srcs = [":floats"],
        btf_features = ["var"],
        tags = ["manual"],
    )
    module_btf(
        name = "unlike_base",
        base = ":of_floats",
        module = "features/m.ko",
        tags = ["manual"],
    )
    modules_btf(
        name = "many_unlike_base",
        base = ":of_floats",
        modules = ["features/m.ko"],
        tags = ["manual"],
    )
    module_btf(
        name = "other_variables",
        base = ":of_plain",
        btf_features = ["global_var", "default"],
        module = "features/m.ko",
        tags = ["manual"],
    )
    btf_objects(
        name = "for_others",
        srcs = ["features/a.o"],
        btf_features = ["+distilled_base"],
        tags = ["manual"],
    )
    module_btf(
        name = "as_its_objects",
        srcs = [":for_others"],
        base = ":of_plain",
        tags = ["manual"],
    )
    module_btf(name = "of_flag", base = ":of_plain", module = "features/m.ko", tags = ["manual"])
    modules_btf(
        name = "many_of_flag",
        base = ":of_plain",
        modules = ["features/m.ko"],
        tags = ["manual"],
    )

    _lists_test(name = "features_lists_test")
    _same_test(
        name = "same_features_test",
        expected = ["float", "var"],
        target_under_test = ":of_floats",
    )
    _same_test(
        name = "other_variables_test",
        expected = sorted(_DEFAULT + ["global_var"]),
        target_under_test = ":other_variables",
    )
    _same_test(
        name = "as_its_objects_test",
        expected = sorted(_DEFAULT + ["distilled_base"]),
        target_under_test = ":as_its_objects",
    )
    btf_objects(
        name = "misspelt",
        srcs = ["features/a.o"],
        btf_features = ["+flaot,-var"],
        tags = ["manual"],
    )
    _misspelt_test(name = "misspelt_test", target_under_test = ":misspelt")
    _mixed_test(name = "mixed_test", target_under_test = ":mixed")
    _unlike_itself_test(name = "unlike_itself_test", target_under_test = ":unlike_itself")
    _unlike_base_test(name = "unlike_base_test", target_under_test = ":unlike_base")
    _many_unlike_base_test(name = "many_unlike_base_test", target_under_test = ":many_unlike_base")
    _by_flag_test(name = "distilled_by_flag_test", target_under_test = ":of_flag")
    _by_flag_test(name = "many_distilled_by_flag_test", target_under_test = ":many_of_flag")
    native.test_suite(
        name = name,
        tests = [
            ":features_lists_test",
            ":same_features_test",
            ":other_variables_test",
            ":as_its_objects_test",
            ":misspelt_test",
            ":mixed_test",
            ":unlike_itself_test",
            ":unlike_base_test",
            ":many_unlike_base_test",
            ":distilled_by_flag_test",
            ":many_distilled_by_flag_test",
        ],
    )
