// Package bpf builds examples/bpf with Bazel. It checks which actions run again after an edit of a
// program or a kernel, what the tests report, and that the verdicts on minimal BTF are the same as
// on the whole BTF.
package bpf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// counts says how many actions ran, by mnemonic.
type counts map[string]int

// runs counts the actions that run for a test of the minimal BTF. It doesn't build the agent,
// because Bazel would compile Go's standard library for that.
func runs(t *testing.T, w *harness.Workspace) counts {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	w.Shell("bazel test --execution_log_compact_file=" + log + " //:agent_loads_test")
	found, err := execlog.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
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

// want checks how many actions ran. If expected lacks a mnemonic, none of its actions may have run.
func (c counts) want(t *testing.T, expected counts) {
	t.Helper()
	fmt.Printf("%s: %v\n", t.Name(), c)
	for _, mnemonic := range []string{"Genrule", "BpfNeeds", "BtfMin", "BtfImport", "TestRunner"} {
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
	runs(t, w).want(t, counts{"Genrule": 5, "BpfNeeds": 1, "BtfMin": 3, "TestRunner": 1})

	t.Run("nothing", func(t *testing.T) { runs(t, w).want(t, counts{}) })
	t.Run("a program's body", func(t *testing.T) {
		w.Edit("programs/exec.bpf.c", "\treturn 0;", "\tlast_state ^= last_state << 7;\n\treturn 0;")
		runs(t, w).want(t, counts{"Genrule": 1, "BpfNeeds": 1})
	})
	t.Run("lines", func(t *testing.T) {
		w.Edit("programs/bpf.h", "/* What", "\n\n/* What")
		runs(t, w).want(t, counts{"Genrule": 2, "BpfNeeds": 1})
	})
	t.Run("an unused field of a local type", func(t *testing.T) {
		w.Edit("programs/exec.bpf.c", "\tint pid;", "\tint pid;\n\tint tgid;")
		runs(t, w).want(t, counts{"Genrule": 1, "BpfNeeds": 1})
	})
	t.Run("a new field", func(t *testing.T) {
		before := minimal(w, "5.10")
		w.Edit("programs/exec.bpf.c", "\tread(&last_pid, task->pid);",
			"\tread(&last_pid, task->pid);\n\tread(&last_pid, task->tgid);")
		runs(t, w).want(t, counts{"Genrule": 1, "BpfNeeds": 1, "BtfMin": 3, "TestRunner": 1})
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
		runs(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1, "TestRunner": 1})
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
		runs(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1})
		if minimal(w, "6.1") != before {
			t.Error("an unused type changes the minimal BTF")
		}
	})
	t.Run("a field that moves", func(t *testing.T) {
		w.Edit("kernels/6.1.c", "\tvoid *stack;", "\tlong usage;\n\tvoid *stack;")
		runs(t, w).want(t, counts{"Genrule": 1, "BtfMin": 1, "TestRunner": 1})
	})
}
