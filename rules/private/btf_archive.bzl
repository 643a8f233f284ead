"""btf_archive: the BTF of a kernel release, as the kernel shows it in /sys/kernel/btf."""

load("//rules:providers.bzl", "BtfInfo", "BtfModulesInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":arguments.bzl", "can_name")
load(":link_inputs.bzl", "extra_mistake")
load(":mistakes.bzl", "first_mistake")
load(":module_actions.bzl", "btf_archive_files")

visibility("//rules/...")

_SUFFIX = "_btf"

def _path_of(target, paths):
    """The path of a module in `paths`, or else the name of its target without `_btf`."""
    return paths.get(target.label) or target.label.name.removesuffix(_SUFFIX)

def _paths_of(ctx):
    """The attribute `paths`: dict from a Label to a path."""
    return {target.label: path for target, path in ctx.attr.paths.items()}

def _single(ctx):
    """The modules that are single targets, by the file with their BTF: dict from File to Target."""
    return {target[BtfInfo].btf: target for target in ctx.attr.modules if BtfInfo in target}

def _module_mistake(ctx, target, vmlinux, single, paths):
    """What is wrong with a module that is a single target: string, or None.

    Args:
        ctx: context of the rule.
        target: Target, the module.
        vmlinux: File, the BTF of vmlinux.
        single: what `_single` returned.
        paths: what `_paths_of` returned.
    """
    info = target[BtfInfo]
    chain = info.bases.to_list()  # a file for each base, usually vmlinux alone
    if not info.distilled:
        if not chain or chain[0] != vmlinux:
            return "{} is not based on {}, the vmlinux: both need the same vmlinux_btf".format(
                target.label,
                ctx.attr.vmlinux.label,
            )
        if len(chain) > 1 and chain[-1] not in single:
            return "{} is based on {}, which is not in modules: add that module".format(
                target.label,
                chain[-1].short_path,
            )
    path = _path_of(target, paths)
    if can_name(path):
        return None
    return "{} can't be the path of a module: set paths[{}]".format(path, target.label)

def _many_mistake(ctx, vmlinux):
    """What is wrong with the `modules_btf` in the attribute `modules`: string, or None."""
    for target in ctx.attr.modules:
        if BtfModulesInfo in target and target[BtfModulesInfo].bases.to_list() != [vmlinux]:
            return "{}: the only base must be {}, the vmlinux".format(
                target.label,
                ctx.attr.vmlinux.label,
            )
    return None

def _extra_mistake(ctx):
    """Which target has extra BTF: string, or None."""
    return first_mistake([
        extra_mistake(
            target,
            BtfInfo in target and target[BtfInfo].extra or
            BtfModulesInfo in target and target[BtfModulesInfo].extras,
            "the kernel doesn't show such BTF in /sys/kernel/btf, so an archive has none",
        )
        for target in [ctx.attr.vmlinux] + ctx.attr.modules
    ])

def _mistake(ctx):
    """What is wrong with the attributes: string, or None."""
    vmlinux = ctx.attr.vmlinux[BtfInfo]
    if vmlinux.bases:
        return "{} is not the BTF of a vmlinux: it has a base".format(ctx.attr.vmlinux.label)
    out, format = ctx.outputs.out, ctx.attr.format
    if out and not out.basename.endswith("." + format):
        return ("out is {}, but format is {}: out must end in .tar or .tar.zst, as in format; " +
                "don't set out for a directory, which is named after the target").format(
            out.basename,
            format,
        )
    single, paths = _single(ctx), _paths_of(ctx)
    labels = {target.label: None for target in single.values()}
    for label in paths:
        if label not in labels:
            return "paths has {}, but modules has no such module_btf".format(label)
    return _many_mistake(ctx, vmlinux.btf) or _extra_mistake(ctx) or first_mistake(
        [_module_mistake(ctx, target, vmlinux.btf, single, paths) for target in single.values()],
    )

def _modules_of(ctx):
    """The modules that are single targets, in the form for btf_archive_files: list of struct."""
    paths = _paths_of(ctx)
    single = _single(ctx)
    modules = []
    for target in single.values():
        info = target[BtfInfo]
        chain = info.bases.to_list()
        distilled, on = None, None
        if info.distilled:
            distilled = chain[0]
        elif len(chain) > 1:
            on = _path_of(single[chain[-1]], paths)
        modules.append(struct(
            btf = info.btf,
            distilled = distilled,
            inline = info.inline,
            on = on,
            path = _path_of(target, paths),
        ))
    return modules

def _out(ctx):
    """Declares the output."""
    out, format = ctx.outputs.out, ctx.attr.format
    if format == "dir":
        return ctx.actions.declare_directory(ctx.label.name)
    return out or ctx.actions.declare_file("{}.{}".format(ctx.label.name, format))

def _btf_archive_impl(ctx):
    mistake = _mistake(ctx)
    if mistake:
        fail(mistake)
    out = _out(ctx)
    btf_archive_files(
        ctx,
        vmlinux = ctx.attr.vmlinux[BtfInfo],
        modules = _modules_of(ctx),
        many = depset(transitive = [
            files
            for info in [t[BtfModulesInfo] for t in ctx.attr.modules if BtfModulesInfo in t]
            for files in [info.btfs, info.inlines]
        ]),
        release = ctx.attr.release,
        out = out,
    )
    return [DefaultInfo(files = depset([out]))]

btf_archive = rule(
    implementation = _btf_archive_impl,
    doc = """Collects the BTF of a kernel release: the files that the kernel shows in
`/sys/kernel/btf`, and a [manifest](manifest.md), which names the base of each file.

```starlark
btf_archive(
    name = "release_btf",
    format = "tar.zst",
    modules = [
        ":modules_btf",          # the BTF of many modules
        ":nf_nat_btf",           # the BTF of one module
    ],
    paths = {":nf_nat_btf": "kernel/net/netfilter/nf_nat.ko"},
    release = "7.2.12",
    vmlinux = ":vmlinux_btf",
)
```

The output is the directory `NAME`, or the file `NAME.tar` or `NAME.tar.zst`. The BTF of a module
with a distilled base is relocated to vmlinux's BTF, as the kernel does when it loads the module.
If the targets have `inline = True`, the archive also has the sites of inlined functions, in files
such as `vmlinux.inline`.
BTF that the kernel would refuse is an error. `btfdedup verify --manifest NAME/manifest.json` checks
a copy.""",
    attrs = {
        "format": attr.string(
            default = "dir",
            doc = """`dir`, `tar` or `tar.zst`. Tar archives contain no timestamps or owners, so the
same content gives the same bytes.""",
            values = ["dir", "tar", "tar.zst"],
        ),
        "modules": attr.label_list(
            doc = """The modules: `module_btf` and `modules_btf` targets. If a module is based on
another module, list both.""",
            providers = [[BtfInfo], [BtfModulesInfo]],
        ),
        "out": attr.output(
            doc = """The tar archive to write. The default is `NAME.tar` or `NAME.tar.zst`.""",
        ),
        "paths": attr.label_keyed_string_dict(
            doc = """For a `module_btf`, the path of its module in `/lib/modules/RELEASE`, such as
`kernel/fs/ext4/ext4.ko`. The module's name comes from that path; if no path is given, it is the
target's name without `_btf`. Each `-` in the name becomes `_`.""",
        ),
        "release": attr.string(
            doc = "The kernel's release, as `uname -r` prints it.",
            mandatory = True,
        ),
        "vmlinux": attr.label(
            doc = "The `vmlinux_btf` on which the modules are based.",
            mandatory = True,
            providers = [BtfInfo],
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
)
