"""The module extension that declares kernels."""

# These are the files that the stand-in takes from the kernel of e2e/linux, besides its modules.
_FILES = [
    ".config",
    ".tmp_vmlinux1",  # linked, without BTF
    "Module.symvers",
    "System.map",
    "include/config/kernel.release",
    "modules.builtin",
    "modules.builtin.modinfo",
    "modules.order",
]

_BUILD = """\
load("{rules}", "linux_kernel_exports", "linux_kernel_targets")

linux_kernel_targets(
    name = "_kernel_graph",
    modules = {modules},
    version = "{version}",
)

linux_kernel_exports(
    name = "kernel",
    graph = ":_kernel_graph",
)
"""

def _linux_image_impl(ctx):
    tree = ctx.getenv("KERNEL_DIR")
    if not tree:
        fail("KERNEL_DIR is not set: set it to what e2e/linux/kernel.sh prints")
    modules = [
        line.removesuffix(".o") + ".ko"
        for line in ctx.read(tree + "/modules.order", watch = "no").splitlines()
    ]
    for file in _FILES + modules:
        ctx.symlink(tree + "/" + file, "tree/" + file)
    ctx.file("BUILD.bazel", _BUILD.format(
        modules = modules,
        rules = Label("//internal:kernel_bundle.bzl"),
        version = ctx.read(tree + "/include/config/kernel.release", watch = "no").strip(),
    ))

_linux_image = repository_rule(
    implementation = _linux_image_impl,
    local = True,
)

def _linux_images_impl(ctx):
    for module in ctx.modules:
        for image in module.tags.image:
            _linux_image(name = image.name)

linux_images = module_extension(
    implementation = _linux_images_impl,
    tag_classes = {"image": tag_class(attrs = {"name": attr.string(mandatory = True)})},
)
