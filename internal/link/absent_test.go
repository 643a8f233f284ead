package link

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestAbsent checks which units the link reports as absent: those that are not in the linked file,
// except for members of an archive that nothing needs.
func TestAbsent(t *testing.T) {
	const static, global = 0, types.LinkageGlobal
	type symbol struct {
		name    string
		linkage uint32
		flags   types.FuncFlags
	}
	b := newBuilder()
	for _, u := range []struct {
		file      string
		count     uint32
		functions []symbol
		variable  string // the name of a static variable
	}{
		{"module.c", 2, []symbol{{"probe", static, 0}, {"release", static, 0}}, ""},
		{"kernel.c", 1, []symbol{{"inlined", static, 0}, {"work", static, 0}}, ""},
		{"clone.c", 1, []symbol{{"cloned", static, 0}}, ""},
		{"hidden.c", 1, []symbol{{"hidden", static, 0}}, ""},
		{"member.c", 1, []symbol{{"not_needed", global, 0}, {"helper", static, 0}}, ""},
		{"types.c", 1, nil, ""},
		{"inline.c", 1, []symbol{{"no_code", static, types.FuncNoCode}}, ""},
		{"here.c", 1, []symbol{{"gone", static, 0}}, "stat"},
		{"there.c", 1, []symbol{{"gone", static, 0}}, "other_stat"},
		{"namesake.c", 1, []symbol{{"work", static, 0}, {"cloned", static, 0}}, "stat"},
		{"", 1, []symbol{{"of_no_file", static, 0}}, ""},
	} {
		b.Unit(u.file, u.count)
		b.Hold(b.Struct("of_"+u.file, b.Hold(b.Int("int"))))
		for _, f := range u.functions {
			b.Fn(f.name, f.linkage, f.flags, b.Proto(0))
		}
		if u.variable != "" {
			b.Var(u.variable, static, 4, b.Int("int"))
		}
	}
	x := &facts.Facts{HasFiles: true, Variables: facts.VariablesPerCPU,
		Files: []facts.File{{Funcs: []string{"hidden"}}, {Name: "clone.c",
			Funcs: []string{"cloned.isra.0"}}, {Name: "here.c"}, {Name: "inline.c"}, {Name: "kernel.c",
			Funcs: []string{"work"}}, {Name: "types.c"}},
		Vars: []facts.Variable{{Name: "stat", Section: facts.PerCPUSection, Size: 4, Local: true,
			File: 2}}}
	for _, c := range []struct {
		facts *facts.Facts
		units int
		files []string
	}{
		{x, 4, []string{"module.c", "namesake.c", "there.c"}},
		{nil, 0, nil},
		{&facts.Facts{Globals: []string{"after_lto"}}, 0, nil},
	} {
		r := must.Get(Link(inputs(b), Options{Facts: c.facts, Features: features.Default()}))(t)
		if a := r.Absent; a.Units != c.units || !slices.Equal(a.Files, c.files) {
			t.Errorf("%d units of %q, want %d of %q", a.Units, a.Files, c.units, c.files)
		}
		if left := c.facts == x; left != slices.Equal(r.LeftOut.Files,
			[]string{"member.c", "module.c", "namesake.c", "there.c"}) {
			t.Errorf("left out are %q", r.LeftOut.Files)
		}
	}
}

// TestAbsentLosesNothing: a struct of an absent unit, which lacks a member whose type nothing
// defines, doesn't take declaration tags from its namesake in other units.
func TestAbsentLosesNothing(t *testing.T) {
	b := newBuilder()
	b.Unit("here.c", 1)
	i := b.Hold(b.Int("int"))
	b.Hold(b.Struct("lacking", i, b.Stub("nowhere")))
	b.Hold(b.Struct("tagged", i))
	b.DeclTag("mine", b.Stub("tagged"), 1)
	b.Fn("work", 0, 0, b.Proto(0))
	b.Unit("absent.c", 1)
	b.Hold(b.Struct("tagged", i, b.Stub("nowhere")))
	b.Fn("gone", 0, 0, b.Proto(0))
	x := &facts.Facts{HasFiles: true,
		Files: []facts.File{{Name: "here.c", Funcs: []string{"work"}}}}
	lines, r := b.link(t, Options{Facts: x, Features: features.Default()})
	wantLines(t, lines, "int int", "struct lacking(int int)",
		"decl_tag mine component 0(struct tagged(int int))", "struct tagged(int int)",
		"func work linkage 0(func_proto(void))")
	if r.Loss == "" {
		t.Error("the member of struct lacking was left out without a word")
	}
}
