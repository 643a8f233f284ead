package cache

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// shardTargets are the kernel of examples/hello as if one large action had built it, as a linked
// file and as an archive; a module; and its objects in a directory.
const shardTargets = `
load("//:directory.bzl", "directory")

vmlinux_btf(
    name = "sharded_btf",
    shards = 16,
    vmlinux = "//kernel:vmlinux",
)

genrule(
    name = "archives",
    srcs = [":kernel_files"],
    outs = ["fat.a", "thin.a"],
    cmd = "ar crD $(location fat.a) $(SRCS) && " +
          "ar crDT $(location thin.a) $(SRCS)",
)

[vmlinux_btf(
    name = kind + "_btf",
    archive = [kind + ".a"] + ([":kernel_files"] if kind == "thin" else []),
    shards = 3,
    vmlinux = "//kernel:vmlinux",
) for kind in ["fat", "thin"]]

module_btf(
    name = "sharded_disk_btf",
    base = ":vmlinux_btf",
    module = "//drivers:disk.ko",
    shards = 4,
)

directory(
    name = "objects_directory",
    srcs = [":kernel_files"],
)

btf_objects(
    name = "directory_objects",
    srcs = [":objects_directory"],
)

vmlinux_btf(
    name = "directory_btf",
    srcs = [":directory_objects"],
    vmlinux = "//kernel:vmlinux",
)
`

// TestShardedRoads wants the same BTF from shards of archives and of modules, and from objects in a
// directory, as from the objects.
func TestShardedRoads(t *testing.T) {
	same := map[string]string{"sharded_btf": "vmlinux_btf", "fat_btf": "vmlinux_btf",
		"thin_btf": "vmlinux_btf", "sharded_disk_btf": "disk_btf", "directory_btf": "vmlinux_btf"}
	var targets []string
	for name, as := range same {
		targets = append(targets, "//:"+name, "//:"+as)
	}
	w := newWorkspace(t, targets...)
	w.useBuiltTools()
	harness.WriteFile(t, filepath.Join(w.dir, "directory.bzl"), directoryRule)
	w.append(t, "BUILD.bazel", shardTargets)
	spawns := ran(t, "shards, archives, a directory", w.build())
	want(t, of(spawns, "//:sharded_disk_btf"), "BtfGen", 4)
	want(t, of(spawns, "//:thin_btf"), "BtfGen", 3)
	atLeast(t, of(spawns, "//:directory_objects"), "BtfGen", 1)
	for name, as := range same {
		if !bytes.Equal(harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin", name+".btf")),
			harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin", as+".btf"))) {
			t.Errorf("%s is another BTF than %s", name, as)
		}
	}
}

// TestShards converts a linked kernel in parts. After an edit of one unit all addresses and offsets
// in the linked file are others, but only that unit's shard is.
func TestShards(t *testing.T) {
	w := newWorkspace(t, "//:vmlinux_btf", "//:sharded_btf")
	w.useBuiltTools()
	harness.WriteFile(t, filepath.Join(w.dir, "directory.bzl"), directoryRule)
	w.append(t, "BUILD.bazel", shardTargets)
	build := func(what string, counts map[string]int) {
		t.Helper()
		spawns := of(ran(t, "shards: "+what, w.build()), "//:sharded_btf")
		for _, mnemonic := range []string{"BtfSplit", "BtfFacts", "BtfGen", "BtfLink"} {
			want(t, spawns, mnemonic, counts[mnemonic])
		}
		sharded := harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/sharded_btf.btf"))
		if !bytes.Equal(sharded, harness.ReadFile(t, filepath.Join(w.dir, "bazel-bin/vmlinux_btf.btf"))) {
			t.Errorf("%s: the BTF of the shards differs from that of the objects", what)
		}
	}
	build("first build", map[string]int{"BtfSplit": 1, "BtfFacts": 1, "BtfGen": 16, "BtfLink": 1})

	w.edit(t, "lib/string.c", "u64 length = 0;",
		"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;")
	build("a function's body", map[string]int{"BtfSplit": 1, "BtfFacts": 1})

	w.edit(t, "lib/string.c", "char text[16];", "char text[16]; int references;")
	build("a type", map[string]int{"BtfSplit": 1, "BtfFacts": 1, "BtfGen": 1, "BtfLink": 1})
}
