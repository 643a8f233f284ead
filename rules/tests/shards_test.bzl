"""Tests of the attribute shards of vmlinux_btf and module_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "btf_objects", "module_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _three_impl(ctx):
    env = analysistest.begin(ctx)
    shards = ["1-of-3.elf", "2-of-3.elf", "3-of-3.elf"]
    split = only_action(env, "BtfSplit")
    asserts.equals(
        env,
        ["split", "-j", "4", "-o", shards[0], "-o", shards[1], "-o", shards[2]] +
        ["--lang-exclude=rust"] + ctx.attr.inputs[:1],
        arguments(split),
    )
    asserts.equals(env, sorted(ctx.attr.inputs), elf_inputs(split))
    asserts.equals(env, shards, names(split.outputs.to_list()))

    # No conversion reads the whole file, and each reads one shard.
    read = [elf_inputs(action) for action in actions_of(env, "BtfGen")]
    asserts.equals(env, [[shard] for shard in shards], sorted(read))
    for action in actions_of(env, "BtfGen"):
        args = arguments(action)
        asserts.true(env, "--lang-exclude=rust" in args, "languages in {}".format(args))
        asserts.true(env, "--features=default,global_var" in args, "features in {}".format(args))
    link = only_action(env, "BtfLink")
    asserts.equals(
        env,
        [shard + ".btfo" for shard in shards],
        [name for name in elf_inputs(link) if name.endswith(".btfo")],
    )
    args = arguments(only_action(env, "BtfFacts"))
    asserts.true(env, "--features=default,global_var" in args, "features in {}".format(args))
    return analysistest.end(env)

_three_test = analysistest.make(_three_impl, attrs = {"inputs": attr.string_list()})

def _many_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, 64, len(actions_of(env, "BtfGen")))
    asserts.true(env, len(actions_of(env, "BtfMerge")) > 1, "merges before the link")
    return analysistest.end(env)

_many_test = analysistest.make(_many_impl)

_nothing_test = analysistest.make(
    failure_test("needs srcs (BTF objects), or shards"),
    expect_failure = True,
)
_of_nothing_test = analysistest.make(failure_test("shards of nothing"), expect_failure = True)
_both_test = analysistest.make(
    failure_test("has srcs, which are converted already, and shards"),
    expect_failure = True,
)
_negative_test = analysistest.make(failure_test("there are from 1 to"), expect_failure = True)
_archives_test = analysistest.make(failure_test("archive has 0 files *.a"), expect_failure = True)

def shards_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "vmlinux.a", "one.o", "two.o", "large.ko"]:
        write_file(name = "shards_" + file, out = "shards/" + file, content = [])
    how = {
        "btf_features": ["default", "global_var"],
        "lang_exclude": ["rust"],
        "shards": 3,
        "tags": ["manual"],
    }
    btf_objects(name = "shards_objects", srcs = ["shards/one.o"], tags = ["manual"])
    vmlinux_btf(name = "sharded", vmlinux = "shards/vmlinux.elf", **how)
    vmlinux_btf(
        name = "sharded_archive",
        archive = ["shards/vmlinux.a", "shards/one.o", "shards/two.o"],
        vmlinux = "shards/vmlinux.elf",
        **how
    )
    module_btf(name = "sharded_module", base = ":sharded", module = "shards/large.ko", **how)
    vmlinux_btf(
        name = "sharded_much",
        shards = 64,
        tags = ["manual"],
        vmlinux = "shards/vmlinux.elf",
    )
    wrong = {
        "both": {"shards": 2, "srcs": [":shards_objects"], "vmlinux": "shards/vmlinux.elf"},
        "negative": {"shards": -1, "vmlinux": "shards/vmlinux.elf"},
        "no_archive": {"archive": ["shards/one.o"], "shards": 2},
        "no_file": {"shards": 2},
        "no_way": {"vmlinux": "shards/vmlinux.elf"},
    }
    for target, attrs in wrong.items():
        vmlinux_btf(name = "sharded_" + target, tags = ["manual"], **attrs)
    module_btf(
        name = "sharded_module_both",
        srcs = [":shards_objects"],
        base = ":sharded",
        module = "shards/large.ko",
        shards = 2,
        tags = ["manual"],
    )

    _three_test(
        name = "sharded_test",
        inputs = ["vmlinux.elf"],
        target_under_test = ":sharded",
    )
    _three_test(
        name = "sharded_archive_test",
        inputs = ["vmlinux.a", "one.o", "two.o"],
        target_under_test = ":sharded_archive",
    )
    _three_test(
        name = "sharded_module_test",
        inputs = ["large.ko"],
        target_under_test = ":sharded_module",
    )
    _many_test(name = "sharded_much_test", target_under_test = ":sharded_much")
    _both_test(name = "sharded_both_test", target_under_test = ":sharded_both")
    _both_test(name = "sharded_module_both_test", target_under_test = ":sharded_module_both")
    _negative_test(name = "sharded_negative_test", target_under_test = ":sharded_negative")
    _archives_test(name = "sharded_no_archive_test", target_under_test = ":sharded_no_archive")
    _of_nothing_test(name = "sharded_no_file_test", target_under_test = ":sharded_no_file")
    _nothing_test(name = "sharded_no_way_test", target_under_test = ":sharded_no_way")
    native.test_suite(
        name = name,
        tests = [
            ":sharded_test",
            ":sharded_archive_test",
            ":sharded_module_test",
            ":sharded_much_test",
            ":sharded_both_test",
            ":sharded_module_both_test",
            ":sharded_negative_test",
            ":sharded_no_archive_test",
            ":sharded_no_file_test",
            ":sharded_no_way_test",
        ],
    )
