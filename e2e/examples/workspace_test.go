package examples

import (
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// newWorkspace makes a workspace from a directory of the repository.
func newWorkspace(t *testing.T, from string) *harness.Workspace {
	t.Helper()
	return harness.NewWorkspace(t, from, "gcc", "bpftool")
}
