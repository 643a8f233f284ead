package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPackages compares the packages from which the command is built with the lists in the
// repository rule that builds the command for other repository rules.
func TestPackages(t *testing.T) {
	rule, err := os.ReadFile("../../kbuild/private/generate.bzl")
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	deps, err := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{end}}{{.ImportPath}}", ".").Output()
	if err != nil {
		t.Skip("SKIPPED: go list:", err)
	}
	const own = "github.com/rules-btf/rules_btf"
	modules, packages := 0, 0
	for line := range strings.Lines(string(deps)) {
		module, path, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue // a package of the standard library
		}
		want := `"` + module + `": (`
		if module == own {
			packages++
			want = `"` + strings.TrimPrefix(path, own+"/") + `"`
			if path == own+"/internal/kernel/kbuild/buildfiles" {
				continue // below internal/kernel/kbuild
			}
		} else {
			modules++
		}
		if !strings.Contains(string(rule), want) {
			t.Errorf("%s: kbuild/private/generate.bzl has no %s", path, want)
		}
	}
	if modules < 10 || packages < 8 {
		t.Errorf("go list lists %d packages of other modules and %d of this one", modules, packages)
	}
}
