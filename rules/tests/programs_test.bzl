"""Tests of bpf_needs, btf_min and btf_core_test."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "BpfNeedsInfo",
    "BtfMinInfo",
    "bpf_needs",
    "btf_core_test",
    "btf_import",
    "btf_min",
    "module_btf",
    "modules_btf",
)
load(":common.bzl", "actions_of", "arguments", "failure_test", "names", "only_action")

def _inputs(action):
    """Base names of the action's inputs without the tool and its parts."""
    return sorted([
        file.basename
        for file in action.inputs.to_list()
        if file.is_directory or file.extension in ["btf", "ko", "needs", "o", "xz"]
    ])

def _below(env, files):
    """Paths of files below the package."""
    package = analysistest.target_under_test(env).label.package + "/"
    return sorted([file.short_path.removeprefix(package) for file in files])

def _needs_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfNeeds")
    asserts.equals(
        env,
        ["needs", "-j", "1", "-o", "program_needs.needs", "exec.bpf.o", "net.bpf.o"],
        arguments(action),
    )
    asserts.equals(env, ["exec.bpf.o", "net.bpf.o"], _inputs(action))
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["program_needs.needs"], names(target[DefaultInfo].files.to_list()))
    asserts.equals(env, "program_needs.needs", target[BpfNeedsInfo].needs.basename)
    return analysistest.end(env)

_needs_test = analysistest.make(_needs_impl)

def _min_impl(ctx):
    env = analysistest.begin(ctx)
    found = analysistest.target_actions(env)

    # There are no other actions, and none of these runs again after an edit that doesn't change
    # what the programs need from the kernels.
    asserts.equals(env, ["BtfMin"] * len(ctx.attr.outputs), [action.mnemonic for action in found])
    asserts.equals(env, sorted(ctx.attr.kernels), sorted([
        name
        for action in found
        for name in _inputs(action)
        if name not in ctx.attr.shared
    ]))
    for action in found:
        asserts.equals(env, len(ctx.attr.shared) + 1, len(_inputs(action)))
    target = analysistest.target_under_test(env)
    asserts.equals(env, ctx.attr.outputs, _below(env, target[DefaultInfo].files.to_list()))
    asserts.equals(env, ctx.attr.outputs, _below(env, target[BtfMinInfo].btfs.to_list()))
    asserts.equals(env, ctx.attr.outputs, _below(env, target[OutputGroupInfo].btf_min.to_list()))
    if ctx.attr.arguments:
        asserts.equals(env, ctx.attr.arguments, arguments(found[0]))
        asserts.equals(env, ctx.attr.given, _names_given(found[0]))
    return analysistest.end(env)

def _names_given(action):
    """The names that a command line gives to files, as NAME=FILE."""
    return [
        argument.split("=")[0]
        for argument in action.argv
        if "=" in argument and argument[0] not in ["-", "."]
    ]

def _min_archive_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "BtfMinArchive")
    asserts.equals(env, ctx.attr.arguments, arguments(action))
    asserts.equals(env, ctx.attr.given, _names_given(action))
    asserts.equals(env, ctx.attr.inputs, _inputs(action))
    target = analysistest.target_under_test(env)
    asserts.equals(env, [ctx.attr.out], _below(env, target[DefaultInfo].files.to_list()))
    files = target[OutputGroupInfo].btf_min.to_list()
    asserts.equals(env, len(actions_of(env, "BtfMin")), len(files))
    asserts.equals(env, files, target[BtfMinInfo].btfs.to_list())
    return analysistest.end(env)

_min_archive_test = analysistest.make(
    _min_archive_impl,
    attrs = {
        "arguments": attr.string_list(),
        "given": attr.string_list(doc = "Names of kernels."),
        "inputs": attr.string_list(),
        "out": attr.string(doc = "Path below the package."),
    },
)

_min_test = analysistest.make(
    _min_impl,
    attrs = {
        "arguments": attr.string_list(doc = "Arguments of the first action."),
        "given": attr.string_list(doc = "Names of modules in the arguments."),
        "kernels": attr.string_list(doc = "Kernels, each of which is an input of only one action."),
        "outputs": attr.string_list(doc = "Paths below the package."),
        "shared": attr.string_list(doc = "Inputs of all actions."),
    },
)

def _core_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, ctx.attr.actions, len(actions_of(env, "BtfMin")))
    params = [
        action
        for action in analysistest.target_actions(env)
        if [file for file in action.outputs.to_list() if file.extension == "params"]
    ]
    asserts.equals(env, 1, len(params), "number of parameter files")
    asserts.equals(env, ctx.attr.arguments, params[0].content.splitlines())
    target = analysistest.target_under_test(env)
    runfiles = target[DefaultInfo].default_runfiles.files.to_list()
    for path in ctx.attr.runfiles:
        asserts.true(env, path in _below(env, runfiles), "no {} in {}".format(path, runfiles))
    for name in ["exec.bpf.o", "5.10.btf.tar.xz"]:
        asserts.false(env, name in names(runfiles), "{} in {}".format(name, runfiles))
    return analysistest.end(env)

