package remote

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kernelEdit is an edit of the kernel's source. After the edit, Kbuild makes the goal.
type kernelEdit struct {
	name, file, old, new, goal string
	compiled                   [2]int // the least and greatest number of files that Kbuild compiles
	links                      int    // how many BTF files must be linked again; 0 if no type changes
}

const argvSplit, mount = "lib/argv_split.c", "fs/configfs/mount.c"

// kernelEdits are the edits. In each build of vmlinux, Kbuild also compiles
// init/version-timestamp.c, which contains the build number.
var kernelEdits = []kernelEdit{
	{name: "a comment at a line's end", file: argvSplit, goal: "vmlinux",
		old: "#include <linux/kernel.h>", new: "#include <linux/kernel.h> /* first */",
		compiled: [2]int{2, 8}},
	{name: "the body of a function", file: argvSplit, goal: "vmlinux",
		old: "int count = 0;", new: "int count = 0; volatile int debug = 1; debug++;",
		compiled: [2]int{2, 8}},
	{name: "the body of a function in a module", file: mount, goal: "modules",
		old: "int err = -ENOMEM;", new: "int err = -ENOMEM; volatile int debug = 1; debug++;",
		compiled: [2]int{1, 8}},
	{name: "a type in a module", file: mount, goal: "modules",
		old: "static int configfs_mnt_count = 0;", new: "static int configfs_mnt_count = 0;\n" +
			"struct mount_edit { int first; };\nint mount_edit(struct mount_edit *e);\n" +
			"int mount_edit(struct mount_edit *e) { return e->first; }",
		compiled: [2]int{1, 8}, links: 1},
	{name: "a type in one file", file: argvSplit, goal: "vmlinux",
		old: "static int count_argc", new: "struct argv_edit { int first; };\n" +
			"int argv_edit(struct argv_edit *e);\n" +
			"int argv_edit(struct argv_edit *e) { return e->first; }\nstatic int count_argc",
		compiled: [2]int{2, 8}, links: 8},
	{name: "a type in a header", file: "include/linux/pipe_fs_i.h", goal: "vmlinux",
		old: "struct pipe_inode_info {", new: "struct pipe_inode_info {\n\tint edit;",
		compiled: [2]int{8, 40}, links: 8},
	{name: "a comment in a header of all files", file: "include/linux/kconfig.h", goal: "vmlinux",
		old: "#define __LINUX_KCONFIG_H", new: "#define __LINUX_KCONFIG_H\n\n/* moves lines */\n",
		compiled: [2]int{500, 1500}},
}

// TestKernelEdits edits the kernel's source, lets Kbuild compile and link it, and counts the
// actions that Bazel then runs, with two values of the flag --@rules_btf//rules/settings:grain.
// Exactly the actions that have a changed input must run. If no type changed, no BtfMerge, BtfLink
// or BtfBase may run.
func TestKernelEdits(t *testing.T) {
	needAll(t)
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
	// After all edits, the result must be the same as that of a build from scratch.
	m := builds[1].m
	m.t = t
	want := m.digests()
	m.must()
	m.same(want)
}

func (e *kernelEdit) changesTypes() bool { return e.links > 0 }

// apply edits the source and lets Kbuild make the goal.
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

// editedKernel is a machine that builds the BTF from a kernel tree, with one value of the flag
// grain.
type editedKernel struct {
	m       *machine
	grain   string
	actions []reader
	files   map[string]string // maps each file that the actions read to its last known digest
}

// reader is an action and the files that it reads.
type reader struct {
	mnemonic string
	inputs   []string
}

