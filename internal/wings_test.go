package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wings are the directories of this one, in the order that data flows: what is in a wing imports
// what is in its own and in those above it, nothing below. ARCHITECTURE.md says what is in each.
var wings = []string{"support", "format", "model", "convert", "link", "kernel", "inspect",
	"pipeline", "repro", "command"}

// TestWings reports each import that goes against the order. Tests may import what they like.
func TestWings(t *testing.T) {
	const module = "github.com/rules-btf/rules_btf/internal/"
	wingOf := func(pkg string) int {
		wing, _, _ := strings.Cut(pkg, "/")
		return slices.Index(wings, wing)
	}
	imports := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(file))
		own := wingOf(pkg)
		if own < 0 {
			t.Errorf("%s: in no wing; add its directory to wings", file)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if of, ok := strings.CutPrefix(imported, module); ok {
				imports++
				if wingOf(of) > own {
					t.Errorf("%s imports %s: wing %s must not import from wing %s, which is below it",
						file, of, wings[own], wings[wingOf(of)])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if imports == 0 {
		t.Error("no import found")
	}
}
