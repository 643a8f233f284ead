"""Tests of the attribute inline of vmlinux_btf, module_btf and modules_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "BtfInfo",
    "BtfModulesInfo",
    "btf_objects",
    "module_btf",
    "modules_btf",
    "vmlinux_btf",
)
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _inline_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    name = target.label.name
    action = only_action(env, "BtfInline")
    asserts.equals(
        env,
        ["inline", "-j", str(ctx.attr.threads), "-o", name + ".inline.btf"] +
        ["--skipped", name + ".inline.skipped"] + ctx.attr.flags,
        arguments(action),
    )
    asserts.equals(env, sorted(ctx.attr.inputs), elf_inputs(action))

    # No other action reads the sites, so nothing else runs again when they change.
    for other in analysistest.target_actions(env):
        asserts.false(env, name + ".inline.btf" in names(other.inputs.to_list()), other.mnemonic)
    asserts.equals(env, name + ".inline.btf", target[BtfInfo].inline.basename)
    groups = target[OutputGroupInfo]
    asserts.equals(env, [name + ".inline.btf"], names(groups.btf_inline.to_list()))
    asserts.true(env, name + ".inline.skipped" in names(groups.btf_skipped.to_list()))
    asserts.equals(env, [name + ".btf"], names(target[DefaultInfo].files.to_list()))
    return analysistest.end(env)

_inline_test = analysistest.make(
    _inline_impl,
    attrs = {
        "flags": attr.string_list(),
        "inputs": attr.string_list(),
        "threads": attr.int(default = 1),
    },
)

def _without_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, [], actions_of(env, "BtfInline"))
    asserts.equals(env, None, target[BtfInfo].inline)
    asserts.equals(env, [], target[OutputGroupInfo].btf_inline.to_list())
    return analysistest.end(env)

_without_test = analysistest.make(_without_impl)

def _modules_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfModules")
    asserts.equals(
        env,
        ["modules", "-j", "1", "-o", "inline_modules", "--skipped-dir", "inline_modules"] +
        ["--inline-dir", "inline_modules", "--base", "inline_kernel.btf", "disk.ko", "net.ko"],
        arguments(action),
    )
    outputs = ["disk.btf", "disk.inline.btf", "disk.inline.skipped", "disk.skipped"]
    asserts.equals(
        env,
        outputs + [file.replace("disk", "net") for file in outputs],
        names(action.outputs.to_list()),
    )
    target = analysistest.target_under_test(env)
    inline = ["disk.inline.btf", "net.inline.btf"]
    asserts.equals(env, inline, names(target[OutputGroupInfo].btf_inline.to_list()))
    asserts.equals(env, inline, names([m.inline for m in target[BtfModulesInfo].modules]))
    return analysistest.end(env)

_modules_test = analysistest.make(_modules_impl)

_of_nothing_test = analysistest.make(
    failure_test("inline = True needs a linked file, because its DWARF has the sites"),
    expect_failure = True,
)
_of_btf_test = analysistest.make(
    failure_test("BTF from compilers has no sites of inlined functions: remove input"),
    expect_failure = True,
)

def inline_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "one.o", "disk.ko", "net.ko"]:
        write_file(name = "inline_" + file, out = "inline/" + file, content = [])
    btf_objects(name = "inline_objects", srcs = ["inline/one.o"], tags = ["manual"])
    vmlinux_btf(
        name = "inline_kernel",
        srcs = [":inline_objects"],
        inline = True,
        lang_exclude = ["rust"],  # in the linked file
        tags = ["manual"],
        vmlinux = "inline/vmlinux.elf",
    )
    vmlinux_btf(
        name = "inline_of_nothing",
        srcs = [":inline_objects"],
        inline = True,
        tags = ["manual"],
    )
    vmlinux_btf(
        name = "inline_of_btf",
        inline = True,
        input = "btf",
        tags = ["manual"],
        vmlinux = "inline/vmlinux.elf",
    )
    module_btf(
        name = "inline_module",
        base = ":inline_kernel",
        inline = True,
        input = "dwarf",
        module = "inline/disk.ko",
        tags = ["manual"],
    )
    module_btf(
        name = "inline_distilled",
        base = ":inline_kernel",
        btf_features = ["default", "distilled_base"],
        inline = True,
        module = "inline/disk.ko",
        tags = ["manual"],
    )
    module_btf(
        name = "without_inline",
        base = ":inline_kernel",
        module = "inline/disk.ko",
        tags = ["manual"],
    )
    modules_btf(
        name = "inline_modules",
        base = ":inline_kernel",
        inline = True,
        modules = ["inline/disk.ko", "inline/net.ko"],
        tags = ["manual"],
    )
    _inline_test(
        name = "inline_kernel_test",
        flags = ["--base", "inline_kernel.btf", "--lang-exclude=rust", "vmlinux.elf"],
        inputs = ["inline_kernel.btf", "vmlinux.elf"],
        target_under_test = ":inline_kernel",
        threads = 4,
    )
    _inline_test(
        name = "inline_module_test",
        flags = ["--base", "inline_kernel.btf", "--base", "inline_module.btf", "disk.ko"],
        inputs = ["disk.ko", "inline_kernel.btf", "inline_module.btf"],
        target_under_test = ":inline_module",
    )
    _inline_test(
        name = "inline_distilled_test",
        flags = ["--base", "inline_distilled.base.btf", "--base", "inline_distilled.btf"] +
                ["--features=default,distilled_base", "disk.ko"],
        inputs = ["disk.ko", "inline_distilled.base.btf", "inline_distilled.btf"],
        target_under_test = ":inline_distilled",
    )
    _without_test(name = "without_inline_test", target_under_test = ":without_inline")
    _modules_test(name = "inline_modules_test", target_under_test = ":inline_modules")
    _of_nothing_test(name = "inline_of_nothing_test", target_under_test = ":inline_of_nothing")
    _of_btf_test(name = "inline_of_btf_test", target_under_test = ":inline_of_btf")
    native.test_suite(
        name = name,
        tests = [
            ":inline_kernel_test",
            ":inline_module_test",
            ":inline_distilled_test",
            ":without_inline_test",
            ":inline_modules_test",
            ":inline_of_nothing_test",
            ":inline_of_btf_test",
        ],
    )
