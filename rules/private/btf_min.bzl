"""btf_min: minimal BTF of kernels, for BPF programs that ship it."""

load("//rules:providers.bzl", "BtfInfo", "BtfMinInfo", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":arguments.bzl", "can_name")
load(
    ":kernels.bzl",
    "NEEDS_ATTRS",
    "STRIP_PREFIX_ATTRS",
    "kernels_of",
    "minimal_btfs",
    "needs_of",
)
load(":program_actions.bzl", "btf_min_archive")

_SUFFIX = "_btf"

def _name_of(target):
    """The name of the module in a BtfInfo: the name of the target without `_btf`."""
    name = target.label.name.removesuffix(_SUFFIX)
    if not can_name(name):
        fail("{} can't be the name of a module: rename {}".format(name, target.label))
    return name

def _modules_of(ctx, kernels):
    """The modules, in the form for btf_min_action."""
    if not ctx.attr.modules:
        return []
    kernel = kernels.values()[0]
    if len(kernels) != 1 or kernel.is_directory:
        fail("{}: the attribute modules is for a single kernel: use a btf_min for each".format(
            ctx.label,
        ))
    found = []
    for target in ctx.attr.modules:
        info, files, name = None, target[DefaultInfo].files, ""
        if BtfModulesInfo in target:
            info = target[BtfModulesInfo]
            files = info.btfs
        elif BtfInfo in target:
            info = target[BtfInfo]
            files = depset([info.btf])
            name = _name_of(target)
        if info and info.bases.to_list() != [kernel]:
            fail("{}: the only base must be {}, the kernel of {}".format(
                target.label,
                kernel.short_path,
                ctx.label,
            ))
        found.append(struct(files = files, name = name))
    return found

def _archive(ctx, needs, kernels, info):
    """Declares the archive of minimal BTF."""
    if info.split:
        fail("{}: an archive has one file for each kernel: set flat = True".format(ctx.label))
    for name in kernels:
        if name and not can_name(name):
            fail("{}: {} can't be the name of a kernel in an archive: rename it".format(
                ctx.label,
                name,
            ))
    out = ctx.actions.declare_file("{}.{}".format(ctx.label.name, ctx.attr.format))
    btfs = dict(zip(kernels, info.btfs.to_list()))
    btf_min_archive(ctx, needs, btfs, out, ctx.attr.hooks)
    return depset([out])

def _btf_min_impl(ctx):
    kernels = kernels_of(ctx, ctx.attr.kernels)
    modules = _modules_of(ctx, kernels)
    if ctx.attr.flat and not modules:
        fail("{}: flat = True is for modules, but there are none".format(ctx.label))
    needs = needs_of(ctx)
    info = minimal_btfs(
        ctx,
        needs,
        kernels,
        flat = ctx.attr.flat,
        hooks = ctx.attr.hooks,
        modules = modules,
    )
    files = info.btfs if ctx.attr.format == "dir" else _archive(ctx, needs, kernels, info)
    return [
        DefaultInfo(files = files),
        info,
        OutputGroupInfo(btf_min = info.btfs),
    ]

btf_min = rule(
    implementation = _btf_min_impl,
    doc = """Makes minimal BTF, `NAME/KERNEL.btf`, for each kernel: only the part of the kernel's
BTF that the given BPF programs need, which is kilobytes instead of megabytes. Programs that ship
these files run even on kernels without BTF ([programs.md](programs.md)).

```starlark
btf_min(
    name = "agent_btf",
    kernels = glob(["btfhub/**/*.btf.tar.xz"]),
    needs = [":agent_needs"],
    strip_prefix = "btfhub",
)
```

Each kernel has its own `BtfMin` action, which reads only the needs and that kernel. So a new kernel
adds one action, and an edit that doesn't change what the programs need reruns no action. A tree
artifact of kernels has one action, whose output is the directory `NAME`.

If `format` isn't `dir`, the output is one archive of these files, and the files themselves are in
the output group `btf_min`. The `embedsrcs` of a `go_library` accept the archive or the files.""",
    attrs = NEEDS_ATTRS | STRIP_PREFIX_ATTRS | {
        "flat": attr.bool(
            doc = """Whether to put the types of modules into the kernel's file, for libbpf, which
takes only one file. Otherwise the output is the directory `NAME/KERNEL` with `vmlinux.btf` and, for
each module with types that are needed, `MODULE.btf` (split BTF based on `vmlinux.btf`).""",
        ),
        "format": attr.string(
            default = "dir",
            doc = """`dir` for a directory, or `tar`, `tar.gz`, `tar.xz` or `tar.zst` for an archive
with that suffix, such as `NAME.tar`. The files in an archive are called `./KERNEL.btf`; for
BTFHub's tree with `strip_prefix`, that is `./DISTRO/VERSION/ARCH/RELEASE.btf`. An archive contains
no timestamps or owners, so the same content gives the same bytes.""",
            values = ["dir", "tar", "tar.gz", "tar.xz", "tar.zst"],
        ),
        "hooks": attr.bool(
            default = True,
            doc = """Whether to keep the functions, kfuncs, variables and types that programs name,
not only what relocations need.""",
        ),
        "kernels": attr.label_list(
            doc = """The kernels: `vmlinux_btf` or `btf_import` targets, or files with BTF: raw BTF,
ELF files or bootable images, optionally compressed or in a tar archive, such as BTFHub's
`.btf.tar.xz`. A tree artifact of `*.btf` and `*.btf.tar.xz` files is also allowed, if it is the
only target. The name of a kernel is the name of its file, without `.btf` and `.tar.*`.""",
            allow_empty = False,
            allow_files = True,
            mandatory = True,
        ),
        "modules": attr.label_list(
            doc = """Modules of the kernel, if `kernels` has only one: `modules_btf` and
`module_btf` targets, files with BTF, or tree artifacts of such files. A module is named after its
file; for a `module_btf`, after the target, without the suffix `_btf`. A type from a module is used
only if the kernel has no type of that name.""",
            allow_files = True,
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfMinInfo],
)
