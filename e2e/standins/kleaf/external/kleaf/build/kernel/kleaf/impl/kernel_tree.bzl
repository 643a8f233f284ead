"""kernel_tree: the tree of the kernel that e2e/linux builds."""

def _kernel_tree_impl(ctx):
    tree = ctx.getenv("KERNEL_DIR")
    if not tree:
        fail("KERNEL_DIR is not set: set it to what e2e/linux/kernel.sh prints")
    modules = [
        line.removesuffix(".o") + ".ko"
        for line in ctx.read(tree + "/modules.order", watch = "no").splitlines()
    ]
    for file in [".tmp_vmlinux1"] + modules:
        ctx.symlink(tree + "/" + file, "tree/" + file)
    ctx.file("BUILD.bazel", """\
filegroup(
    name = "tree",
    srcs = glob(["tree/**"]),
    visibility = ["//visibility:public"],
)
""")

kernel_tree = repository_rule(
    implementation = _kernel_tree_impl,
    local = True,
)