func newEditedKernel(t *testing.T, tree, grain string) *editedKernel {
	t.Helper()
	k := &editedKernel{m: kernel(t, tree), grain: grain, files: map[string]string{}}
	k.m.options = append(k.m.options, "--@rules_btf//rules/settings:grain="+grain)
	first := k.m.ok(k.m.rebuild())
	show(t, "kernel, grain "+grain, first)
	k.m.findResults()
	log := openLog(t, first.log)
	walker := execlog.NewWalker(log)
	for _, s := range log.Spawns {
		a := reader{mnemonic: s.Mnemonic}
		for id := range walker.All(s.Inputs) {
			input := log.Artifact(id)
			path := k.m.path(input.Path)
			if strings.HasPrefix(input.Content, "file ") && exists(path) { // a parameter file may be gone
				a.inputs = append(a.inputs, path)
				k.files[path] = ""
			}
		}
		k.actions = append(k.actions, a)
	}
	k.changed(t)
	return k
}

// path returns the full path of a file that is named in an execution log.
func (m *machine) path(name string) string {
	if strings.HasPrefix(name, "external/") {
		return filepath.Join(m.base, name)
	}
	return filepath.Join(m.dir, name)
}

// changed returns the files that the actions read and that have changed since the last call.
func (k *editedKernel) changed(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for file, old := range k.files {
		digest := fmt.Sprintf("%x", sha256.Sum256(harness.ReadFile(t, file)))
		if digest != old {
			out[file], k.files[file] = true, digest
		}
	}
	return out
}

// check builds after an edit. For each mnemonic, it compares the number of actions that ran with
// the number of actions that have a changed input.
func (k *editedKernel) check(t *testing.T, e kernelEdit) {
	t.Helper()
	ran := show(t, e.name+", grain "+k.grain, k.m.ok(k.m.rebuild()))
	changed := k.changed(t)
	want := map[string]int{}
	for _, a := range k.actions {
		if slices.ContainsFunc(a.inputs, func(path string) bool { return changed[path] }) {
			want[a.mnemonic]++
		}
	}
	fmt.Printf("%d of the files that actions read have changed\n", len(changed))
	for _, mnemonic := range []string{"BtfGen", "BtfFacts", "BtfMerge", "BtfLink", "BtfBase"} {
		if n := ran[mnemonic].ran(); n != want[mnemonic] {
			t.Errorf("grain %s: %s ran %d times, but %d of its actions have changed inputs", k.grain,
				mnemonic, n, want[mnemonic])
		}
	}
	links := ran["BtfLink"].ran()
	if ran["BtfGen"].ran() == 0 || ran["BtfFacts"].ran() == 0 || links != e.links ||
		links == 0 && ran["BtfMerge"].ran() > 0 || ran["BtfBase"].ran() != links/8 {
		t.Errorf("grain %s: %v ran; want BtfGen, BtfFacts, %d BtfLink, BtfMerge only if a type changed, "+
			"and BtfBase only if a type of the kernel changed", k.grain, ran, e.links)
	}
}

// copyInPlace makes a writable view of a tree that kernel.sh built, at the path at which the tree
// was built. Kbuild records absolute paths, and if these change, it compiles all objects again. The
// mount exists only in this mount namespace, so other builds of the kernel don't see the view.
func copyInPlace(t *testing.T, source string) string {
	t.Helper()
	needRoot(t)
	overlay(t, filepath.Dir(source), filepath.Dir(source))
	place := source + ".partial"
	must.OK(t, os.MkdirAll(place, 0o755))
	overlay(t, source, place)
	return place
}

// overlay mounts a writable view of the directory lower at the path place. Writes to the view don't
// change the directory lower.
func overlay(t *testing.T, lower, place string) {
	t.Helper()
	upper, work := filepath.Join(t.TempDir(), "upper"), filepath.Join(t.TempDir(), "work")
	for _, dir := range []string{upper, work} {
		must.OK(t, os.Mkdir(dir, 0o755))
	}
	harness.MustRun(t, "", "mount", "-t", "overlay", "-o",
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work), "overlay", place)
	t.Cleanup(func() { harness.Command{Argv: []string{"umount", "-l", place}}.Run() })
}
