package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestFile copies a file out of a directory.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "tree/a"), 0o777)
	for _, name := range []string{"tree/a/file", "outside"} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666))
	}
	tree, out := filepath.Join(dir, "tree"), filepath.Join(dir, "out")
	for _, path := range []string{"none", "a", "", "../outside"} {
		code, errs := runVerb("file", "--path="+path, "-o", out, tree)
		_, err := os.Stat(out)
		if want := tree + " has no file "; code != 1 || err == nil || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d: %s", path, code, errs)
		}
	}
	if code, errs := runVerb("file", "--path=a/file", "-o", out, tree); code != 0 {
		t.Fatal(errs)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "tree/a/file" {
		t.Errorf("%q, %v", data, err)
	}
}
