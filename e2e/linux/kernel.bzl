"""A built kernel tree as a repository."""

def _kernel_tree_impl(ctx):
    dir = ctx.getenv("KERNEL_DIR") if hasattr(ctx, "getenv") else ctx.os.environ.get("KERNEL_DIR")
    if not dir:
        fail("there is no kernel yet: run ./kernel.sh in e2e/linux")
    tree = ctx.path(dir)
    if not tree.exists:
        fail("{} is gone: run ./kernel.sh in e2e/linux".format(dir))
    for entry in tree.readdir():
        if entry.basename not in ["BUILD.bazel", "MODULE.bazel", "REPO.bazel", "WORKSPACE"]:
            ctx.symlink(entry, entry.basename)
    ctx.watch(tree.get_child("BUILD.bazel"))
    ctx.file("BUILD.bazel", ctx.read(tree.get_child("BUILD.bazel")))

kernel_tree = repository_rule(
    implementation = _kernel_tree_impl,
    doc = """The kernel's tree that the environment variable KERNEL_DIR names, with the BUILD file
that kernel.sh wrote there. kernel.bazelrc sets the variable.""",
    environ = ["KERNEL_DIR"],
    local = True,
)
