"""vmlinux_h: the types of a kernel as a C header."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "BtfInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":link_actions.bzl", "btf_header")

def _vmlinux_h_impl(ctx):
    info = ctx.attr.btf[BtfInfo]
    if info.distilled:
        fail(
            ("{} has the feature distilled_base, so it lacks the kernel's types: use BTF without " +
             "that feature").format(ctx.attr.btf.label),
        )
    out = ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + "/vmlinux.h")
    btf_header(ctx, info.btf, out, info.bases)
    return [
        DefaultInfo(files = depset([out])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([out]),
            includes = depset([out.dirname]),
        )),
    ]

vmlinux_h = rule(
    implementation = _vmlinux_h_impl,
    doc = """Writes the types of a kernel as a C header, `NAME/vmlinux.h`, for BPF programs.

```starlark
vmlinux_h(
    name = "vmlinux_h",
    btf = ":vmlinux_btf",        # or a btf_import
)

genrule(
    name = "tracer",
    srcs = [
        "tracer.bpf.c",
        ":vmlinux_h",
    ],
    outs = ["tracer.bpf.o"],
    cmd = "clang -g -O2 -target bpf -I$(RULEDIR)/vmlinux_h -c -o $@ $(execpath tracer.bpf.c)",
)
```

In the `deps` of a `cc_library` with a C++ toolchain for BPF, the target adds the header's directory
to the include path. The header is the output of `btfdedup dump --format=c`
([inside.md](inside.md)).""",
    attrs = {
        "btf": attr.label(
            doc = """The `vmlinux_btf` or `btf_import` of the kernel, or the `module_btf` of a
module, whose header also has the types of its bases.""",
            mandatory = True,
            providers = [BtfInfo],
        ),
        "out": attr.output(
            doc = "The header to write. The default is `NAME/vmlinux.h`.",
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [CcInfo],
)
