"""Tests of the grain of modules_btf."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//rules:defs.bzl", "BtfModulesInfo", "btf_objects", "modules_btf", "vmlinux_btf")
load(":common.bzl", "actions_of", "elf_inputs", "names")

def _grain_impl(ctx):
    env = analysistest.begin(ctx)
    actions = actions_of(env, "BtfModules")
    asserts.equals(env, ctx.attr.actions, len(actions))
    written = []
    for action in actions:
        kos = [name for name in elf_inputs(action) if name.endswith(".ko")]
        asserts.true(env, len(kos) <= ctx.attr.most, "an action takes {}".format(kos))
        btfs = [name for name in names(action.outputs.to_list()) if name.endswith(".btf")]
        asserts.equals(env, [name.removesuffix(".ko") + ".btf" for name in kos], btfs)
        written.extend(btfs)
    target = analysistest.target_under_test(env)
    asserts.equals(env, sorted(written), names(target[DefaultInfo].files.to_list()))
    modules = target[BtfModulesInfo].modules
    asserts.equals(env, len(_MANY), len(modules))
    for module in modules:
        for file in [module.module, module.btf, module.skipped]:
            asserts.equals(env, module.name, file.basename.rsplit(".", 1)[0])
    return analysistest.end(env)

_grain_test = analysistest.make(_grain_impl, attrs = {
    "actions": attr.int(doc = "how many there are"),
    "most": attr.int(doc = "the maximum number of modules that one action converts"),
})

# Modules in two directories, and a few in others.
_MANY = ["many/d{}/d{}m{}.ko".format(d, d, m) for d in range(2) for m in range(12)] + [
    "many/few{}/f{}.ko".format(d, d)
    for d in range(3)
]

def module_grain_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in _MANY + ["many/kernel.o"]:
        write_file(name = file + "_file", out = file, content = [])
    btf_objects(name = "many_objects", srcs = ["many/kernel.o"], tags = ["manual"])
    vmlinux_btf(name = "many_kernel", srcs = [":many_objects"], tags = ["manual"])
    grains = {
        # The 12 modules of each directory are 2 groups, and the few others are one group.
        "8": (5, 12),
        "directory": (5, 12),
        "object": (27, 1),
    }
    for grain, (actions, most) in grains.items():
        target = "modules_of_grain_" + grain
        modules_btf(
            name = target,
            base = ":many_kernel",
            grain = grain,
            modules = _MANY,
            tags = ["manual"],
        )
        _grain_test(
            name = target + "_test",
            actions = actions,
            most = most,
            target_under_test = target,
        )
    native.test_suite(
        name = name,
        tests = ["modules_of_grain_{}_test".format(grain) for grain in grains],
    )
