// Package moduleinfo tests the module info of the programs that Bazel has built.
package moduleinfo

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/rules-btf/rules_btf"

// TestPrograms checks that "go version -m" shows the modules of the programs, in the versions from
// go.mod; that the programs have the version from MODULE.bazel; and that they are the same wherever
// they are built.
func TestPrograms(t *testing.T) {
	programs := strings.Fields(os.Getenv("PROGRAMS"))
	if len(programs) == 0 {
		t.Skip("SKIPPED: Bazel doesn't run this test")
	}
	root := filepath.Join(os.Getenv("TEST_SRCDIR"), os.Getenv("TEST_WORKSPACE"))
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	required := string(read(filepath.Join(root, "go.mod")))
	for _, program := range programs {
		path := filepath.Join(root, program)
		name := filepath.Base(path)
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Path != module+"/tools/"+name || info.Main.Path != module || len(info.Deps) < 3 {
			t.Errorf("%s: %v", name, info)
		}
		version := strings.TrimPrefix(info.Main.Version, "v")
		if want := fmt.Sprintf("version = %q,", version); !strings.Contains(
			string(read(filepath.Join(root, "MODULE.bazel"))), want) {
			t.Errorf("%s: MODULE.bazel has no line %s", name, want)
		}
		for _, d := range info.Deps {
			if !strings.Contains(required, d.Path+" "+d.Version+"\n") &&
				!strings.Contains(required, d.Path+" "+d.Version+" //") {
				t.Errorf("%s: go.mod has no %s %s", name, d.Path, d.Version)
			}
		}
		out, err := exec.Command(path, "--version").Output()
		if want := name + " version " + version + "\n"; err != nil || string(out) != want {
			t.Errorf("%s --version: %q, want %q; %v", name, out, want, err)
		}
		// No program may contain a path in Bazel's own directories: neither in those where this test
		// runs, nor in those where the programs were linked.
		execroot, _, _ := strings.Cut(root, "/bazel-out/")
		for _, place := range []string{execroot, "/execroot/_main/", "/sandbox/linux-sandbox/",
			"/sandbox/processwrapper-sandbox/"} {
			if i := bytes.Index(read(path), []byte(place)); i >= 0 {
				t.Errorf("%s holds the path %q", name, read(path)[i:i+60])
			}
		}
	}
}
