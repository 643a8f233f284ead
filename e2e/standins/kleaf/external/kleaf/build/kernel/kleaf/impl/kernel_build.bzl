"""kernel_build: Kbuild as one action."""

load(":btf.bzl", "btf")
load(":common_providers.bzl", "KernelEnvInfo", "KernelUnstrippedModulesInfo")
load(":kernel_env.bzl", "kernel_env")

def _kernel_build_impl(ctx):
    env = ctx.attr.env[KernelEnvInfo]
    name = ctx.label.name
    outs = {out: ctx.actions.declare_file(name + "/" + out) for out in ctx.attr.outs}
    modules = {out: ctx.actions.declare_file(name + "/" + out) for out in ctx.attr.module_outs}
    unstripped = ctx.actions.declare_directory(name + "/unstripped")
    tree = [f for f in ctx.files._tree if f.basename == ".tmp_vmlinux1"][0]
    command = env.setup + """
OUT_DIR=$PWD/out
mkdir -p $OUT_DIR
make -s -j2 -C $OUT_DIR -f $ROOT_DIR/{makefile} TREE=$ROOT_DIR/{tree} MODULES="{modules}" \
  ${{TOOL_ARGS}}
""".format(
        makefile = ctx.file._makefile.path,
        modules = " ".join(modules),
        tree = tree.dirname,
    )
    for out, file in outs.items():
        command += "cp out/{} {}\n".format(out, file.path)
    for out, file in modules.items():
        command += "cp out/{} {}\n".format(out, unstripped.path)
        command += "llvm-strip --strip-debug -o {} out/{}\n".format(file.path, out)
    ctx.actions.run_shell(
        command = command,
        inputs = depset(ctx.files._tree + [ctx.file._makefile], transitive = [env.inputs]),
        mnemonic = "KernelBuild",
        outputs = outs.values() + modules.values() + [unstripped],
        tools = env.tools,
    )
    files = outs | modules
    return [
        DefaultInfo(files = depset(files.values())),
        KernelUnstrippedModulesInfo(directories = depset([unstripped])),
        OutputGroupInfo(**{out: depset([file]) for out, file in files.items()}),
    ]

_kernel_build = rule(
    implementation = _kernel_build_impl,
    attrs = {
        "env": attr.label(providers = [KernelEnvInfo]),
        "module_outs": attr.string_list(),
        "outs": attr.string_list(),
        "_makefile": attr.label(
            allow_single_file = True,
            default = ":kbuild.mk",
        ),
        "_tree": attr.label(default = "@kernel_tree//:tree"),
    },
)

def kernel_build(
        name,
        outs,
        module_outs,
        generate_vmlinux_btf,
        strip_modules,
        collect_unstripped_modules):
    """Builds a kernel. The stand-in requires all arguments.

    Args:
        name: name of the target; those of its files begin with NAME/.
        outs: files of the kernel's tree.
        module_outs: modules.
        generate_vmlinux_btf: declares NAME_btf.
        strip_modules: must be True.
        collect_unstripped_modules: must be True.
    """
    if not strip_modules or not collect_unstripped_modules:
        fail("the stand-in always strips modules, and always collects unstripped ones")
    kernel_env(name = name + "_env")
    _kernel_build(
        name = name,
        env = name + "_env",
        module_outs = module_outs,
        outs = outs,
    )
    for out in outs + module_outs:
        native.filegroup(
            name = name + "/" + out,
            srcs = [":" + name],
            output_group = out,
        )
    if generate_vmlinux_btf:
        btf(
            name = name + "_btf",
            pahole = Label(":pahole"),
            vmlinux = name + "/vmlinux",
        )
