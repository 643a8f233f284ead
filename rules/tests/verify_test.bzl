"""Tests of btf_verify_test."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "btf_archive",
    "btf_embed",
    "btf_verify_test",
    "module_btf",
    "modules_btf",
    "vmlinux_btf",
)
load(":common.bzl", "failure_test", "names")

def _arguments_impl(ctx):
    env = analysistest.begin(ctx)
    params = [
        action
        for action in analysistest.target_actions(env)
        if names(action.outputs.to_list()) == [ctx.attr.params]
    ]
    asserts.equals(env, 1, len(params), "number of parameter files")
    arguments = [line.rsplit("/", 1)[-1] for line in params[0].content.splitlines()]
    asserts.equals(env, ctx.attr.arguments, arguments)
    target = analysistest.target_under_test(env)
    runfiles = names(target[DefaultInfo].default_runfiles.files.to_list())
    for name in arguments:
        asserts.true(env, name in runfiles or name[0] == "-", "{} in {}".format(name, runfiles))
    return analysistest.end(env)

_arguments_test = analysistest.make(
    _arguments_impl,
    attrs = {"arguments": attr.string_list(), "params": attr.string()},
)

def _failure_impl(ctx):
    return failure_test(ctx.attr.message)(ctx)

_failure_test = analysistest.make(
    _failure_impl,
    attrs = {"message": attr.string()},
    expect_failure = True,
)

def _kernel():
    """Declares a kernel, its modules, and an archive of their BTF."""
    for file in ["vmlinux.btfo", "vmlinuz", "disk.ko", "linux.deb"]:
        write_file(name = "verify_" + file, out = "verify/" + file, content = [])
    vmlinux_btf(name = "verify_kernel", srcs = ["verify/vmlinux.btfo"], tags = ["manual"])
    module_btf(
        name = "verify_disk_btf",
        base = ":verify_kernel",
        module = "verify/disk.ko",
        tags = ["manual"],
    )
    btf_embed(
        name = "verify_disk",
        src = "verify/disk.ko",
        btf = ":verify_disk_btf",
        tags = ["manual"],
    )
    for name, embed in {"verify_modules": True, "verify_btf": False}.items():
        modules_btf(
            name = name,
            base = ":verify_kernel",
            embed = embed,
            modules = ["verify/disk.ko"],
            tags = ["manual"],
        )
    for format in ["dir", "tar"]:
        btf_archive(
            name = "verify_" + format,
            format = format,
            release = "7.2.12",
            tags = ["manual"],
            vmlinux = ":verify_kernel",
        )

def verify_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    _kernel()
    tests = []
    for target, attributes, arguments in [
        (
            "verifies_packages",
            {"srcs": ["verify/linux.deb", "verify/vmlinuz"]},
            ["linux.deb", "vmlinuz"],
        ),
        (
            "verifies_targets",
            {"srcs": [":verify_kernel", ":verify_disk", ":verify_modules"]},
            ["verify_kernel.btf", "disk.ko", "disk.ko"],
        ),
        ("verifies_directory", {"archive": ":verify_dir"}, ["--manifest", "verify_dir"]),
        ("verifies_tar", {"archive": ":verify_tar"}, ["--manifest", "verify_tar.tar"]),
    ]:
        btf_verify_test(name = target, tags = ["manual"], **attributes)
        _arguments_test(
            name = target + "_test",
            arguments = arguments,
            params = target + ".params",
            target_under_test = ":" + target,
        )
        tests.append(target + "_test")
    for target, attributes, message in [
        ("verifies_nothing", {}, "set either srcs or archive"),
        (
            "verifies_both",
            {"archive": ":verify_dir", "srcs": ["verify/linux.deb"]},
            "set either srcs or archive",
        ),
        (
            "verifies_no_modules",
            {"srcs": [":verify_kernel", ":verify_btf"]},
            "has the BTF of modules, but no modules: set embed = True",
        ),
        (
            "verifies_no_module",
            {"srcs": [":verify_kernel", ":verify_disk_btf"]},
            "has the BTF of a module, but no module: use a btf_embed",
        ),
    ]:
        btf_verify_test(name = target, tags = ["manual"], **attributes)
        _failure_test(name = target + "_test", message = message, target_under_test = ":" + target)
        tests.append(target + "_test")
    native.test_suite(name = name, tests = tests)
