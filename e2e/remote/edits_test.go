package remote

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/execlog"
)

// kernelEdit is an edit of the kernel's source, after which Kbuild makes a goal.
type kernelEdit struct {
	name, file, old, new, goal string
	compiled                   [2]int // the least and the most files that Kbuild compiles
	// What runs of the actions that read no file of Kbuild: nothing after edits of no type.
	merges      map[string]int // by grain
	links, base int
}

const argvSplit, dummy = "lib/argv_split.c", "drivers/net/dummy.c"

// Each build of vmlinux compiles init/version-timestamp.c, which has the number of the build.
var kernelEdits = []kernelEdit{
	{name: "a comment at a line's end", file: argvSplit, goal: "vmlinux",
		old: "#include <linux/kernel.h>", new: "#include <linux/kernel.h> /* first */",
		compiled: [2]int{2, 2}},
	{name: "the body of a function", file: argvSplit, goal: "vmlinux",
		old: "int count = 0;", new: "int count = 0; volatile int debug = 1; debug++;",
		compiled: [2]int{2, 2}},
	{name: "the body of a function in a module", file: dummy, goal: "modules",
		old: "int i, err = 0;", new: "int i, err = 0; volatile int debug = 1; debug++;",
		compiled: [2]int{1, 3}},
	{name: "a type in a module", file: dummy, goal: "modules",
		old: "static int numdummies = 1;", new: "static int numdummies = 1;\n" +
			"struct dummy_edit { int first; };\nint dummy_edit(struct dummy_edit *e);\n" +
			"int dummy_edit(struct dummy_edit *e) { return e->first; }",
		compiled: [2]int{1, 3}, links: 1},
	{name: "a type in one file", file: argvSplit, goal: "vmlinux",
		old: "static int count_argc", new: "struct argv_edit { int first; };\n" +
			"int argv_edit(struct argv_edit *e);\n" +
			"int argv_edit(struct argv_edit *e) { return e->first; }\nstatic int count_argc",
		compiled: [2]int{2, 2}, links: 8, base: 1},
	{name: "a type in a header", file: "include/linux/pipe_fs_i.h", goal: "vmlinux",
		old: "struct pipe_inode_info {", new: "struct pipe_inode_info {\n\tint edit;",
		compiled: [2]int{8, 40}, links: 8, base: 1},
	{name: "a comment in a header of all files", file: "include/linux/kconfig.h", goal: "vmlinux",
		old: "#define __LINUX_KCONFIG_H", new: "#define __LINUX_KCONFIG_H\n\n/* moves lines */\n",
		compiled: [2]int{500, 1500}},
}

// TestKernelEdits edits the kernel's source, has Kbuild compile and link it, and counts what Bazel
// runs then, with two grains. As often as a file of Kbuild differs that an action reads, it must
// run; and after edits that change no type no other.
func TestKernelEdits(t *testing.T) {
	long(t)
	source := harness.Kernel(t)
	harness.KernelCompiler(t, source)
	tree := copyInPlace(t, source)
	builds := []*editedKernel{newEditedKernel(t, tree, "object"), newEditedKernel(t, tree, "16")}
	for _, e := range kernelEdits {
		t.Run(e.name, func(t *testing.T) {
			before := builds[0].m.digests()
			e.apply(t, tree)
			for _, b := range builds {
				b.m.t = t
				b.check(t, e)
			}
			builds[1].m.same(builds[0].m.digests())
			if !e.changesTypes() {
				builds[0].m.same(before)
			}
		})
	}
	// What came out edit by edit is what a build from nothing makes.
	m := builds[1].m
	m.t = t
	want := m.digests()
	m.must()
	m.same(want)
}

func (e *kernelEdit) changesTypes() bool { return e.links > 0 }

