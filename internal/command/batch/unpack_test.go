package batch

import (
	"os"
	"strings"
	"testing"
)

// TestArchiveEnds: the rule has to know which files are archives, because Bazel declares
// directories for them.
func TestArchiveEnds(t *testing.T) {
	bzl, err := os.ReadFile("../../../rules/private/module_actions.bzl")
	if err != nil {
		t.Fatal(err)
	}
	list := "(\"" + strings.Join(archiveEnds, "\", \"") + "\")"
	if !strings.Contains(string(bzl), list) {
		t.Errorf("the rule has another list of archives than %s", list)
	}
}