_core_test = analysistest.make(
    _core_impl,
    attrs = {
        "actions": attr.int(),
        "arguments": attr.string_list(),
        "runfiles": attr.string_list(),
    },
)

# The key is the name of a target under test; the value is a part of the expected error.
_FAILURES = {
    "needs_of_archive": "is an archive",
    "needs_of_source": "clang -target bpf -g compiles",
    "needs_without_files": "does not produce any bpf_needs srcs files",
    "min_archive_of_modules": "set flat = True",
    "min_archive_of_odd_name": "1=2/5.10 can't be the name of a kernel",
    "min_of_directories": "a directory must be the only item of kernels",
    "min_of_directory_with_modules": "the attribute modules is for a single kernel",
    "min_of_flat": "flat = True is for modules, but there are none",
    "min_of_module": "is a module: put it into the attribute modules of a btf_min",
    "min_of_module_btf": "isn't a kernel: it has a base",
    "min_of_modules_btf": "has BTF of modules",
    "min_of_other_module": "the only base must be",
    "min_of_object": "is an object file",
    "min_of_odd_module": "3=4 can't be the name of a module",
    "min_of_prefix": "no kernel is below strip_prefix",
    "min_of_same_names": "are both the kernel 5.10",
    "min_of_two_with_modules": "the attribute modules is for a single kernel",
    "min_without_files": "does not produce any btf_min kernels files",
    "min_without_needs": "in the attribute needs, is neither a bpf_needs nor a .needs file: use a",
    "core_of_other_needs": "was made without",
    "core_of_same_names": "are both the kernel 5.10",
    "core_without_hooks": "set hooks = True there",
    "core_without_flat": "set flat = True there",
}

def _failure_impl(ctx):
    return failure_test(ctx.attr.message)(ctx)

_failure_test = analysistest.make(
    _failure_impl,
    attrs = {"message": attr.string()},
    expect_failure = True,
)

def _directory_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(outputs = [out], command = "exit 1")
    return [DefaultInfo(files = depset([out]))]

_directory = rule(implementation = _directory_impl, doc = "A tree artifact with kernels.")

def _wrong_needs():
    for name, srcs in {
        "needs_of_archive": ["programs/library.a"],
        "needs_of_source": ["programs/exec.bpf.c"],
        "needs_without_files": [":programs_nothing"],
    }.items():
        bpf_needs(name = name, srcs = srcs, tags = ["manual"])

def _wrong_min():
    for name, attributes in {
        "min_archive_of_modules": {
            "format": "tar",
            "kernels": [":programs_kernel"],
            "modules": [":programs_disk"],
        },
        "min_archive_of_odd_name": {
            "format": "tar",
            "kernels": ["programs/1=2/5.10.btf"],
            "strip_prefix": "programs",
        },
        "min_of_odd_module": {"kernels": [":programs_kernel"], "modules": [":3=4_btf"]},
        "min_of_directories": {"kernels": [":programs_kernels", "programs/debian/5.10.btf"]},
        "min_of_directory_with_modules": {
            "kernels": [":programs_kernels"],
            "modules": ["programs/disk.ko"],
        },
        "min_of_flat": {"flat": True},
        "min_of_module": {"kernels": ["programs/disk.ko"]},
        "min_of_module_btf": {"kernels": [":programs_disk"]},
        "min_of_modules_btf": {"kernels": [":programs_modules"]},
        "min_of_other_module": {"modules": [":programs_disk"]},
        "min_of_object": {"kernels": ["programs/exec.bpf.o"]},
        "min_of_prefix": {"strip_prefix": "elsewhere"},
        "min_of_same_names": {
            "kernels": ["programs/debian/5.10.btf", "programs/ubuntu/5.10.btf.tar.xz"],
        },
        "min_of_two_with_modules": {
            "kernels": [":programs_kernel", "programs/debian/5.10.btf"],
            "modules": ["programs/disk.ko"],
        },
        "min_without_files": {"kernels": [":programs_nothing"]},
        "min_without_needs": {"needs": ["programs/exec.bpf.o"]},
    }.items():
        btf_min(
            name = name,
            tags = ["manual"],
            **({"kernels": ["programs/debian/5.10.btf"], "needs": [":program_needs"]} | attributes)
        )

