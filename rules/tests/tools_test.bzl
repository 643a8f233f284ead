"""Tests that a transition over the rules' settings builds no other tools."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "btf_objects", "vmlinux_btf")

_SETTINGS = {
    str(Label("//rules/settings:btf_features")): ["default", "global_var"],
    str(Label("//rules/settings:grain")): "1",
    str(Label("//rules/settings:input")): "dwarf",
    str(Label("//rules/settings:lang_exclude")): ["rust"],
}

def _other_settings_impl(_settings, _attr):
    return _SETTINGS

_other_settings = transition(
    implementation = _other_settings_impl,
    inputs = [],
    outputs = _SETTINGS.keys(),
)

_ToolsInfo = provider(
    doc = "The tools that a target's actions run.",
    fields = {"tools": "dict from the mnemonic to the paths of the tools among the inputs"},
)

def _tools_aspect_impl(target, _ctx):
    return [_ToolsInfo(tools = {
        action.mnemonic: [
            file.path
            for file in action.inputs.to_list()
            if file.basename in ["btfgen", "btfdedup"]
        ]
        for action in target.actions
        if action.mnemonic.startswith("Btf")
    })]

_tools_aspect = aspect(implementation = _tools_aspect_impl)

def _same_tools_impl(ctx):
    env = analysistest.begin(ctx)
    plain = ctx.attr.plain[_ToolsInfo].tools
    other = ctx.attr.other[0][_ToolsInfo].tools
    asserts.equals(env, ["BtfBase", "BtfFacts", "BtfLink"], sorted(plain))

    # The path of a tool has its configuration in it: at the same path it is the same action's.
    asserts.equals(env, plain, other)
    return analysistest.end(env)

_same_tools_test = analysistest.make(
    _same_tools_impl,
    attrs = {
        "other": attr.label(aspects = [_tools_aspect], cfg = _other_settings),
        "plain": attr.label(aspects = [_tools_aspect]),
    },
)

def tools_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "one.btfo"]:
        write_file(name = "tools_" + file, out = "tools/" + file, content = [])
    vmlinux_btf(
        name = "some_kernel",
        srcs = ["tools/one.btfo"],
        tags = ["manual"],
        vmlinux = "tools/vmlinux.elf",
    )
    _same_tools_test(
        name = "same_tools_test",
        other = ":some_kernel",
        plain = ":some_kernel",
        target_under_test = ":some_kernel",
    )
    native.test_suite(name = name, tests = [":same_tools_test"])
