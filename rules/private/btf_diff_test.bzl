"""btf_diff_test: a test that two BTF files have the same content, or a compatible kABI."""

load("@bazel_skylib//lib:shell.bzl", "shell")
load("//rules:providers.bzl", "BtfInfo")
load(
    ":launcher.bzl",
    "HOST_EXEC_GROUPS",
    "LAUNCHER_EXEC_GROUPS",
    "launcher",
    "runfiles_path",
)
load(":mistakes.bzl", "first_mistake")

visibility("//rules/...")

# The test prints at most this many differences, because Bazel hides test output of more than a
# megabyte (--experimental_ui_max_stdouterr_bytes).
_LIMIT = 300

def _mistake(ctx):
    """What is wrong with the attributes: string, or None."""
    if not ctx.file.symbols and (ctx.attr.allow or ctx.files.allow_file):
        return "allow and allow_file need symbols"
    return first_mistake([
        "{} has its own bases: don't set other bases".format(target.label)
        for target, bases in [
            (ctx.attr.actual, ctx.files.actual_bases),
            (ctx.attr.expected, ctx.files.expected_bases),
        ]
        if bases and BtfInfo in target
    ])

def _side(target, bases, flag, args):
    """Adds the options of one side of the comparison to args.

    Returns:
        (file, depset of its bases)
    """
    if BtfInfo in target:
        file, chain = target[BtfInfo].btf, target[BtfInfo].bases
    else:
        file, chain = target[DefaultInfo].files.to_list()[0], depset(bases)
    args.add_all(chain, before_each = flag, map_each = runfiles_path)
    return file, chain

def _kabi_path(ctx):
    """The file in the workspace that NAME.update writes: string, or None."""
    file = ctx.file.expected
    if file.extension != "kabi" or file.short_path.startswith("../"):
        return None
    return file.short_path

def _add_kabi(ctx, args):
    """Adds the options of the kABI to args, and returns the files that they name."""
    if not ctx.file.symbols:
        return []
    files = [ctx.file.symbols] + ctx.files.allow_file
    args.add_all([ctx.file.symbols], format_each = "--symbols=%s", map_each = runfiles_path)
    args.add_all(ctx.attr.allow, format_each = "--allow=%s")
    args.add_all(ctx.files.allow_file, format_each = "--allow-file=%s", map_each = runfiles_path)
    return files

def _btf_diff_test_impl(ctx):
    mistake = _mistake(ctx)
    if mistake:
        fail(mistake)
    args = ctx.actions.args()
    files = _add_kabi(ctx, args)
    actual_flag, expected_flag = "--base-a", "--base-b"
    if files:  # the expected kABI is the old one
        actual_flag, expected_flag = expected_flag, actual_flag
    actual, actual_bases = _side(ctx.attr.actual, ctx.files.actual_bases, actual_flag, args)
    expected, expected_bases = _side(
        ctx.attr.expected,
        ctx.files.expected_bases,
        expected_flag,
        args,
    )
    args.add_all(
        [expected, actual] if files else [actual, expected],
        map_each = runfiles_path,
        expand_directories = False,
    )
    command = "\"$tool\" diff --limit={} PARAMS \"$@\"".format(_LIMIT)
    if files and _kabi_path(ctx):
        command += " || {{ echo 'to accept these changes: bazel run {}.update'; exit 1; }}".format(
            ctx.label,
        )
    return [launcher(
        ctx,
        "btfdedup",
        command,
        args,
        files + [actual, expected],
        depset(transitive = [actual_bases, expected_bases]),
    )]

_ATTRS = {
    "actual": attr.label(allow_single_file = True, mandatory = True),
    "actual_bases": attr.label_list(allow_files = True),
    "allow": attr.string_list(),
    "allow_file": attr.label(allow_single_file = True),
    "expected": attr.label(allow_single_file = True, mandatory = True),
    "symbols": attr.label(allow_single_file = True),
}

_btf_diff_test = rule(
    implementation = _btf_diff_test_impl,
    doc = "The test that the macro btf_diff_test declares.",
    test = True,
    attrs = _ATTRS | {"expected_bases": attr.label_list(allow_files = True)},
    exec_groups = LAUNCHER_EXEC_GROUPS,
)

