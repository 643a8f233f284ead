package batch

import (
	"os"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestArchiveEnds: the rule has to know which files are archives, because Bazel declares
// directories for them.
func TestArchiveEnds(t *testing.T) {
	bzl := must.Get(os.ReadFile("../../../rules/private/module_actions.bzl"))(t)
	list := "(\"" + strings.Join(archiveEnds, "\", \"") + "\")"
	if !strings.Contains(string(bzl), list) {
		t.Errorf("the rule has another list of archives than %s", list)
	}
}
