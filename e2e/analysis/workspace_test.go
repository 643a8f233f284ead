package analysis

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const module = `module(name = "analysis")
bazel_dep(name = "rules_btf", version = "0.1.0")
bazel_dep(name = "rules_cc", version = "0.1.5")
local_path_override(module_name = "rules_btf", path = "../..")
`

const load = `load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_btf//rules:defs.bzl", "btf_archive", "btf_objects", "cc_btf", "module_btf",
     "vmlinux_btf")
`

// The list comprehensions in these packages keep BUILD files small, so that the time to parse them
// doesn't count.
const (
	objects = `btf_objects(
    name = "without",
    grain = %[2]q,
    srcs = ["o/%%d.o" %% i for i in range(%[1]d)],
)

btf_objects(
    name = "with",
    debug = ["o/%%d.dwo" %% i for i in range(%[1]d)],
    grain = %[2]q,
    srcs = ["o/%%d.o" %% i for i in range(%[1]d)],
)
`

	// Twenty libraries in each layer depend on three of the layer below. Each has three sources.
	layers = `[cc_library(
    name = "l%%d" %% i,
    srcs = ["l%%d_%%d.c" %% (i, k) for k in range(3)],
    hdrs = ["l%%d.h" %% i],
    deps = [":l%%d" %% (i // 20 * 20 - 20 + (i + k * k) %% 20) for k in range(3) if i >= 20],
) for i in range(%[1]d)]

TOP = [":l%%d" %% i for i in range(max(0, %[1]d - 20), %[1]d)]
`

	libraries = `
cc_library(
    name = "without",
    deps = TOP,
)

cc_btf(
    name = "with",
    deps = [":without"],
)
`

	modules = `vmlinux_btf(
    name = "vmlinux_btf",
    srcs = ["vmlinux.o"],
)

[module_btf(
    name = "m%%d_btf" %% i,
    base = ":vmlinux_btf",
    module = "m%%d.ko" %% i,
) for i in range(%[1]d)]

filegroup(
    name = "without",
    srcs = [":m%%d_btf" %% i for i in range(%[1]d)],
)

btf_archive(
    name = "with",
    modules = [":m%%d_btf" %% i for i in range(%[1]d)],
    paths = {":m%%d_btf" %% i: "kernel/m%%d.ko" %% i for i in range(%[1]d)},
    release = "7.2.0",
    vmlinux = ":vmlinux_btf",
)
`

	// All binaries link the same libraries.
	binaries = `
[cc_binary(
    name = "b%%d" %% i,
    srcs = ["b%%d.c" %% i],
    deps = TOP,
) for i in range(%[1]d)]

filegroup(
    name = "without",
    srcs = [":b%%d" %% i for i in range(%[1]d)],
)

[cc_btf(
    name = "b%%d_btf" %% i,
    deps = [":b%%d" %% i],
) for i in range(%[1]d)]

filegroup(
    name = "with",
    srcs = [":b%%d" %% i for i in range(%[1]d)] + [":b%%d_btf" %% i for i in range(%[1]d)],
)
`
)

// A kind of package has a target "without" and a target "with", which have the same size. The
// second one needs the work of our rules that is measured.
type kind struct {
	name, without, with string // what the targets need
	content             func(size int) string
}

var kinds = []kind{
	{"objects", "btf_objects", "the same with .dwo files", func(size int) string {
		return fmt.Sprintf(objects, size, "16")
	}},
	{"single", "btf_objects, grain object", "the same with .dwo files",
		func(size int) string { return fmt.Sprintf(objects, size, "object") }},
	{"libraries", "cc_library", "and a cc_btf", func(size int) string {
		return fmt.Sprintf(layers, size) + libraries
	}},
	{"modules", "module_btf", "and a btf_archive", func(size int) string {
		return fmt.Sprintf(modules, size)
	}},
	{"binaries", "cc_binary", "and a cc_btf for each", func(size int) string {
		return fmt.Sprintf(layers, *linked) + fmt.Sprintf(binaries, size)
	}},
}

// newWorkspace writes a workspace that uses the rules in a directory, which is a checkout of this
// repository.
func newWorkspace(t *testing.T, rules string) *harness.Workspace {
	t.Helper()
	from := t.TempDir()
	harness.WriteFile(t, filepath.Join(from, "MODULE.bazel"), module)
	w := harness.NewWorkspaceWithoutTools(t, from, "gcc")
	w.Write("MODULE.bazel", strings.Replace(w.Read("MODULE.bazel"), harness.Repo(), rules, 1))
	// No action runs, so any file can be a tool.
	tool := filepath.Join(from, "tool")
	harness.WriteFile(t, tool, "")
	must.OK(t, os.Chmod(tool, 0o755))
	w.SetOptions("build --nobuild " + harness.AddTools(t, w.Dir, tool, tool) + "\n")
	return w
}
