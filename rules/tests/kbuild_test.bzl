"""Tests of kbuild_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "loadingtest")
load("//kbuild:defs.bzl", "kbuild_btf")
load(":common.bzl", "actions_of", "arguments", "directory", "failure_test", "names", "only_action")

def _files_impl(ctx):
    env = analysistest.begin(ctx)
    files = analysistest.target_under_test(env)[DefaultInfo].files.to_list()
    asserts.equals(env, ctx.attr.files, names(files))
    asserts.equals(env, [], analysistest.target_actions(env))
    return analysistest.end(env)

_files_test = analysistest.make(_files_impl, attrs = {"files": attr.string_list()})

def _file_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(
        env,
        ["file", "-j", "1", "-o", "vmlinux", "vmlinux", "kbuild_kernel"],
        arguments(only_action(env, "BtfFile")),
    )
    return analysistest.end(env)

_file_test = analysistest.make(_file_impl)

def _vmlinux_impl(ctx):
    env = analysistest.begin(ctx)
    (link,) = [
        action
        for mnemonic in ["BtfGen", "BtfLink"]
        for action in actions_of(env, mnemonic)
        if "vmlinux" in arguments(action)
    ]
    asserts.true(env, "--lang-exclude=rust" in arguments(link), str(arguments(link)))
    asserts.equals(env, 1, len(actions_of(env, "BtfInline")))
    return analysistest.end(env)

_vmlinux_test = analysistest.make(_vmlinux_impl)

def _modules_impl(ctx):
    env = analysistest.begin(ctx)
    for mnemonic, flags in {
        "BtfEmbed": ["--inline", "--drop-signature"],
        "BtfModules": ["--lang-exclude=rust", "--inline-dir"],
    }.items():
        found = arguments(only_action(env, mnemonic))
        for argument in flags:
            asserts.true(env, argument in found, "{} in {}".format(argument, found))
        asserts.equals(env, "kbuild_kernel", found[-1])
        asserts.equals(env, ["--order", "modules.order"], found[found.index("--order"):][:2])
    return analysistest.end(env)

_modules_test = analysistest.make(_modules_impl)

_no_path_test = analysistest.make(
    failure_test("the path of a file in rules/tests/kbuild_kernel is empty"),
    expect_failure = True,
)

def _selected(value):
    return select({"//conditions:default": value})

_COMMON = {
    "exec_properties": {"btf_link.mem": "16g", "cpus": "4"},
    "tags": ["a-tag", "manual"],
    "testonly": True,
}

def kbuild_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    directory(name = "kbuild_kernel", tags = ["manual"], testonly = True)
    kbuild_btf(
        name = "kbuild_selected",
        tree = _selected(":kbuild_kernel"),
        vmlinux = _selected("out/vmlinux"),
        modules = _selected(True),
        order = _selected("out/modules.order"),
        btf_features = _selected(["default"]),
        drop_signature = _selected(True),
        embed = _selected(True),
        inline = _selected(True),
        lang_exclude = _selected(["rust"]),
        strict = _selected(True),
        **_COMMON
    )
    kbuild_btf(
        name = "kbuild_alone",
        modules = _selected(False),
        tags = ["manual"],
        testonly = True,
        tree = ":kbuild_kernel",
    )
    kbuild_btf(
        name = "kbuild_no_path",
        tags = ["manual"],
        testonly = True,
        tree = ":kbuild_kernel",
        vmlinux = "",
    )

    # The attributes that all rules have reach all targets.
    loading = loadingtest.make("kbuild_attributes")
    for part in ["", "_vmlinux", "_vmlinux_btf", "_order", "_modules_btf"]:
        attrs = native.existing_rule("kbuild_selected" + part)
        found = {key: attrs[key] for key in _COMMON}
        found["tags"] = sorted({tag: None for tag in attrs["tags"]}.keys())
        loadingtest.equals(loading, "kbuild" + part, _COMMON, found)

    _files_test(
        name = "kbuild_selected_test",
        files = ["kbuild_kernel.btf.d", "kbuild_selected_vmlinux_btf.btf"],
        target_under_test = ":kbuild_selected",
    )
    _files_test(
        name = "kbuild_alone_test",
        files = ["kbuild_alone_vmlinux_btf.btf"],
        target_under_test = ":kbuild_alone",
    )
    _file_test(name = "kbuild_file_test", target_under_test = ":kbuild_selected_vmlinux")
    _vmlinux_test(name = "kbuild_vmlinux_test", target_under_test = ":kbuild_selected_vmlinux_btf")
    _modules_test(name = "kbuild_modules_test", target_under_test = ":kbuild_selected_modules_btf")
    _no_path_test(name = "kbuild_no_path_test", target_under_test = ":kbuild_no_path_vmlinux")
    native.test_suite(
        name = name,
        tests = [
            ":kbuild_alone_test",
            ":kbuild_attributes_tests",
            ":kbuild_file_test",
            ":kbuild_modules_test",
            ":kbuild_no_path_test",
            ":kbuild_selected_test",
            ":kbuild_vmlinux_test",
        ],
    )
