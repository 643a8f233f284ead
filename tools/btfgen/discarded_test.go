package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDiscardedSections links the BTF of an object from which the linker has dropped everything.
func TestDiscardedSections(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, p("a.c"), "struct s { int i; }; int f(struct s *s) { return s->i; }")
	writeFile(t, p("start.c"), "int start;")
	programtest.Shell(t, dir, "gcc -O2 -c start.c; "+
		"gcc -g -O2 -ffunction-sections -fno-asynchronous-unwind-tables -c a.c")
	a := p("a.btfo")
	if code, _, stderr := btfgen("object", "-o", a, p("a.o")); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct{ option, want string }{
		{"--no-gc-sections", ""},
		{"--gc-sections", "link with --no-gc-sections"},
	} {
		programtest.Run(t, dir, "ld", c.option, "-e", "start", "-o", p("linked"), p("start.o"), p("a.o"))
		if code, _, stderr := btfgen("facts", "-o", p("facts"), p("linked")); code != 0 {
			t.Fatal(stderr)
		}
		if text := linkError(t, a, p("facts")); !strings.Contains(text, c.want) ||
			(text == "") != (c.want == "") {
			t.Errorf("%s: error %q, want %q", c.option, text, c.want)
		}
	}
}

// linkError links a BTF object with facts, and returns the error's text.
func linkError(t *testing.T, path, factsPath string) string {
	t.Helper()
	o := must.Get(object.ReadFile(path, nil))(t)
	known := must.Get(facts.Parse(bytes.NewReader(read(t, factsPath))))(t)
	if _, err := link.Link([]*object.Object{o},
		link.Options{Facts: known, Features: o.Features}); err != nil {
		return err.Error()
	}
	return ""
}
