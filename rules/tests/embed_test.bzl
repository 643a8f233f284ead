"""Tests of btf_embed and btf_section_object."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "BtfInfo",
    "btf_embed",
    "btf_objects",
    "btf_section_object",
    "module_btf",
    "vmlinux_btf",
)
load(":common.bzl", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _embed_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfEmbed")
    asserts.equals(
        env,
        ["embed", "-j", "1", "-o", ctx.attr.out] + ctx.attr.flags + [ctx.attr.elf],
        arguments(action),
    )
    target = analysistest.target_under_test(env)
    embedded = [flag for flag in ctx.attr.flags if flag == target.label.name + ".embedded.btf"]
    files = [flag for flag in ctx.attr.flags if "." in flag and flag not in embedded]
    asserts.equals(env, sorted(files + [ctx.attr.elf]), elf_inputs(action))
    asserts.equals(env, [ctx.attr.out], names(target[DefaultInfo].files.to_list()))
    path = target[DefaultInfo].files.to_list()[0].short_path
    asserts.equals(env, "rules/tests/" + (ctx.attr.path or ctx.attr.out), path)

    # Targets that are based on this target are based on the embedded BTF.
    info = target[BtfInfo]
    asserts.equals(env, (embedded or files)[0], info.btf.basename)
    if info.index:
        asserts.equals(env, info.btf.basename + "base", info.index.basename)
    return analysistest.end(env)

_embed_test = analysistest.make(
    _embed_impl,
    attrs = {
        "elf": attr.string(),
        "flags": attr.string_list(),
        "out": attr.string(),
        "path": attr.string(),
    },
)

_not_btf_test = analysistest.make(
    failure_test("has no BTF of a kernel or module"),
    expect_failure = True,
)
_file_test = analysistest.make(
    failure_test("btf: @@//rules/tests:embed/start.o has no BTF of a kernel or module: use its " +
                 "vmlinux_btf or module_btf, or a btf_import of the file"),
    expect_failure = True,
)

def embed_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "start.o", "disk.ko"]:
        write_file(name = "embed_" + file, out = "embed/" + file, content = [])
    btf_objects(name = "embed_objects", srcs = ["embed/start.o"], tags = ["manual"])
    vmlinux_btf(name = "embed_kernel", srcs = [":embed_objects"], tags = ["manual"])
    module_btf(
        name = "disk_btf",
        base = ":embed_kernel",
        module = "embed/disk.ko",
        tags = ["manual"],
    )
    module_btf(
        name = "distilled_disk_btf",
        base = ":embed_kernel",
        btf_features = ["default", "distilled_base"],
        module = "embed/disk.ko",
        tags = ["manual"],
    )
    btf_embed(name = "disk", src = "embed/disk.ko", btf = ":disk_btf", tags = ["manual"])
    vmlinux_btf(name = "embed_linked", tags = ["manual"], vmlinux = "embed/vmlinux.elf")
    btf_embed(
        name = "embedded_linked",
        src = "embed/vmlinux.elf",
        btf = ":embed_linked",
        tags = ["manual"],
    )
    module_btf(
        name = "linked_disk_btf",
        base = ":embedded_linked",
        module = "embed/disk.ko",
        tags = ["manual"],
    )
    btf_embed(
        name = "linked_disk",
        src = "embed/disk.ko",
        btf = ":linked_disk_btf",
        tags = ["manual"],
    )
    btf_embed(
        name = "distilled_disk",
        src = "embed/disk.ko",
        out = "out/other.ko",
        btf = ":distilled_disk_btf",
        drop_signature = True,
        tags = ["manual"],
    )
    btf_embed(
        name = "resolved_disk",
        src = "embed/disk.ko",
        btf = ":disk_btf",
        old_base = "embed/vmlinux.elf",
        tags = ["manual"],
    )
    btf_embed(
        name = "disk_with_its_ids",
        src = "embed/disk.ko",
        btf = ":disk_btf",
        old_base = "embed/vmlinux.elf",
        resolve_ids = False,
        tags = ["manual"],
    )
    btf_embed(
        name = "disk_of_objects",
        src = "embed/disk.ko",
        btf = ":embed_objects",
        tags = ["manual"],
    )
    btf_section_object(
        name = "kernel.btf",
        btf = ":embed_kernel",
        machine_of = "embed/start.o",
        tags = ["manual"],
    )

    _embed_test(
        name = "embed_test",
        elf = "disk.ko",
        flags = ["--btf", "disk_btf.btf", "--resolve-ids", "--btf-out", "disk.embedded.btf"] +
                ["--base", "embed_kernel.btf"],
        out = "disk.ko",
        path = "disk/disk.ko",
        target_under_test = ":disk",
    )
    _embed_test(
        name = "embed_vmlinux_test",  # which has no base, so it needs no old base either
        elf = "vmlinux.elf",
        flags = [
            "--btf",
            "embed_linked.btf",
            "--resolve-ids",
            "--btf-out",
            "embedded_linked.embedded.btf",
        ],
        out = "vmlinux.elf",
        path = "embedded_linked/vmlinux.elf",
        target_under_test = ":embedded_linked",
    )
    _embed_test(
        name = "embed_old_base_test",
        elf = "disk.ko",
        flags = [
            "--btf",
            "linked_disk_btf.btf",
            "--resolve-ids",
            "--btf-out",
            "linked_disk.embedded.btf",
            "--base",
            "embedded_linked.embedded.btf",
            "--old-base",
            "embed_linked.old.btf",
        ],
        out = "disk.ko",
        path = "linked_disk/disk.ko",
        target_under_test = ":linked_disk",
    )
    _embed_test(
        name = "embed_resolved_test",
        elf = "disk.ko",
        flags = [
            "--btf",
            "disk_btf.btf",
            "--resolve-ids",
            "--btf-out",
            "resolved_disk.embedded.btf",
            "--base",
            "embed_kernel.btf",
            "--old-base",
            "vmlinux.elf",
        ],
        out = "disk.ko",
        path = "resolved_disk/disk.ko",
        target_under_test = ":resolved_disk",
    )
    _embed_test(
        name = "embed_with_its_ids_test",
        elf = "disk.ko",
        flags = ["--btf", "disk_btf.btf", "--btf-out", "disk_with_its_ids.embedded.btf"],
        out = "disk.ko",
        path = "disk_with_its_ids/disk.ko",
        target_under_test = ":disk_with_its_ids",
    )
    _embed_test(
        name = "embed_distilled_test",
        elf = "disk.ko",
        flags = [
            "--btf",
            "distilled_disk_btf.btf",
            "--btf-base",
            "distilled_disk_btf.base.btf",
            "--drop-signature",
            "--resolve-ids",
            "--btf-out",
            "distilled_disk.embedded.btf",
        ],
        out = "other.ko",
        path = "out/other.ko",
        target_under_test = ":distilled_disk",
    )
    _embed_test(
        name = "section_object_test",
        elf = "start.o",
        flags = ["--btf", "embed_kernel.btf", "--object"],
        out = "kernel.btf.o",
        target_under_test = ":kernel.btf",
    )
    btf_embed(
        name = "disk_of_file",
        src = "embed/disk.ko",
        btf = "embed/start.o",
        tags = ["manual"],
    )
    _file_test(name = "embed_file_test", target_under_test = ":disk_of_file")
    _not_btf_test(name = "embed_not_btf_test", target_under_test = ":disk_of_objects")
    native.test_suite(
        name = name,
        tests = [
            ":embed_test",
            ":embed_old_base_test",
            ":embed_resolved_test",
            ":embed_vmlinux_test",
            ":embed_with_its_ids_test",
            ":embed_distilled_test",
            ":section_object_test",
            ":embed_not_btf_test",
            ":embed_file_test",
        ],
    )
