// Package cache builds a small workspace with Bazel, edits it, builds it again, and reads in
// Bazel's execution log which actions had to run again.
package cache

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestWhatRunsAfterAnEdit(t *testing.T) {
	w := newWorkspace(t, "//:vmlinux_btf", "//:disk_btf", "//:raid_btf")
	executed(t, "first build", w.build())

	// Each build starts with only the disk cache, so that the log also lists the cache hits.
	t.Run("a function's body", func(t *testing.T) {
		w.Edit("lib/string.c", "u64 length = 0;",
			"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;")
		again := executed(t, "after a body edit", w.build())
		want(t, again, "CppCompile", 1)
		atLeast(t, again, "BtfGen", 1)
		want(t, again, "BtfMerge", 0)
		want(t, again, "BtfLink", 0)
	})
	t.Run("a comment", func(t *testing.T) {
		w.Edit("lib/list.c", "item->next = head->next;", "item->next = head->next; /* first */")
		again := executed(t, "after a comment", w.build())
		want(t, again, "CppCompile", 1)
		want(t, again, "BtfMerge", 0)
		want(t, again, "BtfLink", 0)
	})
	t.Run("control: a type", func(t *testing.T) {
		w.Edit("lib/string.c", "char text[16];", "char text[16]; int references;")
		again := executed(t, "after an edit of a struct", w.build())
		atLeast(t, again, "BtfGen", 1)
		atLeast(t, again, "BtfLink", 1)
	})
	t.Run("compilation modes", w.modes)
}

// modes builds the whole example in each compilation mode, and checks that the BTF has certain
// functions. Optimization doesn't remove functions, because the linker keeps all of them.
func (w *workspace) modes(t *testing.T) {
	w.t = t
	for _, mode := range []string{"fastbuild", "dbg", "opt"} {
		w.runBazel(t, "test", "--disk_cache="+w.diskCache, "--compilation_mode="+mode, "//...")
		for module, function := range map[string]string{"vmlinux": "intern", "disk": "disk_size",
			"raid": "raid_add"} {
			path := filepath.Join(w.Dir, "bazel-bin", module+"_btf.btf")
			if !strings.Contains(string(harness.ReadFile(t, path)), "\x00"+function+"\x00") {
				t.Errorf("--compilation_mode=%s: the BTF of %s has no %s", mode, module, function)
			}
		}
	}
}

// runBazel runs a Bazel command in the workspace.
func (w *workspace) runBazel(t *testing.T, args ...string) {
	t.Helper()
	harness.MustRun(t, w.Dir, w.Argv(args...)...)
}

type workspace struct {
	*harness.Workspace
	t         *testing.T
	diskCache string
	targets   []string
	builds    int
}

// newWorkspace copies examples/hello. The list targets has the targets to build; it may also have
// flags for "bazel build".
func newWorkspace(t *testing.T, targets ...string) *workspace {
	t.Helper()
	hello := filepath.Join(harness.Repo(), "examples/hello")
	return &workspace{Workspace: harness.NewWorkspace(t, hello, "gcc"), t: t,
		diskCache: t.TempDir(), targets: targets}
}

// build builds the targets, with everything except the disk cache removed, and returns the log.
func (w *workspace) build() []execlog.Spawn {
	w.t.Helper()
	w.runBazel(w.t, "clean")
	w.builds++
	log := filepath.Join(w.diskCache, fmt.Sprintf("build-%d.log", w.builds))
	w.runBazel(w.t, append([]string{"build", "--disk_cache=" + w.diskCache,
		"--execution_log_compact_file=" + log}, w.targets...)...)
	found := must.Get(execlog.ReadFile(log))(w.t)
	return found.Spawns
}

// executed prints a table of the spawns in the log, and returns the spawns that had to run.
func executed(t *testing.T, what string, log []execlog.Spawn) []execlog.Spawn {
	t.Helper()
	type count struct{ ran, hit int }
	counts := map[string]count{}
	var again []execlog.Spawn
	btf := 0
	for _, s := range log {
		c := counts[s.Mnemonic]
		if s.CacheHit {
			c.hit++
		} else {
			c.ran++
			again = append(again, s)
		}
		counts[s.Mnemonic] = c
		if strings.HasPrefix(s.Mnemonic, "Btf") {
			btf++
		}
	}
	if btf == 0 {
		t.Fatalf("%s: the log has no action of rules_btf", what)
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Printf("\n| %s | ran | cache hits |\n|---|--:|--:|\n", what)
	for _, name := range names {
		fmt.Printf("| %s | %d | %d |\n", name, counts[name].ran, counts[name].hit)
	}
	return again
}

func number(spawns []execlog.Spawn, mnemonic string) (int, []string) {
	n := 0
	var labels []string
	for _, s := range spawns {
		if s.Mnemonic == mnemonic {
			n++
			labels = append(labels, s.Label)
		}
	}
	return n, labels
}

func want(t *testing.T, spawns []execlog.Spawn, mnemonic string, n int) {
	t.Helper()
	if got, labels := number(spawns, mnemonic); got != n {
		t.Errorf("%s ran %d times, want %d: %s", mnemonic, got, n, strings.Join(labels, " "))
	}
}

func atLeast(t *testing.T, spawns []execlog.Spawn, mnemonic string, n int) {
	t.Helper()
	if got, _ := number(spawns, mnemonic); got < n {
		t.Errorf("%s ran %d times, want at least %d", mnemonic, got, n)
	}
}
