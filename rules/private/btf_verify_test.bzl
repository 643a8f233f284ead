"""btf_verify_test: a test that a kernel would load its modules with their BTF."""

load("@bazel_skylib//lib:shell.bzl", "shell")
load("//rules:providers.bzl", "BtfInfo", "BtfModulesInfo")
load(":arguments.bzl", "argument_of")
load(":mistakes.bzl", "first_mistake")
load(":run.bzl", "TEST_EXEC_GROUP", "TEST_EXEC_GROUPS", tools_of = "tools")

_SCRIPT = """#!/bin/sh
exec {tool} verify {params} "$@"
"""

_KERNELS = ["Image", "bzImage", "vmlinux", "vmlinuz"]

def _runfiles_path(file):
    return argument_of(file.short_path)

def _shipped(file):
    """The path of a file in a directory, or None if the file is neither a kernel nor a module.

    The files are passed one by one, because in a sandbox they are links, which `btfdedup verify`
    doesn't follow in a directory.
    """
    name = file.basename
    for suffix in [".gz", ".xz", ".zst"]:
        name = name.removesuffix(suffix)
    if name.endswith(".ko") or name.split("-")[0] in _KERNELS:
        return _runfiles_path(file)
    return None

def _files_of(target):
    """The files of a target in `srcs`: list of File."""
    if BtfModulesInfo in target:
        return target[OutputGroupInfo].btf_embedded.to_list()
    return target[DefaultInfo].files.to_list()

def _src_mistake(target):
    """What is wrong with a target in `srcs`: string, or None."""
    files = _files_of(target)
    if BtfModulesInfo in target:
        if files:
            return None
        return "{} has the BTF of modules, but no modules: set embed = True there".format(
            target.label,
        )
    if BtfInfo in target and target[BtfInfo].bases and target[BtfInfo].btf in files:
        return "{} has the BTF of a module, but no module: use a btf_embed with that BTF".format(
            target.label,
        )
    return None

def _btf_verify_test_impl(ctx):
    if bool(ctx.attr.archive) == bool(ctx.attr.srcs):
        fail("set either srcs or archive")
    mistake = first_mistake([_src_mistake(target) for target in ctx.attr.srcs])
    if mistake:
        fail(mistake)
    args = ctx.actions.args()
    args.set_param_file_format("multiline")
    if ctx.file.archive:
        files = [ctx.file.archive]
        args.add("--manifest")
        args.add_all(files, expand_directories = False, map_each = _runfiles_path)
    else:
        files = [file for target in ctx.attr.srcs for file in _files_of(target)]
        trees = [file for file in files if file.is_directory and not file.is_source]
        args.add_all([file for file in files if file not in trees], map_each = _runfiles_path)
        args.add_all(trees, map_each = _shipped)
    params = ctx.actions.declare_file(ctx.label.name + ".params")
    ctx.actions.write(params, args)

    tools = tools_of(ctx, TEST_EXEC_GROUP)
    btfdedup = tools.btfdedup.executable
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        _SCRIPT.format(
            params = shell.quote("@" + params.short_path),
            tool = shell.quote(btfdedup.short_path),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles([btfdedup, params] + files).merge(tools.runfiles[btfdedup])
    return [DefaultInfo(executable = script, runfiles = runfiles)]

btf_verify_test = rule(
    implementation = _btf_verify_test_impl,
    doc = """Tests that a kernel would load its [modules with their BTF](modules.md#does-it-load),
or that an archive of BTF [fits together](manifest.md).

```starlark
btf_verify_test(
    name = "modules_load_test",
    srcs = [
        "linux-binary-7.2.12.deb",
        "linux-modules-7.2.12.deb",
    ],
)

btf_verify_test(
    name = "archive_test",
    archive = ":release_btf",
)
```

The test prints what the kernel would do with each module. `bazel run //:NAME -- --format=json`
accepts all flags of `btfdedup verify`.""",
    test = True,
    attrs = {
        "archive": attr.label(
            doc = "A `btf_archive`, or a directory or tar archive that a `btf_archive` wrote.",
            allow_single_file = True,
        ),
        "srcs": attr.label_list(
            doc = """The kernels and their modules: packages (`.deb`, `.rpm`, tar archives), kernel
images, modules (compressed or not), directories, `btf_embed` targets, and `modules_btf` targets
with `embed = True`. A `vmlinux_btf` or `btf_import` is a kernel of which only the BTF is known. Of
a directory, only modules (`*.ko`) and kernels (`vmlinuz`, `vmlinux`, `Image`, `bzImage`, and these
names followed by `-` and a version) are read.""",
            allow_files = True,
        ),
    },
    exec_groups = TEST_EXEC_GROUPS,
)
