"""Tests of the attribute `out`, with which a user names an output."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfInfo", "btf_archive", "btf_import", "module_btf", "vmlinux_btf")
load(":common.bzl", "failure_test")

def _named_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    files = target[DefaultInfo].files.to_list()
    asserts.equals(env, ["rules/tests/" + ctx.attr.out], [file.short_path for file in files])
    if BtfInfo in target:
        asserts.equals(env, files, [target[BtfInfo].btf])
    return analysistest.end(env)

_named_test = analysistest.make(_named_impl, attrs = {"out": attr.string()})
_other_format_test = analysistest.make(
    failure_test("out is named.tar, but format is tar.zst: out must end in .tar or .tar.zst"),
    expect_failure = True,
)

def out_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["x.btfo", "m.ko", "vmlinuz"]:
        write_file(name = "out_" + file, out = "out/" + file, content = [])
    vmlinux_btf(
        name = "named_kernel",
        srcs = ["out/x.btfo"],
        out = "named/vmlinux.btf",
        tags = ["manual"],
    )
    module_btf(
        name = "named_module",
        base = ":named_kernel",
        module = "out/m.ko",
        out = "named/m.btf",
        tags = ["manual"],
    )
    btf_import(
        name = "named_import",
        src = "out/vmlinuz",
        out = "named/imported",
        tags = ["manual"],
    )
    btf_archive(
        name = "named_archive",
        format = "tar.zst",
        out = "named/release.tar.zst",
        release = "7.2.12",
        tags = ["manual"],
        vmlinux = ":named_kernel",
    )
    btf_archive(
        name = "other_format",
        format = "tar.zst",
        out = "named.tar",
        release = "7.2.12",
        tags = ["manual"],
        vmlinux = ":named_kernel",
    )
    outs = {
        "named_archive": "named/release.tar.zst",
        "named_import": "named/imported",
        "named_kernel": "named/vmlinux.btf",
        "named_module": "named/m.btf",
    }
    for target, out in outs.items():
        _named_test(name = target + "_test", out = out, target_under_test = ":" + target)
    _other_format_test(name = "other_format_test", target_under_test = ":other_format")
    native.test_suite(
        name = name,
        tests = [":" + target + "_test" for target in outs] + [":other_format_test"],
    )