def _wrong_core():
    for name, attributes in {
        "core_of_other_needs": {
            "kernels": [":min_of_kernels"],
            "needs": ["programs/other.needs"],
        },
        "core_of_same_names": {
            "kernels": ["programs/debian/5.10.btf", "programs/ubuntu/5.10.btf.tar.xz"],
        },
        "core_without_hooks": {"kernels": [":min_without_hooks"]},
        "core_without_flat": {"kernels": [":min_with_modules"]},
    }.items():
        btf_core_test(
            name = name,
            tags = ["manual"],
            **({"needs": [":program_needs"]} | attributes)
        )

def _kernels():
    """Declares files, and other targets to which the targets under test refer."""
    for file in [
        "exec.bpf.c",
        "exec.bpf.o",
        "net.bpf.o",
        "library.a",
        "other.needs",
        "vmlinuz",
        "disk.ko",
        "expected.txt",
        "debian/5.10.btf",
        "ubuntu/5.10.btf.tar.xz",
        "1=2/5.10.btf",
    ]:
        write_file(name = "programs_" + file, out = "programs/" + file, content = [])
    native.filegroup(name = "programs_nothing")
    _directory(name = "programs_kernels", tags = ["manual"])
    btf_import(name = "programs_kernel", src = "programs/vmlinuz", tags = ["manual"])
    module_btf(
        name = "programs_disk",
        base = ":programs_kernel",
        module = "programs/disk.ko",
        tags = ["manual"],
    )
    module_btf(
        name = "3=4_btf",
        base = ":programs_kernel",
        module = "programs/disk.ko",
        tags = ["manual"],
    )
    modules_btf(
        name = "programs_modules",
        base = ":programs_kernel",
        modules = ["programs/disk.ko"],
        tags = ["manual"],
    )

def _min_targets():
    """Declares btf_min targets and their tests. Returns the labels of the tests."""
    bpf_needs(
        name = "program_needs",
        srcs = ["programs/exec.bpf.o", "programs/net.bpf.o"],
        tags = ["manual"],
    )
    for name, attributes in {
        "min_of_kernels": {
            "kernels": [":programs_kernel", "programs/ubuntu/5.10.btf.tar.xz"],
        },
        "min_of_paths": {
            "kernels": [
                ":programs_kernel",
                "programs/debian/5.10.btf",
                "programs/ubuntu/5.10.btf.tar.xz",
            ],
            "needs": [":program_needs", "programs/other.needs"],
            "strip_prefix": "programs",
        },
        "min_of_directory": {"kernels": [":programs_kernels"]},
        "min_with_modules": {
            "kernels": [":programs_kernel"],
            "modules": [":programs_modules", "programs/disk.ko"],
        },
        "min_with_flat_modules": {
            "flat": True,
            "kernels": [":programs_kernel"],
            "modules": [":programs_disk"],
        },
        "min_without_hooks": {"hooks": False, "kernels": ["programs/debian/5.10.btf"]},
        "min_archive": {
            "format": "tar.gz",
            "hooks": False,
            "kernels": [":programs_kernel", "programs/ubuntu/5.10.btf.tar.xz"],
            "strip_prefix": "programs",
        },
        "min_archive_of_directory": {"format": "tar.zst", "kernels": [":programs_kernels"]},
        "min_of_odd_path": {"kernels": ["programs/1=2/5.10.btf"]},
    }.items():
        btf_min(name = name, tags = ["manual"], **({"needs": [":program_needs"]} | attributes))
    options = ["min", "-j", "1"]
    needs = ["--needs", "program_needs.needs"]
    _min_archive_test(
        name = "min_archive_test",
        arguments = options + ["-o", "min_archive.tar.gz"] + needs +
                    ["--hooks=false", "--quiet", "programs_kernel.btf", "5.10.btf"],
        given = ["programs_kernel", "ubuntu/5.10"],
        inputs = ["5.10.btf", "program_needs.needs", "programs_kernel.btf"],
        out = "min_archive.tar.gz",
        target_under_test = ":min_archive",
    )
    _min_archive_test(
        name = "min_archive_of_directory_test",
        arguments = options + ["-o", "min_archive_of_directory.tar.zst"] + needs +
                    ["--quiet", "min_archive_of_directory"],
        inputs = ["min_archive_of_directory", "program_needs.needs"],
        out = "min_archive_of_directory.tar.zst",
        target_under_test = ":min_archive_of_directory",
    )
    for name, attributes in {
        "min_of_kernels": {
            "arguments": options + ["-o", "programs_kernel.btf"] + needs +
                         ["--quiet", "programs_kernel.btf"],
            "kernels": ["5.10.btf.tar.xz", "programs_kernel.btf"],
            "outputs": ["min_of_kernels/5.10.btf", "min_of_kernels/programs_kernel.btf"],
        },
        "min_of_paths": {
            "kernels": ["5.10.btf", "5.10.btf.tar.xz", "programs_kernel.btf"],
            "outputs": [
                "min_of_paths/debian/5.10.btf",
                "min_of_paths/programs_kernel.btf",
                "min_of_paths/ubuntu/5.10.btf",
            ],
            "shared": ["other.needs", "program_needs.needs"],
        },
        "min_of_directory": {
            "arguments": options + ["-d", "min_of_directory"] + needs +
                         ["--quiet", "programs_kernels"],
            "kernels": ["programs_kernels"],
            "outputs": ["min_of_directory"],
        },
        "min_with_modules": {
            "arguments": options + ["-d", "programs_kernel"] + needs +
                         ["--module", "disk.btf", "--module", "disk.ko", "--quiet"] +
                         ["programs_kernel.btf"],
            "kernels": ["programs_kernel.btf"],
            "outputs": ["min_with_modules/programs_kernel"],
            "shared": ["disk.btf", "disk.ko", "program_needs.needs"],
        },
        "min_with_flat_modules": {
            "arguments": options + ["-o", "programs_kernel.btf"] + needs +
                         ["--module", "programs_disk.btf", "--flat", "--quiet"] +
                         ["programs_kernel.btf"],
            "given": ["programs_disk"],
            "kernels": ["programs_kernel.btf"],
            "outputs": ["min_with_flat_modules/programs_kernel.btf"],
            "shared": ["program_needs.needs", "programs_disk.btf"],
        },
        "min_of_odd_path": {
            "arguments": options + ["-o", "5.10.btf"] + needs + ["--quiet", "5.10.btf"],
            "kernels": ["5.10.btf"],
            "outputs": ["min_of_odd_path/5.10.btf"],
        },
        "min_without_hooks": {
            "arguments": options + ["-o", "5.10.btf"] + needs +
                         ["--hooks=false", "--quiet", "5.10.btf"],
            "kernels": ["5.10.btf"],
            "outputs": ["min_without_hooks/5.10.btf"],
        },
    }.items():
        _min_test(
            name = name + "_test",
            target_under_test = ":" + name,
            **({"shared": ["program_needs.needs"]} | attributes)
        )
    return [
        ":min_archive_of_directory_test",
        ":min_archive_test",
        ":min_of_directory_test",
        ":min_of_kernels_test",
        ":min_of_odd_path_test",
        ":min_of_paths_test",
        ":min_with_flat_modules_test",
        ":min_with_modules_test",
        ":min_without_hooks_test",
    ]

