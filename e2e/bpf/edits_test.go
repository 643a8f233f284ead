// Package bpf builds examples/bpf with Bazel. It checks which actions run again after an edit of a
// program or a kernel, and what the tests report. It also checks that "btfcore check" gives the
// same verdicts with minimal BTF as with the whole BTF.
package bpf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// counts maps each mnemonic to the number of actions that ran.
type counts map[string]int

// runTest runs the test of the minimal BTF, and counts the actions that run for it. It doesn't
// build the agent, because for that Bazel would compile Go's standard library.
func runTest(t *testing.T, w *harness.Workspace) counts {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	w.Shell("bazel test --execution_log_compact_file=" + log + " //:agent_loads_test")
	found := must.Get(execlog.ReadFile(log))(t)
	c := counts{}
	tests := map[string]bool{} // Bazel's log has two spawns for each test
	for _, s := range found.Spawns {
		switch {
		case s.CacheHit:
		case s.Mnemonic == "TestRunner":
			tests[s.Label] = true
		default:
			c[s.Mnemonic]++
		}
	}
	c["TestRunner"] = len(tests)
	return c
}

// want fails the test unless the numbers in c are as expected. If a mnemonic isn't in expected,
// none of its actions may have run.
func (c counts) want(t *testing.T, expected counts) {
	t.Helper()
	fmt.Printf("%s: %v\n", t.Name(), c)
	for _, mnemonic := range []string{"Genrule", "BtfNeeds", "BtfMin", "BtfImport", "TestRunner"} {
		if c[mnemonic] != expected[mnemonic] {
			t.Errorf("%s ran %d times, want %d", mnemonic, c[mnemonic], expected[mnemonic])
		}
	}
}

// minimal reads the minimal BTF of a kernel.
func minimal(w *harness.Workspace, kernel string) string {
	w.Helper()
	return w.Read("bazel-bin/agent/agent_btf/" + kernel + ".btf")
}

func TestWhatRunsAfterAnEdit(t *testing.T) {
	w := newWorkspace(t, "bpf")
	runTest(t, w).want(t, counts{"Genrule": 5, "BtfNeeds": 1, "BtfMin": 3, "TestRunner": 1})

	t.Run("nothing", func(t *testing.T) { runTest(t, w).want(t, counts{}) })
	t.Run("a program's body", func(t *testing.T) {
		w.Edit("programs/exec.bpf.c", "\treturn 0;", "\tlast_state ^= last_state << 7;\n\treturn 0;")
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfNeeds": 1})
	})
	t.Run("lines", func(t *testing.T) {
		w.Edit("programs/bpf.h", "#define CORE", "\n\n#define CORE")
		runTest(t, w).want(t, counts{"Genrule": 2, "BtfNeeds": 1})
	})
	t.Run("an unused field of a local type", func(t *testing.T) {
		w.Edit("programs/exec.bpf.c", "\tint pid;", "\tint pid;\n\tint tgid;")
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfNeeds": 1})
	})
	t.Run("a new field", func(t *testing.T) {
		before := minimal(w, "5.10")
		w.Edit("programs/exec.bpf.c", "\tread(&last_pid, task->pid);",
			"\tread(&last_pid, task->pid);\n\tread(&last_pid, task->tgid);")
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfNeeds": 1, "BtfMin": 3, "TestRunner": 1})
		if minimal(w, "5.10") == before || !strings.Contains(minimal(w, "5.10"), "\x00tgid\x00") {
			t.Error("the minimal BTF lacks the new field")
		}
	})
	t.Run("a new kernel", func(t *testing.T) {
		w.Write("kernels/6.6.c", w.Read("kernels/6.12.c")+"struct inode *unused(void) { return 0; }\n")
		w.Edit("BUILD.bazel", `        "6.1",`, `        "6.1",
        "6.6",`)
		w.Edit("BUILD.bazel", `        "kernels/6.1.btf",`, `        "kernels/6.1.btf",
        "kernels/6.6.btf",`)
		list := w.Read("expected_failures.txt")
		w.Write("expected_failures.txt", list+renamed(list, map[string][]string{"6.12": {"6.6"}}))
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1, "TestRunner": 1})
		if minimal(w, "6.6") != minimal(w, "6.12") {
			t.Error("the minimal BTF of two kernels differs, although the used types are the same")
		}
	})
	t.Run("unused types of a kernel", func(t *testing.T) {
		before := minimal(w, "6.1")
		w.Edit("kernels/6.1.c", "struct task_struct {",
			"struct inode { long number; };\nvoid drop(struct inode *inode) {}\nstruct task_struct {")

		// The new field fits into a hole of the struct, so no other field moves.
		w.Edit("kernels/6.1.c", "\tunsigned int flags;", "\tunsigned int flags;\n\tint group;")
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1})
		if minimal(w, "6.1") != before {
			t.Error("an unused type changes the minimal BTF")
		}
	})
	t.Run("a field that moves", func(t *testing.T) {
		w.Edit("kernels/6.1.c", "\tvoid *stack;", "\tlong usage;\n\tvoid *stack;")
		runTest(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1, "TestRunner": 1})
	})
}
