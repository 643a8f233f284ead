"""Tests of btf_archive."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "btf_archive", "module_btf", "modules_btf", "vmlinux_btf")
load(":common.bzl", "elf_inputs", "failure_test", "names", "only_action")

def _short(argument):
    """An argument in which the base name of the file replaces its path."""
    name, equals, file = argument.rpartition("=")
    return name + equals + file.rsplit("/", 1)[-1]

def _arguments_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfArchive")
    asserts.equals(env, ctx.attr.arguments, [_short(argument) for argument in action.argv[1:]])
    asserts.equals(env, ctx.attr.inputs, elf_inputs(action))
    files = analysistest.target_under_test(env)[DefaultInfo].files.to_list()
    asserts.equals(env, [ctx.attr.output], names(files))
    asserts.equals(env, ctx.attr.directory, files[0].is_directory)
    return analysistest.end(env)

_arguments_test = analysistest.make(
    _arguments_impl,
    attrs = {
        "arguments": attr.string_list(),
        "directory": attr.bool(),
        "inputs": attr.string_list(),
        "output": attr.string(),
    },
)

_other_kernel_test = analysistest.make(
    failure_test("is not based on"),
    expect_failure = True,
)
_other_kernels_test = analysistest.make(
    failure_test("the only base must be"),
    expect_failure = True,
)
_no_vmlinux_test = analysistest.make(failure_test("it has a base"), expect_failure = True)
_missing_base_test = analysistest.make(
    failure_test("which is not in modules: add that module"),
    expect_failure = True,
)
_other_path_test = analysistest.make(
    failure_test("but modules has no such module_btf"),
    expect_failure = True,
)

def _modules(name, srcs):
    """Declares BTF: of vmlinux, disk, raid (based on disk), and a module with a distilled base.

    Args:
        name: the name of the target with vmlinux's BTF.
        srcs: files for vmlinux and each of the three modules.
    """
    vmlinux_btf(name = name, srcs = [srcs[0]], tags = ["manual"])
    module_btf(name = name + "_disk_btf", base = ":" + name, module = srcs[1], tags = ["manual"])
    module_btf(
        name = name + "_raid_btf",
        base = ":" + name + "_disk_btf",
        module = srcs[2],
        tags = ["manual"],
    )
    module_btf(
        name = name + "_other_btf",
        base = ":" + name,
        btf_features = ["default", "distilled_base"],
        module = srcs[3],
        tags = ["manual"],
    )
    modules_btf(
        name = name + "_many",
        base = ":" + name,
        modules = [srcs[1]],
        tags = ["manual"],
    )

def _archives():
    """Declares the archives under test."""
    all_modules = [
        ":archived_many",
        ":archived_raid_btf",
        ":archived_disk_btf",
        ":archived_other_btf",
    ]
    btf_archive(
        name = "whole_release",
        modules = all_modules,
        paths = {":archived_disk_btf": "kernel/drivers/my-disk.ko"},
        release = "7.2.12",
        tags = ["manual"],
        vmlinux = ":archived",
    )
    btf_archive(
        name = "kernel_alone",
        format = "tar.zst",
        release = "7.2.12",
        tags = ["manual"],
        vmlinux = ":archived",
    )
    btf_archive(
        name = "inline_release",
        modules = [":inline_module", ":inline_distilled", ":inline_modules"],
        paths = {":inline_module": "kernel/my-disk.ko"},
        release = "7.4.0",
        tags = ["manual"],
        vmlinux = ":inline_kernel",
    )
    for name, attributes in {
        "wrong_base": {"modules": [":archived_raid_btf"]},
        "wrong_kernel": {"modules": [":another_disk_btf"]},
        "wrong_modules": {"modules": [":another_many"]},
        "wrong_path": {"paths": {":archived_disk_btf": "disk.ko"}},
        "wrong_vmlinux": {"vmlinux": ":archived_disk_btf"},
    }.items():
        btf_archive(
            name = name,
            release = "7.2.12",
            tags = ["manual"],
            **({"vmlinux": ":archived"} | attributes)
        )

def archive_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    files = ["vmlinux.btfo", "disk.ko", "raid.ko", "other.ko"]
    for file in files:
        write_file(name = "archive_" + file, out = "archive/" + file, content = [])
    srcs = ["archive/" + file for file in files]
    _modules(name = "archived", srcs = srcs)
    _modules(name = "another", srcs = srcs)
    _archives()
    _arguments_test(
        name = "whole_release_test",
        arguments = [
            "archive",
            "-j",
            "1",
            "-o",
            "whole_release",
            "--release",
            "7.2.12",
            "--vmlinux",
            "archived.btf",
            "--on=archived_raid=my-disk.ko",
            "archived_raid=archived_raid_btf.btf",
            "kernel/drivers/my-disk.ko=archived_disk_btf.btf",
            "--distilled-base=archived_other=archived_other_btf.base.btf",
            "archived_other=archived_other_btf.btf",
            "disk.btf",
        ],
        directory = True,
        inputs = [
            "archived.btf",
            "archived_disk_btf.btf",
            "archived_other_btf.base.btf",
            "archived_other_btf.btf",
            "archived_raid_btf.btf",
            "disk.btf",
        ],
        output = "whole_release",
        target_under_test = ":whole_release",
    )
    _arguments_test(
        name = "kernel_alone_test",
        arguments = [
            "archive",
            "-j",
            "1",
            "-o",
            "kernel_alone.tar.zst",
            "--release",
            "7.2.12",
            "--vmlinux",
            "archived.btf",
        ],
        inputs = ["archived.btf"],
        output = "kernel_alone.tar.zst",
        target_under_test = ":kernel_alone",
    )
    _arguments_test(
        name = "inline_release_test",
        arguments = [
            "archive",
            "-j",
            "1",
            "-o",
            "inline_release",
            "--release",
            "7.4.0",
            "--vmlinux",
            "inline_kernel.btf",
            "kernel/my-disk.ko=inline_module.btf",
            "kernel/my-disk.inline=inline_module.inline.btf",
            "--distilled-base=inline_distilled=inline_distilled.base.btf",
            "inline_distilled=inline_distilled.btf",
            "inline_distilled.inline=inline_distilled.inline.btf",
            "vmlinux.inline=inline_kernel.inline.btf",
            "disk.btf",
            "net.btf",
            "disk.inline.btf",
            "net.inline.btf",
        ],
        directory = True,
        inputs = [
            "disk.btf",
            "disk.inline.btf",
            "inline_distilled.base.btf",
            "inline_distilled.btf",
            "inline_distilled.inline.btf",
            "inline_kernel.btf",
            "inline_kernel.inline.btf",
            "inline_module.btf",
            "inline_module.inline.btf",
            "net.btf",
            "net.inline.btf",
        ],
        output = "inline_release",
        target_under_test = ":inline_release",
    )
    _other_kernel_test(name = "archive_kernel_test", target_under_test = ":wrong_kernel")
    _other_kernels_test(name = "archive_kernels_test", target_under_test = ":wrong_modules")
    _no_vmlinux_test(name = "archive_vmlinux_test", target_under_test = ":wrong_vmlinux")
    _missing_base_test(name = "archive_base_test", target_under_test = ":wrong_base")
    _other_path_test(name = "archive_path_test", target_under_test = ":wrong_path")
    native.test_suite(
        name = name,
        tests = [
            ":archive_base_test",
            ":archive_kernel_test",
            ":archive_kernels_test",
            ":archive_path_test",
            ":archive_vmlinux_test",
            ":inline_release_test",
            ":kernel_alone_test",
            ":whole_release_test",
        ],
    )
