"""Tests of vmlinux_btf and module_btf targets that have a linked file, but no srcs."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "module_btf", "vmlinux_btf")
load("//rules/private:convert_actions.bzl", "size_of")
load("//rules/private:run.bzl", "THREADS")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "only_action")

def _linked_impl(ctx):
    env = analysistest.begin(ctx)
    name = analysistest.target_under_test(env).label.name
    gen = only_action(env, "BtfGen")
    asserts.equals(env, [ctx.attr.file], elf_inputs(gen))
    asserts.equals(
        env,
        ["object", "-j", str(ctx.attr.threads), "-o", name + ".btfo"] +
        ["--features=default,global_var", "--lang-exclude=rust", ctx.attr.file],
        arguments(gen),
    )

    # The link reads the BTF object and the facts, not the linked file. A module's link is small.
    link = only_action(env, "BtfLink")
    asserts.equals(env, ["link", "-j", str(ctx.attr.threads)], arguments(link)[:3])
    asserts.equals(env, [], actions_of(env, "BtfMerge"))
    asserts.equals(
        env,
        sorted([name + ".btfo", name + ".facts"] + ctx.attr.bases),
        elf_inputs(link),
    )
    return analysistest.end(env)

_linked_test = analysistest.make(_linked_impl, attrs = {
    "bases": attr.string_list(),
    "file": attr.string(),
    "threads": attr.int(),
})

def _size_impl(ctx):
    env = unittest.begin(ctx)
    for name, is_directory, members, threads in [
        ("foo.o", False, [], 1),
        ("disk.ko", False, [], 1),
        ("disk.ko.debug", False, [], 1),
        ("vmlinux", False, [], THREADS),
        ("vmlinux.debug", False, [], THREADS),
        ("lib.a", False, [], 1),
        ("thin.a", False, ["foo.o"], THREADS),
        ("foo.o", False, ["bar.o"], 1),
        ("objects", True, [], THREADS),
        ("objects.o", True, [], THREADS),
    ]:
        extension = name.rpartition(".")[2] if "." in name else ""
        elf = struct(basename = name, extension = extension, is_directory = is_directory)
        for kernel in [True, False]:
            expected = threads if kernel else 1
            size = size_of(elf, struct(members = members), kernel)
            asserts.equals(env, expected, size.threads, "threads for " + name)
            reserved = size.resource_set("linux", 1)["cpu"]
            asserts.equals(env, expected, reserved, "CPUs reserved for " + name)
    return unittest.end(env)

_size_test = unittest.make(_size_impl)

_nothing_test = analysistest.make(
    failure_test("vmlinux_btf needs srcs (BTF objects), vmlinux (an ELF file with DWARF), or both"),
    expect_failure = True,
)

def linked_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "large.ko"]:
        write_file(name = "linked_" + file, out = "linked/" + file, content = [])
    how = {
        "btf_features": ["default", "global_var"],
        "lang_exclude": ["rust"],
        "tags": ["manual"],
    }
    vmlinux_btf(name = "linked_vmlinux", vmlinux = "linked/vmlinux.elf", **how)
    module_btf(name = "linked_module", base = ":linked_vmlinux", module = "linked/large.ko", **how)
    vmlinux_btf(name = "linked_nothing", tags = ["manual"])
    _linked_test(
        name = "linked_vmlinux_test",
        file = "vmlinux.elf",
        target_under_test = ":linked_vmlinux",
        threads = THREADS,
    )
    _linked_test(
        name = "linked_module_test",
        bases = ["linked_vmlinux.btfbase"],
        file = "large.ko",
        target_under_test = ":linked_module",
        threads = 1,
    )
    _size_test(name = "linked_size_test")
    _nothing_test(name = "linked_nothing_test", target_under_test = ":linked_nothing")
    native.test_suite(
        name = name,
        tests = [
            ":linked_vmlinux_test",
            ":linked_module_test",
            ":linked_size_test",
            ":linked_nothing_test",
        ],
    )
