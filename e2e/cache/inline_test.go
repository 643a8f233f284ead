package cache

import (
	"bytes"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// inlineTargets has a twin of the kernel and of a module of examples/hello, with inline = True.
const inlineTargets = `
vmlinux_btf(
    name = "sites_vmlinux_btf",
    srcs = [":kernel_objects"],
    inline = True,
    vmlinux = "//kernel:vmlinux",
)

module_btf(
    name = "sites_disk_btf",
    srcs = [":disk_objects"],
    base = ":sites_vmlinux_btf",
    inline = True,
    module = "//drivers:disk.ko",
)
`

// inlined is a function with one site in its caller, also without optimization.
const inlined = `
static inline __attribute__((always_inline)) int NAME(int n) { return n + 1; }
int use_NAME(int n) { return NAME(n); }
`

// TestInline compares what runs with and without inline = True. After an edit of a function's body,
// the only difference is one BtfInline, which writes other sites; the types stay the same.
func TestInline(t *testing.T) {
	twins := map[string]string{"//:sites_vmlinux_btf": "//:vmlinux_btf",
		"//:sites_disk_btf": "//:disk_btf"}
	w := newWorkspace(t, "--output_groups=+btf_inline", "//:vmlinux_btf", "//:disk_btf",
		"//:sites_vmlinux_btf", "//:sites_disk_btf")
	w.Write("BUILD.bazel", w.Read("BUILD.bazel")+inlineTargets)
	for _, file := range []string{"lib/string", "drivers/disk"} {
		w.Write(file+".c", w.Read(file+".c")+strings.ReplaceAll(inlined, "NAME", filepath.Base(file)))
	}
	// outputs returns the BTF of the twin with sites, and checks that it is that of the other.
	outputs := func(target string) (types, sites []byte) {
		t.Helper()
		read := func(target, suffix string) []byte {
			name := strings.TrimPrefix(target, "//:") + suffix
			return harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", name))
		}
		types, sites = read(target, ".btf"), read(target, ".inline.btf")
		if !bytes.Equal(types, read(twins[target], ".btf")) {
			t.Errorf("%s: inline = True changes the BTF of the types", target)
		}
		if !bytes.Contains(sites, []byte("inline.text\x00")) {
			t.Errorf("%s: no sites", target)
		}
		return types, sites
	}
	// build builds, and checks in which twins a BtfInline runs that the other lacks.
	build := func(what string, want map[string]int) {
		t.Helper()
		spawns := executed(t, "inline: "+what, w.build())
		for with, without := range twins {
			expected := mnemonics(spawnsOf(spawns, without))
			if n := want[with]; n > 0 {
				expected["BtfInline"] = n
			}
			if got := mnemonics(spawnsOf(spawns, with)); !maps.Equal(got, expected) {
				t.Errorf("%s: %s ran %v, want %v", what, with, got, expected)
			}
		}
	}
	both := map[string]int{"//:sites_vmlinux_btf": 1, "//:sites_disk_btf": 1}
	build("first build", both)
	for _, c := range []struct{ target, file, old, new string }{
		{"//:sites_vmlinux_btf", "lib/string.c", "u64 length = 0;",
			"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;"},
		{"//:sites_disk_btf", "drivers/disk.c", "disk->worker = task;",
			"volatile char debug[37] = {1}; debug[1]++; disk->worker = task;"},
	} {
		types, sites := outputs(c.target)
		w.Edit(c.file, c.old, c.new)
		build("a function's body in "+c.file, map[string]int{c.target: 1})
		newTypes, newSites := outputs(c.target)
		if !bytes.Equal(newTypes, types) || bytes.Equal(newSites, sites) {
			t.Errorf("after an edit of %s: the types must stay the same, and sites change", c.file)
		}
	}
	w.Edit("lib/string.c", "char text[16];", "char text[16]; int references;")
	build("control: a type in the kernel", both)
}

// mnemonics counts spawns by mnemonic.
func mnemonics(spawns []execlog.Spawn) map[string]int {
	counts := map[string]int{}
	for _, s := range spawns {
		counts[s.Mnemonic]++
	}
	return counts
}
