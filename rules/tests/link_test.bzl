"""Tests of vmlinux_btf, module_btf and btf_diff_test."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfInfo", "btf_diff_test", "btf_objects", "module_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "arguments", "elf_inputs", "failure_test", "names", "only_action")

def _vmlinux_impl(ctx):
    env = analysistest.begin(ctx)
    facts = only_action(env, "BtfFacts")
    asserts.equals(env, ["facts", "-j", "1", "-o", "kernel.facts", "vmlinux.elf"], arguments(facts))
    asserts.equals(env, ["vmlinux.elf"], elf_inputs(facts))
    link = only_action(env, "BtfLink")

    # The kernel itself isn't an input of the link, only facts about it.
    asserts.equals(
        env,
        ["group.0of1.btfo", "kernel.facts", "loose.btfo", "one.o.btfo"],
        elf_inputs(link),
    )
    asserts.equals(
        env,
        [
            "link",
            "-j",
            "4",
            "-o",
            "kernel.btf",
            "--skipped",
            "kernel.skipped",
            "--facts",
            "kernel.facts",
            "loose.btfo",
            "group.0of1.btfo",
            "one.o.btfo",
        ],
        arguments(link),
    )
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["kernel.btf"], names(target[DefaultInfo].files.to_list()))
    asserts.equals(env, ["kernel.skipped"], names(target[OutputGroupInfo].btf_skipped.to_list()))
    asserts.equals(env, [], target[BtfInfo].bases.to_list())
    return analysistest.end(env)

_vmlinux_test = analysistest.make(_vmlinux_impl)

def _chain_impl(ctx):
    env = analysistest.begin(ctx)
    link = only_action(env, "BtfLink")
    asserts.equals(
        env,
        [
            "link",
            "-j",
            "1",
            "-o",
            "third.btf",
            "--skipped",
            "third.skipped",
            "--facts",
            "third.facts",
            "--base",
            "kernel.btfbase",
            "--base",
            "first.btfbase",
            "--base",
            "second.btfbase",
            "third.btfo",
        ],
        arguments(link),
    )
    asserts.equals(
        env,
        ["first.btfbase", "kernel.btfbase", "second.btfbase", "third.btfo", "third.facts"],
        elf_inputs(link),
    )
    base = only_action(env, "BtfBase")
    asserts.equals(
        env,
        [
            "index",
            "-j",
            "1",
            "-o",
            "third.btfbase",
            "--base",
            "kernel.btf",
            "--base",
            "first.btf",
            "--base",
            "second.btf",
            "third.btf",
        ],
        arguments(base),
    )
    asserts.equals(env, ["first.btf", "kernel.btf", "second.btf", "third.btf"], elf_inputs(base))
    asserts.equals(env, ["third.ko"], elf_inputs(only_action(env, "BtfGen")))
    asserts.equals(env, ["third.ko"], elf_inputs(only_action(env, "BtfFacts")))
    bases = analysistest.target_under_test(env)[BtfInfo].bases.to_list()
    asserts.equals(
        env,
        ["kernel.btf", "first.btf", "second.btf"],
        [file.basename for file in bases],
    )
    return analysistest.end(env)

_chain_test = analysistest.make(_chain_impl)

def _module_of_objects_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [], actions_of(env, "BtfGen"))
    asserts.equals(env, [], actions_of(env, "BtfFacts"))
    asserts.equals(env, ["kernel.btfbase", "one.o.btfo"], elf_inputs(only_action(env, "BtfLink")))
    return analysistest.end(env)

_module_of_objects_test = analysistest.make(_module_of_objects_impl)

def _facts_features_impl(ctx):
    env = analysistest.begin(ctx)
    args = arguments(only_action(env, "BtfFacts"))
    asserts.true(env, "--features=default,global_var" in args, "features in {}".format(args))
    return analysistest.end(env)

_facts_features_test = analysistest.make(_facts_features_impl)

_facts_features_of_flag_test = analysistest.make(
    _facts_features_impl,
    config_settings = {str(Label("//rules/settings:btf_features")): ["default", "global_var"]},
)

def _variables_impl(ctx):
    env = analysistest.begin(ctx)
    links = {
        arguments(action)[4]: arguments(action)[5:]
        for action in actions_of(env, "BtfLink")
    }
    asserts.equals(env, ctx.attr.links, {out: " ".join(args) for out, args in links.items()})
    target = analysistest.target_under_test(env)
    extra = target[BtfInfo].extra
    asserts.equals(env, ctx.attr.extra, extra.basename if extra else "")
    asserts.equals(
        env,
        [ctx.attr.extra] if extra else [],
        names(target[OutputGroupInfo].btf_extra.to_list()),
    )
    asserts.equals(env, 1, len(target[DefaultInfo].files.to_list()))
    return analysistest.end(env)

_variables_test = analysistest.make(
    _variables_impl,
    attrs = {"extra": attr.string(), "links": attr.string_dict()},
)
_variables_of_features_test = analysistest.make(
    failure_test("converted without the feature global_var: add it to btf_features"),
    expect_failure = True,
)
_variables_of_nothing_test = analysistest.make(
    failure_test("no linked file, from which the addresses"),
    expect_failure = True,
)
_variables_on_distilled_test = analysistest.make(
    failure_test("and the feature distilled_base"),
    expect_failure = True,
)

_other_features_test = analysistest.make(
    failure_test("converted with different btf_features"),
    expect_failure = True,
)

def _distilled_impl(ctx):
    env = analysistest.begin(ctx)
    args = " ".join(arguments(only_action(env, "BtfLink")))
    asserts.true(env, "--distilled-base distilled.base.btf" in args, "output in {}".format(args))

    # The distilled base is made from the base's types, which an index doesn't have.
    asserts.true(env, "--base kernel.btf " in args, "base in {}".format(args))
    asserts.equals(env, [], actions_of(env, "BtfBase"))
    target = analysistest.target_under_test(env)
    base = ["distilled.base.btf"]
    asserts.equals(env, ["distilled.btf"], names(target[DefaultInfo].files.to_list()))
    asserts.equals(env, base, names(target[OutputGroupInfo].btf_distilled_base.to_list()))
    asserts.equals(env, base, names(target[BtfInfo].bases.to_list()))
    return analysistest.end(env)

_distilled_test = analysistest.make(_distilled_impl)
_on_distilled_test = analysistest.make(
    failure_test("so its ids belong to no kernel"),
    expect_failure = True,
)

def _diff_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    files = names(target[DefaultInfo].default_runfiles.files.to_list())
    for file in ["btfdedup", "compared.params", "first.btf", "kernel.btf", "second.btf"]:
        asserts.true(env, file in files, "{} in the runfiles {}".format(file, files))
    return analysistest.end(env)

_diff_test = analysistest.make(_diff_impl)

_nothing_test = analysistest.make(failure_test("module_btf needs srcs"), expect_failure = True)
_base_test = analysistest.make(
    failure_test("has no BTF of a kernel or module"),
    expect_failure = True,
)
_bases_twice_test = analysistest.make(
    failure_test("has its own bases: don't set other bases"),
    expect_failure = True,
)

def link_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    modules = ["first.ko", "second.ko", "third.ko"]
    for file in ["vmlinux.elf", "one.o", "two.o", "three.o", "loose.btfo"] + modules:
        write_file(name = file + "_file", out = "link/" + file, content = [])
    btf_objects(name = "pair", srcs = ["link/two.o", "link/three.o"], tags = ["manual"])
    btf_objects(name = "single", srcs = ["link/one.o"], tags = ["manual"])
    vmlinux_btf(
        name = "kernel",
        srcs = [":pair", ":single", "link/loose.btfo"],
        tags = ["manual"],
        vmlinux = "link/vmlinux.elf",
    )
    btf_objects(
        name = "variables",
        srcs = ["link/one.o"],
        btf_features = ["default", "global_var"],
        tags = ["manual"],
    )
    vmlinux_btf(
        name = "with_variables",
        srcs = [":variables"],
        tags = ["manual"],
        vmlinux = "link/vmlinux.elf",
    )
    targets = {"percpu": "percpu", "separate": "separate", "all": "together"}
    for variables, target in targets.items():
        vmlinux_btf(
            name = target,
            srcs = [":variables"],
            tags = ["manual"],
            variables = variables,
            vmlinux = "link/vmlinux.elf",
        )
    vmlinux_btf(
        name = "all_without_feature",
        srcs = [":single"],
        tags = ["manual"],
        variables = "all",
        vmlinux = "link/vmlinux.elf",
    )
    vmlinux_btf(
        name = "all_of_nothing",
        srcs = [":variables"],
        tags = ["manual"],
        variables = "all",
    )
    module_btf(
        name = "module_separate",
        base = ":separate",
        btf_features = ["default", "global_var"],
        module = "link/first.ko",
        tags = ["manual"],
        variables = "separate",
    )
    module_btf(
        name = "separate_on_distilled",
        base = ":separate",
        btf_features = ["default", "global_var", "distilled_base"],
        module = "link/first.ko",
        tags = ["manual"],
        variables = "separate",
    )
    vmlinux_btf(
        name = "with_both",
        srcs = [":variables", ":pair"],
        tags = ["manual"],
        vmlinux = "link/vmlinux.elf",
    )
    module_btf(name = "first", base = ":kernel", module = "link/first.ko", tags = ["manual"])
    module_btf(
        name = "distilled",
        base = ":kernel",
        btf_features = ["default", "distilled_base"],
        module = "link/first.ko",
        tags = ["manual"],
    )
    module_btf(
        name = "on_distilled",
        base = ":distilled",
        module = "link/second.ko",
        tags = ["manual"],
    )
    module_btf(name = "second", base = ":first", module = "link/second.ko", tags = ["manual"])
    module_btf(name = "third", base = ":second", module = "link/third.ko", tags = ["manual"])
    module_btf(name = "of_objects", srcs = [":single"], base = ":kernel", tags = ["manual"])
    module_btf(name = "of_nothing", base = ":kernel", tags = ["manual"])
    module_btf(name = "on_objects", base = ":single", module = "link/first.ko", tags = ["manual"])
    btf_diff_test(name = "compared", actual = ":second", expected = ":first", tags = ["manual"])
    btf_diff_test(
        name = "bases_twice",
        actual = ":second",
        actual_bases = [":kernel"],
        expected = ":first",
        tags = ["manual"],
    )

    _vmlinux_test(name = "vmlinux_test", target_under_test = ":kernel")
    _chain_test(name = "chain_test", target_under_test = ":third")
    _module_of_objects_test(name = "module_of_objects_test", target_under_test = ":of_objects")
    _facts_features_test(name = "facts_features_test", target_under_test = ":with_variables")
    _facts_features_of_flag_test(
        name = "facts_features_of_flag_test",
        target_under_test = ":kernel",
    )
    _variables_test(
        name = "variables_percpu_test",
        links = {
            "percpu.btf": ("--variables percpu --skipped percpu.skipped " +
                           "--facts percpu.facts one.o.btfo"),
        },
        target_under_test = ":percpu",
    )
    _variables_test(
        name = "variables_separate_test",
        extra = "separate-btf-extra.btf",
        links = {
            "separate.btf": ("--variables percpu --skipped separate.skipped " +
                             "--facts separate.facts one.o.btfo"),
            "separate-btf-extra.btf": ("--variables extra --skipped separate-btf-extra.skipped " +
                                       "--facts separate.facts --base separate.btfbase one.o.btfo"),
        },
        target_under_test = ":separate",
    )
    _variables_test(
        name = "variables_all_test",
        links = {
            "together.btf": ("--variables all --skipped together.skipped " +
                             "--facts together.facts one.o.btfo"),
        },
        target_under_test = ":together",
    )
    _variables_test(
        name = "variables_of_module_test",
        extra = "module_separate-btf-extra.btf",
        links = {
            "module_separate.btf": ("--variables percpu --skipped module_separate.skipped " +
                                    "--facts module_separate.facts --base separate.btfbase " +
                                    "module_separate.btfo"),
            "module_separate-btf-extra.btf": ("--variables extra " +
                                              "--skipped module_separate-btf-extra.skipped " +
                                              "--facts module_separate.facts " +
                                              "--base separate.btfbase " +
                                              "--base module_separate.btfbase " +
                                              "module_separate.btfo"),
        },
        target_under_test = ":module_separate",
    )
    _variables_of_features_test(
        name = "variables_of_features_test",
        target_under_test = ":all_without_feature",
    )
    _variables_of_nothing_test(
        name = "variables_of_nothing_test",
        target_under_test = ":all_of_nothing",
    )
    _variables_on_distilled_test(
        name = "variables_on_distilled_test",
        target_under_test = ":separate_on_distilled",
    )
    _other_features_test(name = "other_features_test", target_under_test = ":with_both")
    _distilled_test(name = "distilled_test", target_under_test = ":distilled")
    _on_distilled_test(name = "on_distilled_test", target_under_test = ":on_distilled")
    _diff_test(name = "diff_runfiles_test", target_under_test = ":compared")
    _nothing_test(name = "module_of_nothing_test", target_under_test = ":of_nothing")
    _base_test(name = "base_without_btf_test", target_under_test = ":on_objects")
    _bases_twice_test(name = "bases_twice_test", target_under_test = ":bases_twice")
    native.test_suite(
        name = name,
        tests = [
            ":vmlinux_test",
            ":chain_test",
            ":module_of_objects_test",
            ":facts_features_test",
            ":facts_features_of_flag_test",
            ":variables_percpu_test",
            ":variables_separate_test",
            ":variables_all_test",
            ":variables_of_module_test",
            ":variables_of_features_test",
            ":variables_of_nothing_test",
            ":variables_on_distilled_test",
            ":other_features_test",
            ":distilled_test",
            ":on_distilled_test",
            ":diff_runfiles_test",
            ":module_of_nothing_test",
            ":base_without_btf_test",
            ":bases_twice_test",
        ],
    )