def _core_targets():
    """Declares btf_core_test targets and their tests. Returns the labels of the tests."""
    btf_core_test(
        name = "core_of_kernels",
        expected_failures = "programs/expected.txt",
        kernels = ["programs/debian/5.10.btf", ":programs_kernel", ":min_of_directory"],
        needs = [":program_needs"],
        tags = ["manual"],
    )
    btf_core_test(
        name = "core_of_min",
        kernels = [":min_of_kernels", ":min_with_flat_modules"],
        needs = [":program_needs"],
        tags = ["manual"],
    )
    package = native.package_name() + "/"
    _core_test(
        name = "core_of_kernels_test",
        actions = 2,
        arguments = [
            "--needs",
            package + "program_needs.needs",
            "--expect",
            package + "programs/expected.txt",
            package + "min_of_directory",
            package + "core_of_kernels",
        ],
        runfiles = [
            "core_of_kernels/5.10.btf",
            "core_of_kernels/programs_kernel.btf",
            "min_of_directory",
            "program_needs.needs",
            "programs/expected.txt",
        ],
        target_under_test = ":core_of_kernels",
    )
    _core_test(
        name = "core_of_min_test",
        actions = 0,
        arguments = [
            "--needs",
            package + "program_needs.needs",
            package + "min_of_kernels",
            package + "min_with_flat_modules",
        ],
        runfiles = ["min_of_kernels/5.10.btf", "min_with_flat_modules/programs_kernel.btf"],
        target_under_test = ":core_of_min",
    )
    return [":core_of_kernels_test", ":core_of_min_test"]

def programs_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    _kernels()
    tests = _min_targets() + _core_targets()
    _needs_test(name = "program_needs_test", target_under_test = ":program_needs")
    tests.append(":program_needs_test")
    _wrong_needs()
    _wrong_min()
    _wrong_core()
    for target, message in _FAILURES.items():
        _failure_test(name = target + "_test", message = message, target_under_test = ":" + target)
        tests.append(":{}_test".format(target))
    native.test_suite(name = name, tests = tests)
