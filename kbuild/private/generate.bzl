"""kbuild_generate: builds the command that reads Kbuild's trees. The command is for repository
rules, which can't use targets."""

load("@go_host_compatible_sdk_label//:defs.bzl", "HOST_COMPATIBLE_SDK")

_IMPORT = "github.com/rules-btf/rules_btf"

# The Go modules from which the command is built. Each value is one of the module's source files,
# and how many levels the module's directory is above that file.
_MODULES = {
    "github.com/bazelbuild/buildtools": (
        Label("@com_github_bazelbuild_buildtools//build:print.go"),
        2,
    ),
    "github.com/klauspost/compress": (Label("@com_github_klauspost_compress//zstd:zstd.go"), 2),
    "github.com/spf13/cobra": (Label("@com_github_spf13_cobra//:command.go"), 1),
    "github.com/spf13/pflag": (Label("@com_github_spf13_pflag//:flag.go"), 1),
    "golang.org/x/sys": (Label("@org_golang_x_sys//unix:syscall.go"), 2),
    "google.golang.org/protobuf": (
        Label("@org_golang_google_protobuf//encoding/protowire:wire.go"),
        3,
    ),
    _IMPORT: (Label("//:MODULE.bazel"), 1),
}

# The packages of rules_btf from which the command is built.
_PACKAGES = [
    "internal/command/cli",
    "internal/format/dwarf",
    "internal/format/elf",
    "internal/model/features",
    "internal/kernel/kbuild",
    "internal/model/language",
    "internal/support/mapped",
    "internal/support/message",
    "internal/support/pages",
    "internal/support/parallel",
    "internal/command/version",
    "tools/btfkbuild",
]

def _kbuild_generate_impl(ctx):
    # Bazel 8 and later watch only the files that are named here.
    ctx.watch(HOST_COMPATIBLE_SDK)
    goroot = ctx.path(HOST_COMPATIBLE_SDK).dirname
    for path, (file, levels) in _MODULES.items():
        ctx.watch(file)
        directory = ctx.path(file)
        for _ in range(levels):
            directory = directory.dirname
        ctx.symlink(directory, "src/" + path)
        if path == _IMPORT:
            for package in _PACKAGES:
                ctx.watch_tree(directory.get_child(package))
    windows = "windows" in ctx.os.name
    out = "generate.exe" if windows else "generate"
    result = ctx.execute(
        [
            goroot.get_child("bin").get_child("go.exe" if windows else "go"),
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-ldflags=-s -w",
            "-o",
            out,
            _IMPORT + "/tools/btfkbuild",
        ],
        environment = {
            "CGO_ENABLED": "0",
            "GO111MODULE": "off",
            "GOARCH": "",
            "GOCACHE": ctx.getenv("GOCACHE") or str(ctx.path("cache")),
            "GOENV": "off",
            "GOFLAGS": "",
            "GOOS": "",
            "GOPATH": str(ctx.path(".")),
            "GOROOT": str(goroot),
            "GOTOOLCHAIN": "local",
        },
    )
    if result.return_code:
        fail("cannot build the command that reads Kbuild's trees: " + result.stderr)
    ctx.delete("cache")
    ctx.file("BUILD.bazel", "exports_files([\"{}\"])\n".format(out))

kbuild_generate = repository_rule(
    implementation = _kbuild_generate_impl,
    doc = "The command //kbuild:generate, built with the Go toolchain of rules_go.",
)
