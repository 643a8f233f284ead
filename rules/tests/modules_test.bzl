"""Tests of modules_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfModulesInfo", "btf_objects", "modules_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _directory_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(outputs = [out], command = "exit 1")
    return [DefaultInfo(files = depset([out]))]

_directory = rule(
    implementation = _directory_impl,
    doc = "A directory whose files are not known before it is made.",
)

def _files_impl(ctx):
    env = analysistest.begin(ctx)
    for mnemonic in ["BtfGen", "BtfFacts", "BtfLink"]:
        asserts.equals(env, 2, len(actions_of(env, mnemonic)))
    asserts.equals(env, [], actions_of(env, "BtfModules"))
    link = actions_of(env, "BtfLink")[1]
    asserts.equals(env, ["modules_kernel.btfbase", "net.btfo", "net.facts"], elf_inputs(link))
    target = analysistest.target_under_test(env)
    asserts.equals(
        env,
        ["disk-fs.btf", "net.btf"],
        names(target[DefaultInfo].files.to_list()),
    )
    asserts.equals(
        env,
        ["disk-fs", "net"],
        [module.name for module in target[BtfModulesInfo].modules],
    )
    asserts.equals(
        env,
        ["disk-fs.skipped", "net.skipped"],
        names(target[OutputGroupInfo].btf_skipped.to_list()),
    )
    return analysistest.end(env)

_files_test = analysistest.make(_files_impl)

def _tree_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfModules")
    asserts.equals(env, ["modules_kernel.btfbase", "modules_tree"], elf_inputs(action))
    asserts.equals(
        env,
        [
            "modules",
            "-j",
            "4",
            "-o",
            "modules_tree.btf.d",
            "--skipped-dir",
            "modules_tree.skipped.d",
            "--base",
            "modules_kernel.btfbase",
            "modules_tree",
        ],
        arguments(action),
    )
    return analysistest.end(env)

_tree_test = analysistest.make(_tree_impl)
_same_name_test = analysistest.make(failure_test("are both the module net"), expect_failure = True)
_distilled_test = analysistest.make(failure_test("need no distilled base"), expect_failure = True)

def modules_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["kernel.o", "net.ko", "disk-fs.ko.debug", "other/net.ko"]:
        write_file(name = "modules_" + file + "_file", out = "modules/" + file, content = [])
    btf_objects(name = "modules_objects", srcs = ["modules/kernel.o"], tags = ["manual"])
    vmlinux_btf(name = "modules_kernel", srcs = [":modules_objects"], tags = ["manual"])
    _directory(name = "modules_tree", tags = ["manual"])
    modules_btf(
        name = "modules_of_files",
        base = ":modules_kernel",
        modules = ["modules/disk-fs.ko.debug", "modules/net.ko"],
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_of_tree",
        base = ":modules_kernel",
        modules = [":modules_tree"],
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_of_one_name",
        base = ":modules_kernel",
        modules = ["modules/net.ko", "modules/other/net.ko"],
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_distilled",
        base = ":modules_kernel",
        btf_features = ["default", "distilled_base"],
        modules = ["modules/net.ko"],
        tags = ["manual"],
    )
    _files_test(name = "modules_of_files_test", target_under_test = ":modules_of_files")
    _tree_test(name = "modules_of_tree_test", target_under_test = ":modules_of_tree")
    _same_name_test(name = "modules_of_one_name_test", target_under_test = ":modules_of_one_name")
    _distilled_test(name = "modules_distilled_test", target_under_test = ":modules_distilled")
    native.test_suite(
        name = name,
        tests = [
            ":modules_of_files_test",
            ":modules_of_tree_test",
            ":modules_of_one_name_test",
            ":modules_distilled_test",
        ],
    )
