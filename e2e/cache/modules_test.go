package cache

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// directoryRule is a rule that copies files to a tree artifact. Bazel doesn't know which files a
// tree artifact contains until the action that makes it has run.
const directoryRule = `
def _impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        command = "cp -L %s %s" % (" ".join([f.path for f in ctx.files.srcs]), out.path),
    )
    return [DefaultInfo(files = depset([out]))]

directory = rule(implementation = _impl, attrs = {"srcs": attr.label_list(allow_files = True)})
`

// moduleTargets has targets that convert the modules of examples/hello in three ways: as files that
// share one action, as files with one action each, and as a directory.
const moduleTargets = `
load(":directory.bzl", "directory")
load("@rules_btf//rules:defs.bzl", "modules_btf")

MODULES = ["//drivers:disk.ko", "//drivers:raid.ko"]

modules_btf(
    name = "files",
    base = ":vmlinux_btf",
    embed = True,
    modules = MODULES,
)

modules_btf(
    name = "single",
    base = ":vmlinux_btf",
    embed = True,
    grain = "object",
    modules = MODULES,
)

directory(
    name = "kernel_modules",
    srcs = MODULES,
)

modules_btf(
    name = "tree",
    base = ":vmlinux_btf",
    embed = True,
    modules = [":kernel_modules"],
)
`

// diskIDs is a section .BTF_ids with two entries: one for a struct in the kernel, one for a
// function in the module.
const diskIDs = `
asm(".pushsection .BTF_ids,\"a\"\n"
    "__BTF_ID__struct__task__1: .zero 4\n"
    "__BTF_ID__func__disk_open__2: .zero 4\n"
    ".popsection");
`

// TestModules embeds BTF in several modules, and checks which actions run again after edits.
func TestModules(t *testing.T) {
	w := newWorkspace(t, "--output_groups=+btf_embedded,+btf_skipped", "//:files", "//:single",
		"//:tree")
	harness.WriteFile(t, filepath.Join(w.Dir, "directory.bzl"), directoryRule)
	w.Write("BUILD.bazel", w.Read("BUILD.bazel")+moduleTargets)
	w.Write("drivers/disk.c", w.Read("drivers/disk.c")+diskIDs)
	// modules checks how many actions ran for each target.
	modules := func(t *testing.T, spawns []execlog.Spawn, files, single, tree int) {
		t.Helper()
		for target, n := range map[string]int{"//:files": files, "//:single": single, "//:tree": tree} {
			want(t, spawnsOf(spawns, target), "BtfModules", n)
			want(t, spawnsOf(spawns, target), "BtfFacts", 0) // its output group isn't requested
		}
		w.sameModules(t)
	}
	modules(t, executed(t, "modules: first build", w.build()), 1, 2, 1)
	for _, id := range w.diskIDs(t) {
		if id == 0 {
			t.Error("disk.ko has an id 0")
		}
	}

	for _, c := range []struct {
		what, file, old, new string
		files, single, tree  int
		kernel, index        int
	}{
		{"vmlinux is linked again, its types are the same", "lib/string.c", "u64 length = 0;",
			"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;", 0, 0, 0, 1, 0},
		{"the body of a function in a module", "drivers/raid.c", "return -1;", "return -12;",
			1, 1, 1, 0, 0},
		{"a type in a module", "drivers/raid.c", "u32 count;", "u32 count; u32 spares;", 1, 1, 1, 0, 0},
		{"control: a type in the kernel", "lib/string.c", "char text[16];", "char text[17];",
			1, 2, 1, 1, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			w.Edit(c.file, c.old, c.new)
			spawns := executed(t, "modules: "+c.what, w.build())
			want(t, spawns, "CppCompile", 1)
			modules(t, spawns, c.files, c.single, c.tree)
			want(t, spawnsOf(spawns, "//:vmlinux_btf"), "BtfFacts", c.kernel)
			want(t, spawnsOf(spawns, "//:vmlinux_btf"), "BtfBase", c.index)
		})
	}
}

// spawnsOf returns the spawns of a target.
func spawnsOf(spawns []execlog.Spawn, label string) []execlog.Spawn {
	var list []execlog.Spawn
	for _, s := range spawns {
		if s.Label == label || s.Label == "@@"+label {
			list = append(list, s)
		}
	}
	return list
}

// sameModules checks that the three targets in moduleTargets have the same outputs: the modules'
// BTF, the lists of skipped functions and variables, and the modules with embedded BTF.
func (w *workspace) sameModules(t *testing.T) {
	t.Helper()
	for _, module := range []string{"disk", "raid"} {
		for _, suffix := range []string{".btf", ".skipped", ".ko"} {
			file := filepath.Join(w.Dir, "bazel-bin/files", module+suffix)
			for _, other := range []string{"single", "tree/kernel_modules" + suffix + ".d"} {
				other = filepath.Join(w.Dir, "bazel-bin", other, module+suffix)
				if !bytes.Equal(harness.ReadFile(t, file), harness.ReadFile(t, other)) {
					t.Errorf("%s and %s differ", file, other)
				}
			}
		}
	}
}

// diskIDs returns the ids in the section .BTF_ids of disk.ko.
func (w *workspace) diskIDs(t *testing.T) []uint32 {
	t.Helper()
	f := must.Get(stdelf.Open(filepath.Join(w.Dir, "bazel-bin/files/disk.ko")))(t)
	defer f.Close()
	data := must.Get(f.Section(".BTF_ids").Data())(t)
	ids := make([]uint32, len(data)/4)
	if _, err := binary.Decode(data, f.ByteOrder, ids); err != nil || len(ids) != 2 {
		t.Fatalf("%d ids: %v", len(ids), err)
	}
	return ids
}
