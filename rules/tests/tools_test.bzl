"""Tests of the tools: a transition doesn't build them again; their runfiles; Make variables."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "bpf_needs",
    "btf_core_test",
    "btf_diff_test",
    "btf_min",
    "btf_repro_test",
    "btf_verify_test",
    "vmlinux_btf",
)
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE", "btf_toolchain")
load(":common.bzl", "failure_test")

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
    asserts.equals(env, ["BtfBase", "BtfFacts", "BtfImport", "BtfLink"], sorted(plain))

    # The path of a tool contains its configuration: the same path means the same action.
    asserts.equals(env, plain, other)
    return analysistest.end(env)

_same_tools_test = analysistest.make(
    _same_tools_impl,
    attrs = {
        "other": attr.label(aspects = [_tools_aspect], cfg = _other_settings),
        "plain": attr.label(aspects = [_tools_aspect]),
    },
)

_TOOLCHAINS = "//command_line_option:extra_toolchains"

_own_tools = transition(
    implementation = lambda _settings, _attr: {
        _TOOLCHAINS: str(Label("//rules/tests:own_tools_toolchain")),
    },
    inputs = [],
    outputs = [_TOOLCHAINS],
)

def _tool_impl(ctx):
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, "", is_executable = True)
    runfiles = ctx.runfiles(ctx.files.data)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_tool = rule(
    implementation = _tool_impl,
    doc = "A tool that needs files when it runs.",
    attrs = {"data": attr.label_list(allow_files = True)},
    executable = True,
)

def _runfiles_impl(ctx):
    env = analysistest.begin(ctx)
    runfiles = ctx.attr.test[0][DefaultInfo].default_runfiles.files.to_list()
    found = [file.basename for file in runfiles]
    for name in ["own_tool.sh", "needed.txt"]:
        asserts.true(env, name in found, "%s in %s" % (name, found))
    return analysistest.end(env)

_runfiles_test = analysistest.make(
    _runfiles_impl,
    attrs = {"test": attr.label(cfg = _own_tools)},
)

def _variables_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    variables = target[platform_common.TemplateVariableInfo].variables
    files = {file.basename: file.path for file in target[DefaultInfo].files.to_list()}
    asserts.equals(env, {
        name.upper(): files.get(name)
        for name in ["btfcore", "btfdedup", "btfgen", "btfrepro"]
    }, dict(variables))
    return analysistest.end(env)

_variables_test = analysistest.make(_variables_impl)

def _lacking_test(tool):
    """A test of what a toolchain without the optional tools lacks."""
    return analysistest.make(
        failure_test("the toolchain has no {0}: set the attribute {0} of its".format(tool)),
        config_settings = {_TOOLCHAINS: str(Label("//rules/tests:few_tools_toolchain"))},
        expect_failure = True,
    )

_lacking_core_test = _lacking_test("btfcore")
_lacking_repro_test = _lacking_test("btfrepro")

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
    write_file(name = "tools_needed", out = "tools/needed.txt", content = [])
    _tool(name = "own_tool", data = ["tools/needed.txt"], tags = ["manual"])
    btf_toolchain(
        name = "own_tools",
        btfcore = ":own_tool",
        btfdedup = ":own_tool",
        btfgen = ":own_tool",
        btfrepro = ":own_tool",
        tags = ["manual"],
        visibility = ["//visibility:public"],  # later Bazels check the visibility of toolchains
    )
    btf_toolchain(
        name = "few_tools",
        btfdedup = ":own_tool",
        btfgen = ":own_tool",
        tags = ["manual"],
        visibility = ["//visibility:public"],
    )
    for tools in ["own_tools", "few_tools"]:
        native.toolchain(
            name = tools + "_toolchain",
            toolchain = tools,
            toolchain_type = TOOLCHAIN_TYPE,
        )
    write_file(name = "tools_program", out = "tools/program.o", content = [])
    write_file(name = "tools_needs", out = "tools/program.needs", content = [])
    write_file(name = "tools_kernel", out = "tools/kernel.btf", content = [])
    btf_core_test(
        name = "core_by_own_tools",
        kernels = ["tools/kernel.btf"],
        needs = ["tools/program.needs"],
        tags = ["manual"],
    )
    btf_diff_test(
        name = "diff_by_own_tools",
        actual = "tools/one.btfo",
        expected = "tools/one.btfo",
        tags = ["manual"],
    )
    btf_repro_test(
        name = "repro_by_own_tools",
        a = "tools/one.btfo",
        b = "tools/one.btfo",
        tags = ["manual"],
    )
    btf_verify_test(
        name = "verify_by_own_tools",
        srcs = ["tools/kernel.btf"],
        tags = ["manual"],
    )
    _variables_test(
        name = "variables_test",
        target_under_test = "//rules/toolchain/current",
    )
    tests = [":same_tools_test", ":variables_test"]
    for tool in ["core", "diff", "repro", "verify"]:
        test = ":{}_by_own_tools".format(tool)
        _runfiles_test(name = test[1:] + "_test", target_under_test = test, test = test)
        tests.append(test + "_test")
    bpf_needs(name = "needs_by_own_tools", srcs = ["tools/program.o"], tags = ["manual"])
    btf_min(
        name = "min_by_own_tools",
        kernels = ["tools/kernel.btf"],
        needs = ["tools/program.needs"],
        tags = ["manual"],
    )
    for target, lacking_test in {
        "core": _lacking_core_test,
        "min": _lacking_core_test,
        "needs": _lacking_core_test,
        "repro": _lacking_repro_test,
    }.items():
        lacking_test(
            name = "lacking_{}_test".format(target),
            target_under_test = ":{}_by_own_tools".format(target),
        )
        tests.append(":lacking_{}_test".format(target))
    native.test_suite(name = name, tests = tests)
