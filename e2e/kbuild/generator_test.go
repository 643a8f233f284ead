package kbuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// generator is a script in place of btfkbuild. It makes a repository with one target.
const generator = `#!/bin/sh
for arg; do
	case $arg in
	--out=*) out=${arg#*=} ;;
	--inputs=*) inputs=${arg#*=} ;;
	esac
done
: >"$inputs"
echo 'filegroup(name = "NAME")' >"$out/BUILD.bazel"
`

// TestGenerator checks that kbuild_tree reads a tree again when the command that reads trees has
// changed. With the flag, Bazel 7 watches only what a repository rule names, as Bazel 8 does.
func TestGenerator(t *testing.T) {
	w := newWorkspace(t)
	argv := append(slices.Clone(w.bazel), "query", "--incompatible_no_implicit_watch_label",
		"@generated//:all")
	for _, name := range []string{"first", "second"} {
		script := []byte(strings.ReplaceAll(generator, "NAME", name))
		must.OK(t, os.WriteFile(filepath.Join(w.dir, "generator"), script, 0o755))
		got := harness.Command{Argv: argv, Dir: w.dir}.Must(t)
		if want := "@generated//:" + name + "\n"; got != want {
			t.Errorf("targets %q, want %q", got, want)
		}
	}
}
