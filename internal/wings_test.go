package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// wings are the subdirectories of internal, in the order in which data flows: a package imports
// only from its own wing and from earlier ones. ARCHITECTURE.md describes each wing.
var wings = []string{"support", "format", "model", "convert", "link", "kernel", "inspect",
	"programs", "pipeline", "repro", "command"}

// TestWings reports each import that goes against the order, and compares the picture in
// ARCHITECTURE.md with the imports. Tests may import what they like.
func TestWings(t *testing.T) {
	const module = "github.com/rules-btf/rules_btf/internal/"
	wingOf := func(pkg string) int {
		wing, _, _ := strings.Cut(pkg, "/")
		return slices.Index(wings, wing)
	}
	imported := make([][]bool, len(wings)) // by importing wing and imported wing
	for i := range imported {
		imported[i] = make([]bool, len(wings))
	}
	must.OK(t, filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
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
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			of, ok := strings.CutPrefix(name, module)
			if !ok {
				continue
			}
			if wing := wingOf(of); wing <= own {
				imported[own][wing] = true
			} else {
				t.Errorf("%s imports %s: wing %s must not import from wing %s, which comes later",
					file, of, wings[own], wings[wing])
			}
		}
		return nil
	}))
	page := must.Get(os.ReadFile("../ARCHITECTURE.md"))(t)
	if want := picture(imported); !strings.Contains(string(page), want) {
		t.Errorf("ARCHITECTURE.md: the picture of the wings should be\n%s", want)
	}
}

// picture draws an arrow from each wing to each wing that it imports, unless a path of other arrows
// leads there, too.
func picture(imported [][]bool) string {
	text := "```mermaid\ngraph TD\n"
	for from := range wings {
		reached := make([]bool, len(wings))
		for to := from - 1; to >= 0; to-- {
			if !imported[from][to] || reached[to] {
				continue
			}
			text += "  " + wings[from] + " --> " + wings[to] + "\n"
			reach(imported, to, reached)
		}
	}
	return text + "```\n"
}

// reach marks a wing and all those that it imports, directly or by way of others.
func reach(imported [][]bool, wing int, reached []bool) {
	reached[wing] = true
	for to := range wing {
		if imported[wing][to] {
			reach(imported, to, reached)
		}
	}
}
