"""bpf_needs: what BPF programs need from a kernel."""

load("//rules:providers.bzl", "BpfNeedsInfo")
load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")
load(":program_actions.bzl", "bpf_needs_action")

# The key is the extension of a file that isn't an object of a BPF program. The value says what is
# wrong with such a file, and what to do.
_OTHERS = {
    "a": "is an archive: use its object files (of a cc_library, the output group " +
         "compilation_outputs)",
    "btf": "is BTF of a kernel: put it into the attribute kernels of a btf_min",
    "needs": "already has needs: put it into the attribute needs of a btf_min",
    "so": "is a library: use its object files",
} | {
    extension: "is source code: use the object file that clang -target bpf -g compiles"
    for extension in ["c", "cc", "h", "hpp", "rs"]
}

def _bpf_needs_impl(ctx):
    objects = []
    for src in ctx.attr.srcs:
        files = src[DefaultInfo].files.to_list()
        for file in files:
            if file.extension in _OTHERS and not file.is_directory:
                fail("{} in srcs {}".format(file.short_path, _OTHERS[file.extension]))
        objects += [file for file in files if file not in objects]
    needs = ctx.outputs.out or ctx.actions.declare_file(ctx.label.name + ".needs")
    bpf_needs_action(ctx, objects, needs)
    return [
        DefaultInfo(files = depset([needs])),
        BpfNeedsInfo(needs = needs),
    ]

bpf_needs = rule(
    implementation = _bpf_needs_impl,
    doc = """Writes to `NAME.needs` what BPF programs need from a kernel: the CO-RE relocations of
the programs, and the functions, kfuncs, variables and types that the programs name.

```starlark
bpf_needs(
    name = "agent_needs",
    srcs = [
        "exec.bpf.o",
        "net.bpf.o",
    ],
)
```

The file contains no code, paths or offsets. An edit that doesn't change what the programs need
doesn't change the file, so no action of a `btf_min` or `btf_core_test` runs again. `btfcore needs
--format=text NAME.needs` prints the needs.""",
    attrs = {
        "out": attr.output(doc = "The file to write, `*.needs`. The default is `NAME.needs`."),
        "srcs": attr.label_list(
            doc = """Object files of the programs, from any rule: compiled by `clang -target bpf -g`
or gcc with BTF, or linked by `bpftool gen object`. Tree artifacts are also allowed, if they contain
only such files.""",
            allow_empty = False,
            allow_files = True,
            mandatory = True,
        ),
    },
    toolchains = [TOOLCHAIN_TYPE],
    provides = [BpfNeedsInfo],
)
