"""Tests of modules_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfModulesInfo", "btf_objects", "modules_btf", "vmlinux_btf")
load(
    ":common.bzl",
    "actions_of",
    "arguments",
    "directory",
    "elf_inputs",
    "failure_test",
    "names",
    "only_action",
)

def _files_impl(ctx):
    env = analysistest.begin(ctx)
    for mnemonic in ["BtfEmbed", "BtfGen", "BtfLink"]:
        asserts.equals(env, [], actions_of(env, mnemonic))
    action = only_action(env, "BtfModules")
    asserts.equals(env, ["modules_kernel.btfbase", "net.ko"], elf_inputs(action))
    asserts.equals(
        env,
        ["modules", "-j", "1", "-o", "modules_of_files", "--skipped-dir", "modules_of_files"] +
        ["--base", "modules_kernel.btfbase", "disk-fs.ko.debug", "net.ko"],
        arguments(action),
    )
    asserts.equals(
        env,
        ["disk-fs.btf", "disk-fs.skipped", "net.btf", "net.skipped"],
        names(action.outputs.to_list()),
    )
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
    asserts.equals(
        env,
        ["disk-fs.facts", "net.facts"],
        names(target[OutputGroupInfo].btf_facts.to_list()),
    )
    return analysistest.end(env)

_files_test = analysistest.make(_files_impl)

def _tree_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfModules")
    modules = ctx.attr.modules
    asserts.equals(env, sorted(["modules_kernel.btfbase", modules]), elf_inputs(action))
    asserts.equals(
        env,
        [
            "modules",
            "-j",
            "4",
            "-o",
            modules + ".btf.d",
            "--skipped-dir",
            modules + ".skipped.d",
            "--base",
            "modules_kernel.btfbase",
            modules,
        ],
        arguments(action),
    )
    return analysistest.end(env)

_tree_test = analysistest.make(
    _tree_impl,
    attrs = {"modules": attr.string(default = "modules_tree")},
)

def _order_impl(ctx):
    env = analysistest.begin(ctx)
    found = arguments(only_action(env, "BtfModules"))
    asserts.equals(env, ["--order", "modules.order", "modules_tree"], found[-3:])
    return analysistest.end(env)

_order_test = analysistest.make(_order_impl)

def _embed_files_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfEmbed")
    where = analysistest.target_under_test(env).label.name
    asserts.equals(
        env,
        ["embed", "-j", "1", "-o", where, "--btf"] + ctx.attr.flags +
        ["disk-fs.ko.debug", "net.ko"],
        arguments(action),
    )
    asserts.equals(env, ctx.attr.inputs + ["net.ko"], elf_inputs(action))
    found = arguments(only_action(env, "BtfModules"))
    asserts.equals(env, ctx.attr.flags[0], found[found.index("-o") + 1])
    asserts.equals(env, ["--base", "modules_kernel.btfbase"], found[-4:-2])
    target = analysistest.target_under_test(env)
    embedded = target[OutputGroupInfo].btf_embedded.to_list()
    where = "rules/tests/{}/".format(target.label.name)
    asserts.equals(
        env,
        ["disk-fs.ko", "net.ko"],
        [file.short_path.removeprefix(where) for file in embedded],
    )
    modules = target[BtfModulesInfo].modules
    asserts.equals(env, embedded, [module.embedded for module in modules])
    asserts.equals(
        env,
        ["disk-fs.btf", "net.btf"],
        [module.btf.short_path.removeprefix(where) for module in modules],
    )
    return analysistest.end(env)

_embed_files_test = analysistest.make(
    _embed_files_impl,
    attrs = {"flags": attr.string_list(), "inputs": attr.string_list()},
)

def _embed_tree_impl(ctx):
    env = analysistest.begin(ctx)
    found = arguments(only_action(env, "BtfEmbed"))
    asserts.equals(
        env,
        ["embed", "-j", "4", "-o", "modules_tree.ko.d", "--btf", "modules_tree.btf.d"] +
        ctx.attr.flags,
        found,
    )
    target = analysistest.target_under_test(env)
    asserts.equals(
        env,
        ["modules_tree.ko.d"],
        names(target[OutputGroupInfo].btf_embedded.to_list()),
    )
    return analysistest.end(env)

_embed_tree_test = analysistest.make(
    _embed_tree_impl,
    attrs = {"flags": attr.string_list()},
)

def _variables_of_files_impl(ctx):
    env = analysistest.begin(ctx)
    where = "variables_of_files"
    asserts.equals(
        env,
        ["modules", "-j", "1", "-o", where, "--skipped-dir", where, "--extra-dir", where] +
        ["--features=default,global_var", "--base", "modules_kernel.btf", "net.ko"],
        arguments(only_action(env, "BtfModules")),
    )
    target = analysistest.target_under_test(env)
    groups = target[OutputGroupInfo]
    asserts.equals(env, ["net.btf"], names(target[DefaultInfo].files.to_list()))
    asserts.equals(env, ["net-btf-extra.btf"], names(groups.btf_extra.to_list()))
    asserts.equals(env, ["net.facts"], names(groups.btf_facts.to_list()))
    asserts.equals(
        env,
        ["net-btf-extra.skipped", "net.skipped"],
        names(groups.btf_skipped.to_list()),
    )
    (module,) = target[BtfModulesInfo].modules
    asserts.equals(env, groups.btf_extra.to_list(), [module.extra])
    asserts.equals(env, "net.skipped", module.skipped.basename)
    return analysistest.end(env)

_variables_of_files_test = analysistest.make(_variables_of_files_impl)

def _variables_of_tree_impl(ctx):
    env = analysistest.begin(ctx)
    found = arguments(only_action(env, "BtfModules"))
    asserts.equals(env, ctx.attr.flags, found[found.index("modules_tree.skipped.d") + 1:])
    extra = analysistest.target_under_test(env)[OutputGroupInfo].btf_extra.to_list()
    asserts.equals(env, [name for name in ctx.attr.flags if "extra.d" in name], names(extra))
    return analysistest.end(env)

_variables_of_tree_test = analysistest.make(
    _variables_of_tree_impl,
    attrs = {"flags": attr.string_list()},
)
_variables_of_features_test = analysistest.make(
    failure_test("converted without the feature global_var"),
    expect_failure = True,
)
_same_name_test = analysistest.make(failure_test("are both the module net"), expect_failure = True)
_dash_test = analysistest.make(
    failure_test("net-nat.ko and rules/tests/modules/net_nat.ko are both the module net_nat"),
    expect_failure = True,
)
_object_test = analysistest.make(
    failure_test("modules/kernel.o is not a linked module: use the .ko file"),
    expect_failure = True,
)
_one_directory_name_test = analysistest.make(
    failure_test("have the same name, so their outputs would have the same name"),
    expect_failure = True,
)
_distilled_test = analysistest.make(failure_test("need no distilled base"), expect_failure = True)
_no_directory_test = analysistest.make(
    failure_test("needs a directory or an archive"),
    expect_failure = True,
)

def modules_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in [
        "kernel.o",
        "net.ko",
        "net-nat.ko",
        "net_nat.ko",
        "disk-fs.ko.debug",
        "all.tar.gz",
        "other/net.ko",
    ]:
        write_file(name = "modules_" + file + "_file", out = "modules/" + file, content = [])
    btf_objects(name = "modules_objects", srcs = ["modules/kernel.o"], tags = ["manual"])
    vmlinux_btf(name = "modules_kernel", srcs = [":modules_objects"], tags = ["manual"])
    directory(name = "modules_tree", tags = ["manual"])
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
        name = "modules_of_archive",
        base = ":modules_kernel",
        modules = ["modules/all.tar.gz"],
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_of_one_name",
        base = ":modules_kernel",
        modules = ["modules/net.ko", "modules/other/net.ko"],
        tags = ["manual"],
    )
    directory(name = "other/modules_tree", tags = ["manual"])
    wrong = {
        "modules_of_one_name_for_the_kernel": (
            _dash_test,
            ["modules/net-nat.ko", "modules/net_nat.ko"],
        ),
        "modules_that_are_objects": (_object_test, ["modules/kernel.o"]),
        "modules_of_directories_of_one_name": (
            _one_directory_name_test,
            [":modules_tree", ":other/modules_tree"],
        ),
    }
    for target, (test, modules) in wrong.items():
        modules_btf(name = target, base = ":modules_kernel", modules = modules, tags = ["manual"])
        test(name = target + "_test", target_under_test = ":" + target)
    modules_btf(
        name = "modules_distilled",
        base = ":modules_kernel",
        btf_features = ["default", "distilled_base"],
        modules = ["modules/net.ko"],
        tags = ["manual"],
    )
    modules_btf(
        name = "embedded_modules",
        base = ":modules_kernel",
        embed = True,
        modules = ["modules/disk-fs.ko.debug", "modules/net.ko"],
        tags = ["manual"],
    )
    modules_btf(
        name = "embedded_modules_with_their_ids",
        base = ":modules_kernel",
        embed = True,
        modules = ["modules/disk-fs.ko.debug", "modules/net.ko"],
        resolve_ids = False,
        tags = ["manual"],
    )
    for name_, resolve in {"embedded_tree": True, "embedded_tree_with_its_ids": False}.items():
        modules_btf(
            name = name_,
            base = ":modules_kernel",
            embed = True,
            modules = [":modules_tree"],
            resolve_ids = resolve,
            tags = ["manual"],
        )
    full = ["default", "global_var"]
    modules_btf(
        name = "variables_of_files",
        base = ":modules_kernel",
        btf_features = full,
        modules = ["modules/net.ko"],
        tags = ["manual"],
        variables = "separate",
    )
    for variables in ["percpu", "separate", "all"]:
        modules_btf(
            name = "variables_of_tree_" + variables,
            base = ":modules_kernel",
            btf_features = full,
            modules = [":modules_tree"],
            tags = ["manual"],
            variables = variables,
        )
    modules_btf(
        name = "modules_variables_of_features",
        base = ":modules_kernel",
        modules = ["modules/net.ko"],
        tags = ["manual"],
        variables = "separate",
    )
    write_file(name = "modules_order_file", out = "modules/modules.order", content = [])
    modules_btf(
        name = "modules_in_order",
        base = ":modules_kernel",
        modules = [":modules_tree"],
        order = "modules/modules.order",
        tags = ["manual"],
    )
    modules_btf(
        name = "embedded_tree_in_order",
        base = ":modules_kernel",
        embed = True,
        modules = [":modules_tree"],
        order = "modules/modules.order",
        resolve_ids = False,
        tags = ["manual"],
    )
    modules_btf(
        name = "modules_in_no_directory",
        base = ":modules_kernel",
        modules = ["modules/net.ko"],
        order = "modules/modules.order",
        tags = ["manual"],
    )
    _order_test(name = "modules_in_order_test", target_under_test = ":modules_in_order")
    _no_directory_test(
        name = "modules_in_no_directory_test",
        target_under_test = ":modules_in_no_directory",
    )
    _embed_files_test(
        name = "embedded_modules_test",
        flags = ["linked", "--resolve-ids", "--btf-out", "embedded_modules"] +
                ["--base", "modules_kernel.btf"],
        inputs = ["disk-fs.btf", "modules_kernel.btf", "net.btf"],
        target_under_test = ":embedded_modules",
    )
    _embed_files_test(
        name = "embedded_modules_with_their_ids_test",
        flags = ["embedded_modules_with_their_ids"],
        inputs = ["disk-fs.btf", "net.btf"],
        target_under_test = ":embedded_modules_with_their_ids",
    )
    _embed_tree_test(
        name = "embedded_tree_test",
        flags = ["--resolve-ids", "--btf-out", "modules_tree.btf.d"] +
                ["--base", "modules_kernel.btf", "modules_tree"],
        target_under_test = ":embedded_tree",
    )
    _embed_tree_test(
        name = "embedded_tree_with_its_ids_test",
        flags = ["modules_tree"],
        target_under_test = ":embedded_tree_with_its_ids",
    )
    _embed_tree_test(
        name = "embedded_tree_in_order_test",
        flags = ["--order", "modules.order", "modules_tree"],
        target_under_test = ":embedded_tree_in_order",
    )
    _variables_of_files_test(
        name = "variables_of_files_test",
        target_under_test = ":variables_of_files",
    )
    flags = ["--features=default,global_var", "--base"]
    for variables in ["percpu", "all"]:
        _variables_of_tree_test(
            name = "variables_of_tree_{}_test".format(variables),
            flags = flags + ["modules_kernel.btfbase", "--variables", variables, "modules_tree"],
            target_under_test = ":variables_of_tree_" + variables,
        )
    _variables_of_tree_test(
        name = "variables_of_tree_separate_test",
        flags = ["--extra-dir", "modules_tree.btf-extra.d"] + flags +
                ["modules_kernel.btf", "modules_tree"],
        target_under_test = ":variables_of_tree_separate",
    )
    _variables_of_features_test(
        name = "modules_variables_of_features_test",
        target_under_test = ":modules_variables_of_features",
    )
    _files_test(name = "modules_of_files_test", target_under_test = ":modules_of_files")
    _tree_test(name = "modules_of_tree_test", target_under_test = ":modules_of_tree")
    _tree_test(
        name = "modules_of_archive_test",
        modules = "all.tar.gz",
        target_under_test = ":modules_of_archive",
    )
    _same_name_test(name = "modules_of_one_name_test", target_under_test = ":modules_of_one_name")
    _distilled_test(name = "modules_distilled_test", target_under_test = ":modules_distilled")
    native.test_suite(
        name = name,
        tests = [
            ":modules_of_files_test",
            ":modules_of_archive_test",
            ":modules_of_tree_test",
            ":modules_in_order_test",
            ":modules_in_no_directory_test",
            ":embedded_modules_test",
            ":embedded_modules_with_their_ids_test",
            ":embedded_tree_test",
            ":embedded_tree_with_its_ids_test",
            ":embedded_tree_in_order_test",
            ":modules_of_one_name_test",
            ":modules_distilled_test",
            ":variables_of_files_test",
            ":variables_of_tree_percpu_test",
            ":variables_of_tree_separate_test",
            ":variables_of_tree_all_test",
            ":modules_variables_of_features_test",
        ] + [":" + target + "_test" for target in wrong],
    )