// apply edits the source and has Kbuild make the goal.
func (e *kernelEdit) apply(t *testing.T, tree string) {
	t.Helper()
	path := filepath.Join(tree, e.file)
	text := string(harness.ReadFile(t, path))
	if !strings.Contains(text, e.old) {
		t.Fatalf("%s has no %q", e.file, e.old)
	}
	harness.WriteFile(t, path, strings.Replace(text, e.old, e.new, 1))
	began := time.Now()
	out := harness.Command{Dir: tree, Timeout: 60 * time.Minute,
		Argv: []string{"make", "-j2", e.goal},
		Env: []string{"KBUILD_BUILD_TIMESTAMP=1970-01-01", "KBUILD_BUILD_USER=rules_btf",
			"KBUILD_BUILD_HOST=rules_btf"}}.Must(t)
	compiled := strings.Count(out, "\n  CC ") + strings.Count(out, "\n  AS ")
	fmt.Printf("\n%s: Kbuild compiled %d files in %.0f s\n", e.name, compiled,
		time.Since(began).Seconds())
	if compiled < e.compiled[0] || compiled > e.compiled[1] {
		t.Errorf("%s: Kbuild compiled %d files, want %d to %d", e.name, compiled, e.compiled[0],
			e.compiled[1])
	}
}

// editedKernel is a machine that builds the BTF of a kernel's tree with a grain.
type editedKernel struct {
	m     *machine
	tree  string
	grain string
	reads []reader
	files map[string]string // digests, by path in the tree
}

// reader is an action that reads files of Kbuild.
type reader struct {
	mnemonic string
	files    []string
}

func newEditedKernel(t *testing.T, tree, grain string) *editedKernel {
	t.Helper()
	m := kernel(t, tree)
	m.options = append(m.options, "--@rules_btf//rules/settings:grain="+grain)
	first := m.ok(m.rebuild())
	show(t, "kernel, grain "+grain, first)
	m.findResults()
	k := &editedKernel{m: m, tree: tree, grain: grain, files: map[string]string{}}
	log := openLog(t, first.log)
	walker := execlog.NewWalker(log)
	for _, s := range log.Spawns {
		r := reader{mnemonic: s.Mnemonic}
		for id := range walker.All(s.Inputs) {
			path := log.Artifact(id).Path
			if _, file, ok := strings.Cut(path, "kernel/"); ok && strings.HasPrefix(path, "external/") {
				r.files = append(r.files, file)
				k.files[file] = ""
			}
		}
		if len(r.files) > 0 {
			k.reads = append(k.reads, r)
		}
	}
	k.changed(t)
	return k
}

// changed returns which files differ from those of the last call.
func (k *editedKernel) changed(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for file, old := range k.files {
		content, err := os.ReadFile(filepath.Join(k.tree, file))
		if err != nil {
			t.Fatal(err)
		}
		digest := fmt.Sprintf("%x", sha256.Sum256(content))
		if digest != old {
			out[file], k.files[file] = true, digest
		}
	}
	return out
}

// check builds after an edit and compares how often each mnemonic runs with what must run.
func (k *editedKernel) check(t *testing.T, e kernelEdit) {
	t.Helper()
	changed := k.changed(t)
	want := map[string]int{"BtfMerge": e.merges[k.grain], "BtfLink": e.links, "BtfBase": e.base}
	for _, r := range k.reads {
		for _, file := range r.files {
			if changed[file] {
				want[r.mnemonic]++
				break
			}
		}
	}
	ran := show(t, fmt.Sprintf("%s, %d files differ, grain %s", e.name, len(changed), k.grain),
		k.m.ok(k.m.rebuild()))
	if want["BtfGen"] == 0 || want["BtfFacts"] == 0 {
		t.Errorf("the edit changed no object or nothing that is linked: %v", want)
	}
	for _, mnemonic := range []string{"BtfGen", "BtfFacts", "BtfMerge", "BtfLink", "BtfBase"} {
		if n := ran[mnemonic].ran(); n != want[mnemonic] {
			t.Errorf("grain %s: %s ran %d times, want %d", k.grain, mnemonic, n, want[mnemonic])
		}
	}
}

// copyInPlace copies a tree of kernel.sh, and shows the copy where Kbuild built the original: tools
// of the kernel note their absolute paths, and where these are others all objects are compiled
// again.
func copyInPlace(t *testing.T, source string) string {
	t.Helper()
	needRoot(t)
	tree := filepath.Join(t.TempDir(), "linux")
	harness.MustRun(t, "", "cp", "-a", source, tree)
	place := source + ".partial"
	if exists(place) {
		t.Skipf("SKIPPED: %s is there: is kernel.sh building?", place)
	}
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	harness.MustRun(t, "", "mount", "--bind", tree, place)
	t.Cleanup(func() {
		harness.Command{Argv: []string{"umount", "-l", place}}.Run()
		os.Remove(place)
	})
	return place
}
