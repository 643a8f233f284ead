package inputs

import (
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestExplain checks one difference for each reason, and some without a reason.
func TestExplain(t *testing.T) {
	blocks := Blocks{"struct in_block": true, "enum (anon) {FIRST": true, "func assembled": true}
	dwarf := compare.Skips{"located": "unexpected register", "inlined": "inconsistent prototype"}
	btf := compare.Skips{"clone": "unknown parameters of a clone", "lost": "no variable of file scope"}
	for _, c := range []struct {
		Difference
		want string
	}{
		{Difference{Class: "only in A", Kind: "struct", Type: "struct in_block"}, reasonBlock},
		{Difference{Class: "only in A", Kind: "enum", Type: "enum (anon) {FIRST, SECOND}"},
			reasonBlock},
		{Difference{Class: "only in A", Kind: "enum", Type: "enum (anon) {FIRST}"}, reasonBlock},
		{Difference{Class: "only in A", Kind: "func", Type: "func clone"}, reasonClone},
		{Difference{Class: "only in A", Kind: "func", Type: "func assembled"}, reasonAssembly},
		{Difference{Class: "only in B", Kind: "func", Type: "func located"}, reasonLocation},
		{Difference{Class: "only in B", Kind: "func", Type: "func inlined"}, reasonCodeless},
		{Difference{Class: "only in A", Kind: "var", Type: "var lost"}, reasonVariable},
		{changed("typedef", "typedef v4", "retyped", "int[4]", "void"), reasonVector},
		{changed("struct", "struct s", "moved", "0:2", "0:0"), reasonUnnamed},
		{changed("struct", "struct s", "moved", "1", "2"), ""},
		{Difference{Class: "only in A", Kind: "struct", Type: "struct file_scope"}, ""},
		{Difference{Class: "only in A", Kind: "func", Type: "func missing"}, ""},
		{changed("struct", "struct s", "size", "4", "8"), ""},
	} {
		if got := Explain(c.Difference, blocks, dwarf, btf); got != c.want {
			t.Errorf("%v: %q, want %q", c.Difference, got, c.want)
		}
	}
}

// changed makes a Difference with one Change.
func changed(kind, typ, change, before, after string) Difference {
	c := Change{Kind: change}
	c.Before.Text, c.After.Text = before, after
	return Difference{Class: "differs", Kind: kind, Type: typ, Changes: []Change{c}}
}

// TestReadBlocks checks which types ReadBlocks finds in a small program.
func TestReadBlocks(t *testing.T) {
	harness.Need(t, "gcc")
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "a.c"), `
		struct outside { int a; }; typedef struct outside outer_t; enum { NOT_IN };
		int f(outer_t *o) {
			struct in_block { int b; } x = { 1 }; typedef struct in_block inner_t;
			inner_t y = { 2 };
			{ enum { FIRST, SECOND } e = FIRST; x.b += e; }
			return x.b + y.b + o->a;
		}
		int g(void) { return NOT_IN; }
		struct after { int c; } after;`)
	harness.MustRun(t, dir, "gcc", "-g", "-O0", "-c", "-o", "a.o", "a.c")
	got := must.Get(ReadBlocks(filepath.Join(dir, "a.o")))(t)
	for title, want := range map[string]bool{"struct in_block": true, "typedef inner_t": true,
		"enum (anon) {FIRST, SECOND}": true, "struct outside": false, "struct after": false,
		"typedef outer_t": false} {
		if got.has(title) != want {
			t.Errorf("%s: %v, want %v; %v", title, !want, want, got)
		}
	}
}
