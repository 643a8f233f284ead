"""Builds programs from source for repository rules, with the Go command.

The programs need no rules_go, because a module on which others depend must not take part in the
choice of their Go modules and SDK: go_deps and go_sdk choose one version of each for the whole
workspace.
"""

visibility("//rules/...")

_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOAMD64": "v1",
    "GOARM64": "v8.0",
    "GOEXPERIMENT": "",
    "GOFIPS140": "off",
    "GOFLAGS": "-mod=readonly",
    "GOROOT": "",
    "GOWORK": "off",
}

def _toolchain_of(go_mod):
    """The version of Go in the line `toolchain` of go.mod: string."""
    for line in go_mod.splitlines():
        if line.startswith("toolchain "):
            return line.removeprefix("toolchain ")
    return fail("go.mod has no line \"toolchain\"")

def build_programs(ctx, programs, goos, goarch, go = None):
    """Builds programs in the directory of the repository.

    The Go command downloads what it needs (the version of Go in go.mod, and the modules in go.sum)
    from where GOPROXY says, and checks it. So everybody gets the same bytes.

    Args:
        ctx: repository_ctx.
        programs: list of string, names of directories in //tools, which are the programs' names.
        goos: string, the operating system of the programs, as Go calls it.
        goarch: string, the architecture of the programs, as Go calls it.
        go: Label or None, the Go command. The default is the `go` on PATH.
    """
    go = ctx.path(go) if go else ctx.which("go")
    if not go:
        fail(("no Go command is on PATH, and this rules_btf has no release's tools for {}/{}: " +
              "install Go, or set go, archives, or version and sha256 in btf.toolchain").format(
            goos,
            goarch,
        ))
    go_mod = Label("//:go.mod")
    root = ctx.path(go_mod).dirname
    toolchain = _toolchain_of(ctx.read(go_mod))

    # Bazel 8 and later watch only the files that are named here.
    ctx.watch(go_mod)
    ctx.watch(Label("//:go.sum"))
    ctx.watch_tree(root.get_child("internal"))
    ctx.watch_tree(root.get_child("tools"))

    # By default, Go compiles all packages again for each program with a profile.
    profile = root.get_child("tools", "btfgen", "default.pgo")
    result = ctx.execute(
        [go, "build", "-trimpath", "-buildvcs=false", "-pgo=" + str(profile), "-o", ctx.path(".")] +
        ["./tools/" + program for program in programs],
        environment = _SETTINGS | {
            "GOARCH": goarch,
            "GOOS": goos,
            "GOTOOLCHAIN": ctx.getenv("GOTOOLCHAIN") or toolchain,
        },
        working_directory = str(root),
    )
    if result.return_code:
        fail("cannot build {} for {}/{} from source: {}".format(
            ", ".join(programs),
            goos,
            goarch,
            result.stderr,
        ))
