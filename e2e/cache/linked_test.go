package cache

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// linkedTargets convert linked files, as if one large action had built the kernel: the kernel of
// examples/hello, and one of its modules. They also convert the kernel's objects from a directory.
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
// equal the BTF that is made from the separate objects. After an edit that changes no type, nothing
// must be linked again.
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
	// build checks how many actions ran for the kernel's targets and for the module's targets.
	build := func(what string, kernel, module map[string]int) {
		t.Helper()
		spawns := ran(t, "linked files: "+what, w.build())
		for _, mnemonic := range []string{"BtfGen", "BtfFacts", "BtfMerge", "BtfLink"} {
			want(t, of(spawns, "//:linked_btf"), mnemonic, kernel[mnemonic])
			want(t, of(spawns, "//:linked_disk_btf"), mnemonic, module[mnemonic])
		}
		want(t, of(spawns, "//:directory_objects"), "BtfGen", kernel["BtfGen"])
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
