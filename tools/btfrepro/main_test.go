package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
)

// TestLeaveRunfiles: "bazel run" starts the program in its runfiles, but a program that a script
// starts stays in the script's directory.
func TestLeaveRunfiles(t *testing.T) {
	user, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runfiles := filepath.Join(user, "btfrepro.runfiles", "_main")
	if err := os.MkdirAll(runfiles, 0o777); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(user, "script")
	if err := os.Mkdir(script, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, variable, want string }{
		{runfiles, user, user}, {runfiles, "", runfiles}, {script, user, script},
	} {
		t.Chdir(c.from)
		t.Setenv("BUILD_WORKING_DIRECTORY", c.variable)
		leaveRunfiles()
		if got, err := os.Getwd(); err != nil || got != c.want {
			t.Errorf("from %s: in %s, want %s; %v", c.from, got, c.want, err)
		}
	}
}

func TestVerbs(t *testing.T) { clitest.Verbs(t, program) }

func TestUsage(t *testing.T) { clitest.Usage(t, program) }

func TestStdin(t *testing.T) { clitest.Stdin(t, program) }
