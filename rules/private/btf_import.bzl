"""btf_import: the BTF of a kernel that something else built."""

load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":link_actions.bzl", "btf_import_action")
load(
    ":link_inputs.bzl",
    "NO_CHAIN",
    "OUT_ATTRS",
    "chain_mistake",
    "chain_of",
    "declare_btf",
    "linked_providers",
)

def _btf_import_impl(ctx):
    chain = NO_CHAIN
    if ctx.attr.base:
        mistake = chain_mistake(ctx, ctx.attr.base)
        if mistake:
            fail(mistake)
        chain = chain_of(ctx.attr.base)
    btf = declare_btf(ctx)
    btf_import_action(ctx, ctx.file.src, btf, chain.bases)
    return linked_providers(ctx, btf, skipped = None, facts = None, chain = chain)

btf_import = rule(
    implementation = _btf_import_impl,
    doc = """Extracts the BTF of a distribution's or vendor's kernel to `NAME.btf`, as a base for
modules.

```starlark
btf_import(
    name = "vmlinux_btf",
    src = "@debian_kernel//:boot/vmlinuz-7.2.0-amd64",
)

module_btf(
    name = "disk_btf",
    base = ":vmlinux_btf",
    module = "disk.ko",
)
```

The BTF in `src` is checked against the kernel's rules, and written unchanged. Output group:
`btf_base`.""",
    attrs = OUT_ATTRS | {
        "base": attr.label(
            doc = """For a module: the base of its BTF, such as the `btf_import` of its kernel.""",
            allow_files = True,
        ),
        "src": attr.label(
            doc = """A bootable kernel (a bzImage, also called vmlinuz, for x86; an Image for arm64,
riscv or loongarch; an EFI zboot image); or vmlinux, a module or another ELF file with a section
`.BTF`; or raw BTF. Any of these may be compressed.""",
            allow_single_file = True,
            mandatory = True,
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BtfInfo],
)
