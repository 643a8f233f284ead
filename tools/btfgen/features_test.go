package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDistilledBaseNeedsAFile refuses the feature without a file for the distilled base.
func TestDistilledBaseNeedsAFile(t *testing.T) {
	code, stdout, stderr := btfgen("elf", "-o", filepath.Join(t.TempDir(), "out.btf"),
		"--features=default,distilled_base", "--base=base.btf", "vmlinux")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "needs --distilled-base=FILE") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
