"""Tests of vmlinux_h."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "btf_import", "module_btf", "vmlinux_h")
load(":common.bzl", "arguments", "elf_inputs", "failure_test", "only_action")

def _header_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfHeader")
    name = ctx.attr.path.rsplit("/", 1)[-1]
    asserts.equals(
        env,
        ["dump", "-j", "1", "-o", name, "--format=c"] + ctx.attr.read,
        arguments(action),
    )
    asserts.equals(
        env,
        sorted([file for file in ctx.attr.read if file != "--base"]),
        elf_inputs(action),
    )
    target = analysistest.target_under_test(env)
    file = target[DefaultInfo].files.to_list()[0]
    asserts.true(env, file.short_path.endswith("rules/tests/" + ctx.attr.path), file.short_path)
    compilation = target[CcInfo].compilation_context
    asserts.equals(env, [file], compilation.headers.to_list())
    asserts.equals(env, [file.dirname], compilation.includes.to_list())
    return analysistest.end(env)

_header_test = analysistest.make(
    _header_impl,
    attrs = {"path": attr.string(), "read": attr.string_list()},
)

_distilled_test = analysistest.make(
    failure_test("so it lacks the kernel's types"),
    expect_failure = True,
)

def header_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinuz", "disk.ko"]:
        write_file(name = "header_" + file, out = "header/" + file, content = [])
    btf_import(name = "header_kernel", src = "header/vmlinuz", tags = ["manual"])
    btf_import(
        name = "header_disk",
        src = "header/disk.ko",
        base = ":header_kernel",
        tags = ["manual"],
    )
    module_btf(
        name = "header_distilled",
        base = ":header_kernel",
        btf_features = ["default", "distilled_base"],
        module = "header/disk.ko",
        tags = ["manual"],
    )
    vmlinux_h(name = "kernel_h", btf = ":header_kernel", tags = ["manual"])
    vmlinux_h(name = "disk_h", out = "x86/disk.h", btf = ":header_disk", tags = ["manual"])
    vmlinux_h(name = "distilled_h", btf = ":header_distilled", tags = ["manual"])

    _header_test(
        name = "kernel_h_test",
        path = "kernel_h/vmlinux.h",
        read = ["header_kernel.btf"],
        target_under_test = ":kernel_h",
    )
    _header_test(
        name = "disk_h_test",
        path = "x86/disk.h",
        read = ["--base", "header_kernel.btf", "header_disk.btf"],
        target_under_test = ":disk_h",
    )
    _distilled_test(name = "distilled_h_test", target_under_test = ":distilled_h")
    native.test_suite(
        name = name,
        tests = [":disk_h_test", ":distilled_h_test", ":kernel_h_test"],
    )
