package cache

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// linkedTargets has targets that convert two linked files, the kernel of examples/hello and one of
// its modules, as if one large action had built them. Further targets convert the kernel's objects
// in a directory.
const linkedTargets = `
load("//:directory.bzl", "directory")

vmlinux_btf(
    name = "linked_btf",
    vmlinux = "//kernel:vmlinux",
)

module_btf(
    name = "linked_disk_btf",
    base = ":linked_btf",
    module = "//drivers:disk.ko",
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

// TestLinked converts linked files, one action for each, and objects in a directory. The BTF must
// be the same as the BTF that is made from the separate objects. After an edit that changes no
// type, no BTF may be linked again.
func TestLinked(t *testing.T) {
	same := map[string]string{"linked_btf": "vmlinux_btf", "linked_disk_btf": "disk_btf",
		"directory_btf": "vmlinux_btf"}
	var targets []string
	for name, as := range same {
		targets = append(targets, "//:"+name, "//:"+as)
	}
	w := newWorkspace(t, targets...)
	harness.WriteFile(t, filepath.Join(w.Dir, "directory.bzl"), directoryRule)
	w.Write("BUILD.bazel", w.Read("BUILD.bazel")+linkedTargets)
	// build builds, and checks how many actions ran for the kernel's and the module's targets.
	build := func(what string, kernel, module map[string]int) {
		t.Helper()
		spawns := executed(t, "linked files: "+what, w.build())
		for _, mnemonic := range []string{"BtfGen", "BtfFacts", "BtfMerge", "BtfLink"} {
			want(t, spawnsOf(spawns, "//:linked_btf"), mnemonic, kernel[mnemonic])
			want(t, spawnsOf(spawns, "//:linked_disk_btf"), mnemonic, module[mnemonic])
		}
		want(t, spawnsOf(spawns, "//:directory_objects"), "BtfGen", kernel["BtfGen"])
		for name, as := range same {
			if !bytes.Equal(harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", name+".btf")),
				harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", as+".btf"))) {
				t.Errorf("%s: the BTF of %s differs from that of %s", what, name, as)
			}
		}
	}
	all := map[string]int{"BtfGen": 1, "BtfFacts": 1, "BtfLink": 1}
	converted := map[string]int{"BtfGen": 1, "BtfFacts": 1}
	build("first build", all, all)
	w.Edit("lib/string.c", "u64 length = 0;",
		"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;")
	build("a function's body in the kernel", converted, nil)
	w.Edit("drivers/disk.c", "disk->worker = task;",
		"volatile char debug[37] = {1}; debug[1]++; disk->worker = task;")
	build("a function's body in the module", nil, converted)
	w.Edit("lib/string.c", "char text[16];", "char text[16]; int references;")
	build("a type in the kernel", all, map[string]int{"BtfLink": 1})
}
