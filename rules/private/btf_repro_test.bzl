"""btf_repro_test: a test that compares two builds by their execution logs."""

load(":exec_groups.bzl", "TEST_EXEC_GROUP")
load(":launcher.bzl", "LAUNCHER_EXEC_GROUPS", "launcher", "runfiles_path")
load(":run.bzl", "tool_mistake")

visibility("//rules/...")

def _btf_repro_test_impl(ctx):
    mistake = tool_mistake(ctx, "btfrepro", TEST_EXEC_GROUP)
    if mistake:
        fail(mistake)
    args = ctx.actions.args()
    args.add_joined(ctx.attr.mnemonics, join_with = ",", format_joined = "--mnemonic=%s")
    args.add_all(ctx.attr.allow, format_each = "--allow=%s")
    args.add_all(ctx.files.allow_file, format_each = "--allow-file=%s", map_each = runfiles_path)
    args.add_all([ctx.file.a, ctx.file.b], map_each = runfiles_path)
    files = [ctx.file.a, ctx.file.b] + ctx.files.allow_file
    return [launcher(ctx, "btfrepro", "exec \"$tool\" diff PARAMS \"$@\"", args, files)]

btf_repro_test = rule(
    implementation = _btf_repro_test_impl,
    doc = """Compares the logs of two builds, from `bazel build --execution_log_compact_file`, and
fails if an action differs. The test prints where the differences begin.
`--test_arg` adds flags of `btfrepro diff`, such as `--all`. A build can't read its own log, so
earlier steps of the CI must provide the files. [repro.md](repro.md) has examples, and describes
`btfrepro run`, which makes both builds itself.

```starlark
btf_repro_test(
    name = "repro_test",
    a = "first_runner.log",
    b = "second_runner.log",
    allow = ["mnemonic=Genrule output=*/build_info.txt # the time of the build"],
    mnemonics = ["BtfGen", "BtfMerge", "BtfLink"],
)
```""",
    test = True,
    attrs = {
        "a": attr.label(
            doc = "The log of one build.",
            allow_single_file = True,
            mandatory = True,
        ),
        "allow": attr.string_list(
            doc = """Expected differences. Each consists of patterns (`label=`, `mnemonic=`,
`output=`, `verdict=`) and a reason after `#`. An action may differ if all these patterns match it.
A difference that is caused only by such actions is allowed too.""",
        ),
        "allow_file": attr.label(
            doc = "A file with more expected differences, one per line.",
            allow_single_file = True,
        ),
        "b": attr.label(
            doc = "The log of the other build.",
            allow_single_file = True,
            mandatory = True,
        ),
        "mnemonics": attr.string_list(
            doc = "Compare only actions with these mnemonics. By default, compare all actions.",
        ),
    },
    exec_groups = LAUNCHER_EXEC_GROUPS,
)
