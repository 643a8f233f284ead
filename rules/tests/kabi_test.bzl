"""Tests of btf_diff_test with symbols."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "btf_diff_test")
load(":common.bzl", "failure_test", "names", "written")

def _arguments_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, ctx.attr.arguments, written(env, ".params").content.splitlines())
    script = written(env, ".sh").content
    for text in ctx.attr.script:
        asserts.true(env, text in script, "no {} in {}".format(text, script))
    target = analysistest.target_under_test(env)
    files = names(target[DefaultInfo].default_runfiles.files.to_list())
    for file in ["allowed", "base.btf", "btfdedup", "module.btf", "symbols"]:
        asserts.true(env, file in files, "{} in the runfiles {}".format(file, files))
    return analysistest.end(env)

_arguments_test = analysistest.make(
    _arguments_impl,
    attrs = {"arguments": attr.string_list(), "script": attr.string_list()},
)

_without_symbols_test = analysistest.make(
    failure_test("allow and allow_file need symbols"),
    expect_failure = True,
)

_raw_test = analysistest.make(
    failure_test("expected is rules/tests/kabi/base.btf, which is no file *.kabi"),
    expect_failure = True,
)

def _selected_impl(ctx):
    env = analysistest.begin(ctx)
    script = written(env, ".sh").content
    asserts.true(env, "rules/tests/kabi/abi.kabi" in script, script)
    return analysistest.end(env)

_selected_test = analysistest.make(_selected_impl)

def kabi_suite(name):
    """Declares the tests.

    Args:
        name: of the suite.
    """
    for file in ["abi.kabi", "allowed", "base.btf", "module.btf", "symbols"]:
        write_file(name = "kabi_" + file, out = "kabi/" + file, content = [])
    btf_diff_test(
        name = "kabi_arguments",
        actual = "kabi/module.btf",
        actual_bases = ["kabi/base.btf"],
        allow = ["type=struct foo # why"],
        allow_file = "kabi/allowed",
        expected = "kabi/abi.kabi",
        symbols = "kabi/symbols",
        tags = ["manual"],
    )
    flags = [
        "--symbols=rules/tests/kabi/symbols",
        "--allow=type=struct foo # why",
        "--allow-file=rules/tests/kabi/allowed",
    ]
    _arguments_test(
        name = "kabi_arguments_test",
        arguments = flags + [
            "--base-b",
            "rules/tests/kabi/base.btf",
            "rules/tests/kabi/abi.kabi",
            "rules/tests/kabi/module.btf",
        ],
        script = [" diff ", "bazel run @@//rules/tests:kabi_arguments.update'"],
        target_under_test = ":kabi_arguments",
    )
    _arguments_test(
        name = "kabi_update_test",
        arguments = flags + ["--base", "rules/tests/kabi/base.btf", "rules/tests/kabi/module.btf"],
        script = [" dump ", "-o \"$BUILD_WORKSPACE_DIRECTORY\"/", "rules/tests/kabi/abi.kabi"],
        target_under_test = ":kabi_arguments.update",
    )

    # The value may be a select, into which the macro can't look.
    btf_diff_test(
        name = "kabi_selected",
        actual = "kabi/module.btf",
        expected = select({"//conditions:default": "kabi/abi.kabi"}),
        symbols = "kabi/symbols",
        tags = ["manual"],
    )
    _selected_test(name = "kabi_selected_test", target_under_test = ":kabi_selected.update")
    btf_diff_test(
        name = "kabi_raw",
        actual = "kabi/module.btf",
        expected = "kabi/base.btf",
        symbols = "kabi/symbols",
        tags = ["manual"],
    )
    _raw_test(name = "kabi_raw_test", target_under_test = ":kabi_raw.update")
    btf_diff_test(
        name = "kabi_without_symbols",
        actual = "kabi/module.btf",
        allow = ["type=struct foo # why"],
        expected = "kabi/abi.kabi",
        tags = ["manual"],
    )
    _without_symbols_test(
        name = "kabi_without_symbols_test",
        target_under_test = ":kabi_without_symbols",
    )
    native.test_suite(
        name = name,
        tests = [
            ":kabi_arguments_test",
            ":kabi_raw_test",
            ":kabi_selected_test",
            ":kabi_update_test",
            ":kabi_without_symbols_test",
        ],
    )
