package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// workspace is a directory outside of the repository, and a command "bazel" for it, which takes the
// tools as they are built by Go: building them by Bazel, as a user's first build does, takes
// minutes.
type workspace struct {
	*testing.T
	dir, path string
}

// newWorkspace makes one of a directory of the repository.
func newWorkspace(t *testing.T, from string) *workspace {
	t.Helper()
	bazel, err := exec.LookPath("bazel")
	if err != nil {
		t.Skip("SKIPPED: bazel isn't on PATH (./bazelw --root-exec has it)")
	}
	harness.Need(t, "gcc", "bpftool")
	base, err := os.MkdirTemp("", "bazel")
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{T: t, dir: t.TempDir()}
	bin := t.TempDir()
	w.path = bin + ":" + os.Getenv("PATH")
	t.Cleanup(func() {
		harness.Command{Argv: []string{filepath.Join(bin, "bazel"), "clean", "--expunge"},
			Dir: w.dir}.Run()
		harness.Command{Argv: []string{"chmod", "-R", "u+w", base}}.Run()
		os.RemoveAll(base)
	})
	harness.CopyWorkspace(t, from, w.dir)
	flag := harness.AddTools(t, w.dir, harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup"))
	rc := filepath.Join(bin, "bazelrc")
	harness.WriteFile(t, rc, "build "+flag+"\n")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --output_base='%s' --bazelrc='%s' \"$@\"\n",
		bazel, base, rc)
	if err := os.WriteFile(filepath.Join(bin, "bazel"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// shell runs a command line as a user types it, and returns all that it prints.
func (w *workspace) shell(line string) string {
	w.Helper()
	r, err := harness.Command{
		Argv: []string{"bash", "-c", "set -o pipefail; exec 2>&1; " + line},
		Dir:  w.dir, Env: []string{"PATH=" + w.path},
	}.Run()
	if err != nil || r.Exit != 0 {
		w.Fatalf("%s: exit %d, %v\n%s", line, r.Exit, err, r.Stdout)
	}
	return r.Stdout
}
