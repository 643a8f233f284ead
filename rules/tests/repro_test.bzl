"""Tests of btf_repro_test."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "btf_repro_test")
load(":common.bzl", "written")

_LOGS = "//internal/repro:testdata/"

def _arguments_impl(ctx):
    env = analysistest.begin(ctx)
    params = written(env, ".params")
    asserts.equals(env, ctx.attr.arguments, params.content.splitlines())
    script = written(env, ".sh").content
    asserts.true(env, "diff '@rules/tests/repro_arguments.params'" in script or
                      "diff @rules/tests/repro_arguments.params" in script, script)
    target = analysistest.target_under_test(env)
    files = [file.basename for file in target[DefaultInfo].default_runfiles.files.to_list()]
    for name in ["btfrepro", "mapped_a.log", "mapped_b.log", "expected.txt"]:
        asserts.true(env, name in files, "no {} in {}".format(name, files))
    return analysistest.end(env)

_arguments_test = analysistest.make(
    _arguments_impl,
    attrs = {"arguments": attr.string_list()},
)

def repro_suite(name):
    """Declares the tests.

    Args:
        name: of the suite.
    """
    native.genrule(
        name = "repro_expected",
        outs = ["repro/expected.txt"],
        cmd = "echo 'mnemonic=MakeTree # random' > $@",
        tags = ["manual"],
    )
    btf_repro_test(
        name = "repro_arguments",
        a = _LOGS + "mapped_a.log",
        b = _LOGS + "mapped_b.log",
        allow = ["mnemonic=Random # it is random", "label=//:x # why"],
        allow_file = "repro/expected.txt",
        mnemonics = ["Random", "Same"],
        tags = ["manual"],
    )
    _arguments_test(
        name = "repro_arguments_test",
        arguments = [
            "--mnemonic=Random,Same",
            "--allow=mnemonic=Random # it is random",
            "--allow=label=//:x # why",
            "--allow-file=rules/tests/repro/expected.txt",
            "internal/repro/testdata/mapped_a.log",
            "internal/repro/testdata/mapped_b.log",
        ],
        target_under_test = ":repro_arguments",
    )

    # The logs of two real builds that differ by two actions.
    btf_repro_test(
        name = "repro_allowed_test",
        a = _LOGS + "mapped_a.log",
        b = _LOGS + "mapped_b.log",
        allow = ["mnemonic=Random # it is random"],
        allow_file = "repro/expected.txt",
    )
    native.test_suite(
        name = name,
        tests = [":repro_arguments_test", ":repro_allowed_test"],
    )
