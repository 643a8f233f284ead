"""btf_diff_test: a test that two BTF files have the same content."""

load("@bazel_skylib//lib:shell.bzl", "shell")
load("//rules:providers.bzl", "BtfInfo")
load(":arguments.bzl", "argument_of")
load(":run.bzl", "TEST_EXEC_GROUP", "TEST_EXEC_GROUPS", tools_of = "tools")

# The test prints at most this many differences, because Bazel hides test output of more than a
# megabyte (--experimental_ui_max_stdouterr_bytes).
_LIMIT = 300

def _runfiles_path(file):
    return argument_of(file.short_path)

def _side(target, bases, flag, args):
    """Adds the options of one side of the comparison to args.

    Returns:
        (file, depset of its bases)
    """
    if BtfInfo in target:
        if bases:
            fail("{} has its own bases: don't set other bases".format(target.label))
        file, chain = target[BtfInfo].btf, target[BtfInfo].bases
    else:
        file, chain = target[DefaultInfo].files.to_list()[0], depset(bases)
    args.add_all(chain, before_each = flag, map_each = _runfiles_path)
    return file, chain

def _btf_diff_test_impl(ctx):
    args = ctx.actions.args()
    args.set_param_file_format("multiline")
    actual, actual_bases = _side(ctx.attr.actual, ctx.files.actual_bases, "--base-a", args)
    expected, expected_bases = _side(ctx.attr.expected, ctx.files.expected_bases, "--base-b", args)
    args.add_all([actual, expected], map_each = _runfiles_path)
    params = ctx.actions.declare_file(ctx.label.name + ".params")
    ctx.actions.write(params, args)

    tools = tools_of(ctx, TEST_EXEC_GROUP)
    btfdedup = tools.btfdedup.executable
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec {} diff --limit={} {} \"$@\"\n".format(
            shell.quote(btfdedup.short_path),
            _LIMIT,
            shell.quote("@" + params.short_path),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles(
        [btfdedup, params, actual, expected],
        transitive_files = depset(transitive = [actual_bases, expected_bases]),
    ).merge(tools.runfiles[btfdedup])
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_btf_diff_test = rule(
    implementation = _btf_diff_test_impl,
    doc = "The test that the macro btf_diff_test declares.",
    test = True,
    attrs = {
        "actual": attr.label(allow_single_file = True, mandatory = True),
        "actual_bases": attr.label_list(allow_files = True),
        "expected": attr.label(allow_single_file = True, mandatory = True),
        "expected_bases": attr.label_list(allow_files = True),
    },
    exec_groups = TEST_EXEC_GROUPS,
)

def btf_diff_test(
        name,
        actual,
        expected,
        actual_bases = [],
        expected_bases = [],
        size = "small",
        **kwargs):
    """Tests that two BTF files hold the same types, functions and variables.

    Ids and order don't matter. The test prints a summary and the 300 most important differences;
    `bazel run //:NAME -- --limit=0` prints all of them, and accepts other flags of `btfdedup diff`
    too, such as `--name` or `--format=html`.

    ```starlark
    btf_diff_test(
        name = "same_as_pahole_test",
        actual = ":vmlinux_btf",
        expected = "pahole.btf",
    )
    ```

    Args:
        name: The test.
        actual: A `vmlinux_btf`, a `module_btf`, or a file with BTF.
        expected: The BTF to compare with, in the same forms.
        actual_bases: The bases of `actual`, the kernel's BTF first, if `actual` is a file. A
            `module_btf` names its bases itself.
        expected_bases: The bases of `expected`, in the same way.
        size: The test's size for Bazel. Comparing the BTF of a kernel takes a second or two.
        **kwargs: Attributes that all tests have, such as `tags`.
    """
    _btf_diff_test(
        name = name,
        actual = actual,
        actual_bases = actual_bases,
        expected = expected,
        expected_bases = expected_bases,
        size = size,
        **kwargs
    )