_UPDATE = """if [ -z "$BUILD_WORKSPACE_DIRECTORY" ]; then
  echo 'use "bazel run", which says where the source tree is' >&2
  exit 1
fi
exec "$tool" dump --format=kabi -o "$BUILD_WORKSPACE_DIRECTORY"/{} PARAMS"""

def _btf_kabi_update_impl(ctx):
    path = _kabi_path(ctx)
    if not path:
        fail(
            ("expected is {}, which is no file *.kabi of this repository: set it to the file to " +
             "write").format(ctx.file.expected.short_path),
        )
    args = ctx.actions.args()
    files = _add_kabi(ctx, args)
    actual, bases = _side(ctx.attr.actual, ctx.files.actual_bases, "--base", args)
    args.add_all([actual], map_each = runfiles_path, expand_directories = False)
    command = _UPDATE.format(shell.quote(path))
    return [launcher(ctx, "btfdedup", command, args, files + [actual], bases, test = False)]

_btf_kabi_update = rule(
    implementation = _btf_kabi_update_impl,
    doc = "Writes the file `expected` of a btf_diff_test into the source tree.",
    executable = True,
    attrs = _ATTRS,
    exec_groups = HOST_EXEC_GROUPS,
)

def btf_diff_test(
        name,
        actual,
        expected,
        actual_bases = [],
        expected_bases = [],
        symbols = None,
        allow = [],
        allow_file = None,
        size = "small",
        **kwargs):
    """Tests that two BTF files hold the same types, functions and variables.

    Ids and order don't matter. The test prints a summary and the 300 most important differences;
    `bazel run //:NAME -- --limit=0` prints all of them, and accepts other flags of `btfdedup diff`
    too, such as `--name` or `--format=json`.

    ```starlark
    btf_diff_test(
        name = "same_as_pahole_test",
        actual = ":vmlinux_btf",
        expected = "pahole.btf",
    )
    ```

    With `symbols`, it tests the kABI: only these exported symbols and the types that they reach are
    compared, and only changes that break modules compiled for `expected` are failures
    ([diff.md](diff.md#kabi) has the rules).

    ```starlark
    btf_diff_test(
        name = "kabi_test",
        actual = ":vmlinux_btf",
        expected = "abi.kabi",
        symbols = "kabi_stablelist",
    )
    ```

    `bazel run //:kabi_test.update` writes `abi.kabi` into the source tree: a text that a reviewer
    can read. The name of `expected` must end with `.kabi`.

    Args:
        name: The test.
        actual: A `vmlinux_btf`, a `module_btf`, or a file with BTF. With `symbols`, it may also be
            a `btf_archive` or `modules_btf`: a kernel with its modules.
        expected: The BTF to compare with, in the same forms. With `symbols`, it is the old kABI,
            and it may be a file that `NAME.update` or `btfdedup dump --format=kabi` has written.
        actual_bases: The bases of `actual`, the kernel's BTF first, if `actual` is a file. A
            `module_btf` names its bases itself.
        expected_bases: The bases of `expected`, in the same way.
        symbols: The exported symbols: a `Module.symvers`, a kABI list of RHEL or Android, or a file
            with one name per line.
        allow: Incompatible changes that are allowed. Each consists of patterns (`type=`, `where=`,
            `change=`) and a reason after `#`.
        allow_file: A file with more of these, one per line.
        size: The test's size for Bazel. Comparing the BTF of a kernel takes a second or two.
        **kwargs: Attributes that all tests have, such as `tags`.
    """
    if symbols != None:
        _btf_kabi_update(
            name = name + ".update",
            actual = actual,
            actual_bases = actual_bases,
            allow = allow,
            allow_file = allow_file,
            expected = expected,
            symbols = symbols,
            tags = kwargs.get("tags", []) + ["manual"],
            testonly = True,
        )
    _btf_diff_test(
        name = name,
        actual = actual,
        actual_bases = actual_bases,
        expected = expected,
        allow = allow,
        allow_file = allow_file,
        expected_bases = expected_bases,
        symbols = symbols,
        size = size,
        **kwargs
    )
