package bpf

import (
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) {
	harness.Main(m)
}

// newWorkspace copies an example, and makes the copy use btfcore as built from this checkout.
func newWorkspace(t *testing.T, example string) *harness.Workspace {
	t.Helper()
	w := harness.NewWorkspace(t, filepath.Join(harness.Repo(), "examples", example), "clang", "gcc")
	w.AddBtfcore(t)
	return w
}
