"""btf_core_test: a test that BPF programs load on kernels."""

load("//rules:providers.bzl", "BtfMinInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":arguments.bzl", "argument_of")
load(":exec_groups.bzl", "TEST_EXEC_GROUP")
load(
    ":kernels.bzl",
    "NEEDS_ATTRS",
    "STRIP_PREFIX_ATTRS",
    "kernels_mistake",
    "kernels_of",
    "minimal_btfs",
    "needs_mistake",
    "needs_of",
)
load(":launcher.bzl", "LAUNCHER_EXEC_GROUPS", "launcher", "runfiles_path")
load(":mistakes.bzl", "first_mistake")
load(":run.bzl", "tool_mistake")

visibility("//rules/...")

def _made_mistake(target, needs):
    """What is wrong with a target in `kernels` that has BtfMinInfo: string, or None."""
    info = target[BtfMinInfo]
    kept = info.needs.to_list()
    for file in needs.to_list():
        if file not in kept:
            return "{} was made without {}: add that file to its needs".format(
                target.label,
                file.short_path,
            )
    if not info.hooks:
        return "{} lacks the functions that programs name: set hooks = True there".format(
            target.label,
        )
    if info.split:
        return "{} has a file for each module: set flat = True there".format(target.label)
    return None

def _minimal(ctx, needs, others):
    """The minimal BTF to check: list of BtfMinInfo. The targets in others have no BtfMinInfo."""
    made = [target[BtfMinInfo] for target in ctx.attr.kernels if BtfMinInfo in target]
    if others:
        made.append(minimal_btfs(ctx, needs, kernels_of(ctx, others)))
    return made

def _btf_core_test_impl(ctx):
    needs = needs_of(ctx)
    others = [target for target in ctx.attr.kernels if BtfMinInfo not in target]
    mistake = (
        tool_mistake(ctx, "btfcore") or
        tool_mistake(ctx, "btfcore", TEST_EXEC_GROUP) or
        needs_mistake(ctx) or
        first_mistake([_made_mistake(t, needs) for t in ctx.attr.kernels if BtfMinInfo in t]) or
        (kernels_mistake(ctx, others) if others else None)
    )
    if mistake:
        fail(mistake)
    minimal = _minimal(ctx, needs, others)
    args = ctx.actions.args()
    args.add_all(needs, before_each = "--needs", map_each = runfiles_path)
    expected = ctx.files.expected_failures
    args.add_all(expected, before_each = "--expect", map_each = runfiles_path)

    # Pass directories instead of files, so that the names of kernels include directories.
    args.add_all([argument_of(info.root) for info in minimal])
    return [launcher(
        ctx,
        "btfcore",
        "exec \"$tool\" check PARAMS \"$@\"",
        args,
        expected,
        depset(transitive = [needs] + [info.btfs for info in minimal]),
    )]

btf_core_test = rule(
    implementation = _btf_core_test_impl,
    doc = """Tests that BPF programs load on kernels, as far as BTF shows it. For each program and
kernel, the test prints a verdict, and what is missing.

```starlark
btf_core_test(
    name = "agent_loads_test",
    expected_failures = "expected_failures.txt",
    kernels = [":agent_btf"],
    needs = [":agent_needs"],
)
```

The test checks minimal BTF, on which a program loads if and only if it loads on the whole BTF. The
test uses the output of a `btf_min` as it is; for each other kernel there is a `BtfMin` action. So a
new kernel adds one action, and the test reads only a few kilobytes for each kernel. `bazel run
//:NAME -- --format=html -o FILE` writes a table.""",
    test = True,
    attrs = NEEDS_ATTRS | STRIP_PREFIX_ATTRS | {
        "expected_failures": attr.label(
            doc = """A text file that lists the programs that must fail, one line
`KERNEL PROGRAM` for each. No other program may fail. Lines that begin with `#` are comments.""",
            allow_single_file = True,
        ),
        "kernels": attr.label_list(
            doc = """The kernels: anything that the attribute `kernels` of a `btf_min` accepts, or
`btf_min` targets. These must set `hooks = True`, and also `flat = True` if they have modules. The
name of a kernel from a `btf_min` is the path of its file below the directory of that target,
without `.btf`.""",
            allow_empty = False,
            allow_files = True,
            mandatory = True,
        ),
    },
    exec_groups = LAUNCHER_EXEC_GROUPS,
    toolchains = [TOOLCHAIN_TYPE],
)
