"""Tests of btf_import."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfInfo", "btf_import", "module_btf", "modules_btf")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _kernel_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfImport")
    asserts.equals(
        env,
        ["import", "-j", "1", "-o", "shipped.btf", "vmlinuz"],
        arguments(action),
    )
    inputs = [file.basename for file in action.inputs.to_list()]
    asserts.true(env, "vmlinuz" in inputs, "inputs are {}".format(inputs))
    asserts.equals(env, ["shipped.btf"], elf_inputs(only_action(env, "BtfBase")))
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["shipped.btf"], names(target[DefaultInfo].files.to_list()))
    asserts.equals(env, ["shipped.btfbase"], names(target[OutputGroupInfo].btf_base.to_list()))
    asserts.equals(env, [], target[OutputGroupInfo].btf_skipped.to_list())
    info = target[BtfInfo]
    asserts.equals(env, "shipped.btf", info.btf.basename)
    asserts.equals(env, "shipped.btfbase", info.index.basename)
    asserts.equals(env, [], info.bases.to_list() + info.indices.to_list())
    asserts.false(env, info.distilled)
    asserts.equals(env, None, info.skipped)
    return analysistest.end(env)

_kernel_test = analysistest.make(_kernel_impl)

def _module_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfImport")
    asserts.equals(
        env,
        ["import", "-j", "1", "-o", "shipped_disk.btf", "--base", "shipped.btf", "disk.ko"],
        arguments(action),
    )
    asserts.equals(env, ["disk.ko", "shipped.btf"], elf_inputs(action))
    asserts.equals(
        env,
        ["shipped.btf", "shipped_disk.btf"],
        elf_inputs(only_action(env, "BtfBase")),
    )
    info = analysistest.target_under_test(env)[BtfInfo]
    asserts.equals(env, ["shipped.btf"], names(info.bases.to_list()))
    asserts.equals(env, ["shipped.btfbase"], names(info.indices.to_list()))
    return analysistest.end(env)

_module_test = analysistest.make(_module_impl)

def _on_top_impl(ctx):
    env = analysistest.begin(ctx)
    link = (actions_of(env, "BtfLink") + actions_of(env, "BtfModules"))[0]
    indices = [name for name in elf_inputs(link) if name.endswith(".btfbase")]
    asserts.equals(env, ctx.attr.indices, indices)
    return analysistest.end(env)

_on_top_test = analysistest.make(_on_top_impl, attrs = {"indices": attr.string_list()})

_distilled_base_test = analysistest.make(
    failure_test("so its ids belong to no kernel"),
    expect_failure = True,
)

_file_as_base_test = analysistest.make(
    failure_test("has no BTF of a kernel or module: use its vmlinux_btf or module_btf"),
    expect_failure = True,
)

def import_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinuz", "disk.ko", "raid.ko"]:
        write_file(name = "import_" + file, out = "import/" + file, content = [])
    btf_import(name = "shipped", src = "import/vmlinuz", tags = ["manual"])
    btf_import(
        name = "shipped_disk",
        src = "import/disk.ko",
        base = ":shipped",
        tags = ["manual"],
    )
    module_btf(
        name = "raid_on_shipped",
        base = ":shipped_disk",
        module = "import/raid.ko",
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_on_shipped",
        base = ":shipped",
        modules = ["import/disk.ko", "import/raid.ko"],
        tags = ["manual"],
    )
    module_btf(
        name = "distilled_on_shipped",
        base = ":shipped",
        btf_features = ["default", "distilled_base"],
        module = "import/disk.ko",
        tags = ["manual"],
    )
    btf_import(
        name = "shipped_on_distilled",
        src = "import/raid.ko",
        base = ":distilled_on_shipped",
        tags = ["manual"],
    )

    module_btf(
        name = "raid_on_file",
        base = "import/vmlinuz",
        module = "import/raid.ko",
        tags = ["manual"],
    )

    _kernel_test(name = "import_kernel_test", target_under_test = ":shipped")
    _module_test(name = "import_module_test", target_under_test = ":shipped_disk")
    _on_top_test(
        name = "import_base_test",
        indices = ["shipped.btfbase", "shipped_disk.btfbase"],
        target_under_test = ":raid_on_shipped",
    )
    _on_top_test(
        name = "import_base_of_many_test",
        indices = ["shipped.btfbase"],
        target_under_test = ":modules_on_shipped",
    )
    _distilled_base_test(
        name = "import_distilled_base_test",
        target_under_test = ":shipped_on_distilled",
    )
    _file_as_base_test(name = "import_file_as_base_test", target_under_test = ":raid_on_file")
    native.test_suite(
        name = name,
        tests = [
            ":import_file_as_base_test",
            ":import_kernel_test",
            ":import_module_test",
            ":import_base_test",
            ":import_base_of_many_test",
            ":import_distilled_base_test",
        ],
    )
