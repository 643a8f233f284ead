"""btf_min: minimal BTF of kernels, for BPF programs that ship it."""

load("//rules:providers.bzl", "BtfInfo", "BtfMinInfo", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":arguments.bzl", "can_name")
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
load(":program_actions.bzl", "btf_min_archive")

_SUFFIX = "_btf"

def _name_of(target):
    """The name of the module in a BtfInfo: the name of the target without `_btf`."""
    return target.label.name.removesuffix(_SUFFIX)

def _mistake(ctx, kernels):
    """What is wrong with the attributes, apart from needs and kernels: string, or None."""
    if not ctx.attr.modules:
        if ctx.attr.flat:
            return "flat = True is for modules, but there are none"
    elif len(kernels) != 1 or kernels.values()[0].is_directory:
        return "the attribute modules is for a single kernel: use a btf_min for each"
    for target in ctx.attr.modules:
        if BtfModulesInfo in target:
            bases = target[BtfModulesInfo].bases
        elif BtfInfo not in target:
            continue
        else:
            bases = target[BtfInfo].bases
            if not can_name(_name_of(target)):
                return "{} can't be the name of a module: rename {}".format(
                    _name_of(target),
                    target.label,
                )
        if bases.to_list() != kernels.values():
            return "{}: the only base must be {}, the kernel".format(
                target.label,
                kernels.values()[0].short_path,
            )
    if ctx.attr.format == "dir":
        return None
    if ctx.attr.modules and not ctx.attr.flat:
        return "an archive has one file for each kernel: set flat = True"
    for name in kernels:
        if name and not can_name(name):
            return "{} can't be the name of a kernel in an archive: rename it".format(name)
    return None

def _modules_of(ctx):
    """The modules, in the form for btf_min_action."""
    found = []
    for target in ctx.attr.modules:
        files, name = target[DefaultInfo].files, ""
        if BtfModulesInfo in target:
            files = target[BtfModulesInfo].btfs
        elif BtfInfo in target:
            files = depset([target[BtfInfo].btf])
            name = _name_of(target)
        found.append(struct(files = files, name = name))
    return found

def _archive(ctx, needs, kernels, info):
    """Declares the archive of minimal BTF."""
    out = ctx.actions.declare_file("{}.{}".format(ctx.label.name, ctx.attr.format))
    btfs = dict(zip(kernels, info.btfs.to_list()))
    btf_min_archive(ctx, needs, btfs, out, ctx.attr.hooks)
    return depset([out])

def _btf_min_impl(ctx):
    kernels = kernels_of(ctx, ctx.attr.kernels)
    mistake = (
        needs_mistake(ctx) or
        kernels_mistake(ctx, ctx.attr.kernels) or
        _mistake(ctx, kernels)
    )
    if mistake:
        fail(mistake)
    needs = needs_of(ctx)
    info = minimal_btfs(
        ctx,
        needs,
        kernels,
        flat = ctx.attr.flat,
        hooks = ctx.attr.hooks,
        modules = _modules_of(ctx),
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
