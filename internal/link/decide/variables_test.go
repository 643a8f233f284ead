package decide_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// perCPU returns facts with the files a.c and b.c, and with these per-CPU variables, 16 bytes
// apart.
func perCPU(list ...facts.Variable) *facts.Facts {
	f := &facts.Facts{HasFiles: true, Files: []facts.File{{Name: "a.c"}, {Name: "b.c"}}}
	for i, o := range list {
		o.Section, o.Offset = facts.PerCPUSection, uint64(16*i)
		f.Vars = append(f.Vars, o)
	}
	return f
}

func globalVar(name string, size uint64) facts.Variable {
	return facts.Variable{Name: name, Size: size, File: -1}
}

func staticVar(name string, file int) facts.Variable {
	return facts.Variable{Name: name, Size: 4, File: file, Local: true}
}

// TestVariables checks which type a variable of the linked file gets.
func TestVariables(t *testing.T) {
	variable := func(linkage, size uint32, typ func(*linktest.Builder) types.ID) func(
		*linktest.Builder) {
		return func(b *linktest.Builder) { b.Var("v", linkage, size, typ(b)) }
	}
	void := func(*linktest.Builder) types.ID { return 0 }
	none := []string{"v: no variable of file scope in the debug information"}
	section := "section .data..percpu of 4: (global v: int)@0+4"
	check(t, []rule{
		{what: "a global variable", build: units(variable(global, 4, integer)),
			facts: perCPU(globalVar("v", 4)), want: []string{"global v: int", section}},
		{what: "two symbols of it", build: units(variable(global, 4, integer)),
			facts: perCPU(globalVar("v", 4), globalVar("v", 4)), want: []string{"global v: int",
				"section .data..percpu of 20: (global v: int)@0+4 (global v: int)@16+4"}},
		{what: "without var", build: units(variable(global, 4, integer)),
			facts: perCPU(globalVar("v", 4)), without: features.Var},
		{what: "of another section", build: units(variable(global, 4, integer)),
			facts: &facts.Facts{Vars: []facts.Variable{
				{Name: "v", Section: ".data", Size: 4, File: -1}}}},
		{what: "of another section, with global_var", build: units(variable(global, 4, integer)),
			with: []features.Set{features.GlobalVar}, facts: &facts.Facts{
				Variables: facts.VariablesAll,
				Vars:      []facts.Variable{{Name: "v", Section: ".data", Size: 4, File: -1}}},
			want: []string{"global v: int", "section .data of 4: (global v: int)@0+4"}},
		{what: "made by a macro", facts: perCPU(globalVar("__UNIQUE_ID_v", 4)),
			build: units(func(b *linktest.Builder) { b.Var("__UNIQUE_ID_v", global, 4, b.Int("int")) })},
		{what: "without a size", build: units(variable(global, 0, integer)),
			facts: perCPU(globalVar("v", 0)), skipped: []string{"v: size 0"}},

		{what: "with a name that the kernel refuses",
			facts:   perCPU(globalVar("v$", 4), globalVar("w$", 4)),
			build:   units(func(b *linktest.Builder) { b.Var("v$", global, 4, b.Int("int")) }),
			skipped: []string{"v$: name is not an identifier"}}, // w$ isn't from C

		{what: "not in the debug information", build: units(fn(0)), facts: perCPU(globalVar("v", 4)),
			skipped: none},
		{what: "of a type that nothing defines", build: units(variable(global, 4, void)),
			facts: perCPU(globalVar("v", 4)), skipped: []string{"v: its type is only declared"}},
		{what: "larger there", build: units(variable(global, 8, integer)),
			facts: perCPU(globalVar("v", 4)), skipped: none},
		{what: "smaller there, as with a flexible array member",
			build: units(variable(global, 4, integer)), facts: perCPU(globalVar("v", 8)),
			want: []string{"global v: int", section}},
		{what: "of known size before an unsized declaration, however many there are",
			build: units(variable(global, 0, unsigned), variable(global, 0, unsigned),
				variable(global, 4, integer)),
			facts: perCPU(globalVar("v", 4)), want: []string{"global v: int", section}},
		{what: "the type that most units have",
			build: units(variable(global, 4, unsigned), variable(global, 4, integer),
				variable(global, 4, integer)),
			facts: perCPU(globalVar("v", 4)), want: []string{"global v: int", section}},
		{what: "a global symbol is no static's", build: units(variable(static, 4, integer)),
			facts: perCPU(globalVar("v", 4)), skipped: none},
		{what: "a local symbol of no file is a hidden global variable",
			build: units(variable(global, 4, integer), variable(static, 4, unsigned)),
			facts: func() *facts.Facts {
				f := perCPU(staticVar("v", 2))
				f.Files = append(f.Files, facts.File{})
				return f
			}(),
			want: []string{"global v: int", section}},
		{what: "a local symbol of another file is a hidden global variable, which lld makes local",
			build: units(variable(global, 4, integer)), facts: perCPU(staticVar("v", 1)),
			want: []string{"global v: int", section}},
		{what: "a static that ThinLTO shares between partitions",
			build: units(variable(static, 4, integer)), facts: perCPU(globalVar("v.llvm.123", 4)),
			want: []string{"section .data..percpu of 4: (static v: int)@0+4", "static v: int"}},
		{what: "a static that gcc renames for LTO", build: units(variable(static, 4, integer)),
			facts: perCPU(staticVar("v.lto_priv.0", 1)),
			want:  []string{"section .data..percpu of 4: (static v: int)@0+4", "static v: int"}},
		{what: "a global variable, and a static of a file without debug information",
			build:   units(variable(global, 4, integer)),
			facts:   perCPU(staticVar("v", 1), globalVar("v", 4)),
			want:    []string{"global v: int", "section .data..percpu of 20: (global v: int)@16+4"},
			skipped: none},
	})
}

// TestOfSection: if some candidates are per-CPU variables and others are not, only those in the
// object's kind of section are considered, however few.
func TestOfSection(t *testing.T) {
	build := units(func(b *linktest.Builder) {
		b.Unit("a.c", 2)
		b.Var("v", global, 4, b.Int("int"))
		b.Unit("b.c", 1)
		b.Hold(b.Add(types.Node{Kind: types.KindVar, Name: b.Str("v"), Size: 4, Aux: global,
			Ref: b.Int("unsigned int"), Flag: true}))
	})
	in := func(section string) *facts.Facts {
		return &facts.Facts{Variables: facts.VariablesAll, Vars: []facts.Variable{
			{Name: "v", Section: section, Size: 4, File: -1}}}
	}
	with := []features.Set{features.GlobalVar}
	check(t, []rule{
		{what: "per CPU", build: build, with: with, facts: in(facts.PerCPUSection),
			want: []string{"global v: int", "section .data..percpu of 4: (global v: int)@0+4"}},
		{what: "of another section", build: build, with: with, facts: in(".data"),
			want: []string{"global v: unsigned int",
				"section .data of 4: (global v: unsigned int)@0+4"}},
	})
}

// TestOverlap: a symbol that lies inside the preceding variable belongs to that variable.
func TestOverlap(t *testing.T) {
	f := perCPU(globalVar("v", 4), globalVar("w", 4))
	f.Vars[1].Offset = 2
	check(t, []rule{{what: "overlap", facts: f,
		build: units(func(b *linktest.Builder) {
			b.Var("v", global, 4, b.Int("int"))
			b.Var("w", global, 4, b.Int("int"))
		}),
		want: []string{"global v: int", "section .data..percpu of 4: (global v: int)@0+4"}}})
}

// TestAlias: if two variables have the same offset, the one with the shorter name is encoded.
func TestAlias(t *testing.T) {
	apart := perCPU(globalVar("__pi_v", 4), globalVar("v", 4))
	f := perCPU(globalVar("__pi_v", 4), globalVar("v", 4))
	f.Vars[1].Offset = 0
	build := units(func(b *linktest.Builder) {
		b.Var("__pi_v", global, 4, b.Int("int"))
		b.Var("v", global, 4, b.Int("int"))
	})
	check(t, []rule{
		{what: "alias", facts: f, build: build,
			want: []string{"global v: int", "section .data..percpu of 4: (global v: int)@0+4"}},
		{what: "different offsets, in their order", facts: apart, build: build,
			want: []string{"global __pi_v: int", "global v: int",
				"section .data..percpu of 20: (global __pi_v: int)@0+4 (global v: int)@16+4"}},
	})
}

// TestStatics: static variables with the same name are distinguished by the base name of the source
// file, by what else is in that file, and by the hash from package statics in the facts.
func TestStatics(t *testing.T) {
	several := []string{"v: several static variables of this name"}
	both := func(firstFile, secondFile string) func(b *linktest.Builder) {
		return func(b *linktest.Builder) {
			b.Unit(firstFile, 1)
			b.Var("v", static, 4, b.Int("int"))
			b.Fn("of_first", static, 0, b.Proto(0))
			b.Unit(secondFile, 1)
			b.Var("v", static, 4, b.Int("unsigned int"))
			b.Fn("of_second", static, 0, b.Proto(0))
		}
	}
	withFunction := func(f *facts.Facts, name string) *facts.Facts {
		f.Files[0].Funcs = []string{name}
		return f
	}
	like := func(more int) func(b *linktest.Builder) { // which unit has more
		return func(b *linktest.Builder) {
			for i, name := range []string{"int", "unsigned int"} {
				b.Unit("a.c", 1)
				b.Var("v", static, 4, b.Int(name))
				if i == more {
					b.Var("more", static, 4, b.Int("int"))
				}
			}
		}
	}
	likeFiles := perCPU(staticVar("v", 0), staticVar("v", 1), staticVar("more", 1))
	likeFiles.Files[1].Name = "a.c"
	likeLines := func(first, second string) []string { // the types of v in the two files
		return []string{fmt.Sprintf("section .data..percpu of 36: (static v: %s)@0+4 "+
			"(static v: %s)@16+4 (static more: int)@32+4", first, second), "static more: int",
			"static v: int", "static v: unsigned int"}
	}
	functions := "static of_second: void()"
	second := []string{
		"section .data..percpu of 4: (static v: unsigned int)@0+4", "static v: unsigned int"}
	check(t, []rule{
		{what: "in files of different names", build: both("a.c", "b.c"),
			facts: perCPU(staticVar("v", 1)), want: second},
		{what: "in files with the same name, nothing tells them apart", build: both("a.c", "a.c"),
			facts: perCPU(staticVar("v", 0)), skipped: several},
		{what: "in files with the same name, one of which has the file's functions",
			build: both("a.c", "a.c"), facts: withFunction(perCPU(staticVar("v", 0)), "of_second"),
			want: []string{second[0], functions, second[1]}},
		{what: "the same for a clone of the file's function", build: both("a.c", "a.c"),
			facts: withFunction(perCPU(staticVar("v", 0)), "of_second.isra.0"),
			want:  []string{second[0], functions, second[1]}},
		{what: "two files with the same name; the second has what the first has, and more",
			build: like(1), facts: likeFiles, want: likeLines("int", "unsigned int")},
		{what: "the other way round", build: like(0), facts: likeFiles,
			want: likeLines("unsigned int", "int")},
		{what: "in files without a name", build: both("a.c", "b.c"),
			facts: &facts.Facts{Files: []facts.File{{}}, Vars: []facts.Variable{
				{Name: "v", Section: facts.PerCPUSection, Size: 4, Local: true}}},
			skipped: several},
		{what: "the symbol is from assembly code: there are more symbols than units with the variable",
			build: func(b *linktest.Builder) {
				b.Unit("a.c", 1)
				b.Var("v", static, 4, b.Int("int"))
			},
			facts:   perCPU(staticVar("v", 0), staticVar("v", 1)),
			want:    []string{"section .data..percpu of 4: (static v: int)@0+4", "static v: int"},
			skipped: []string{"v: no variable of file scope in the debug information"}},
	})
}

// TestIdentified: the facts name the definition by a hash of the variable and its unit's types.
func TestIdentified(t *testing.T) {
	b := linktest.New()
	var hashes [2]types.Hash
	for i, name := range []string{"int", "unsigned int"} {
		b.Unit("a.c", uint32(9-i))
		v := b.Var("v", static, 4, b.Int(name))
		hashes[i] = object.VariableHash(b.Graph, *b.Graph.Node(v), b.Last().TypesHash(b.Graph))
	}
	first, second, other := hashes[0], hashes[1], types.Hash{A: 1}
	for _, c := range []struct {
		what    string
		of      []types.Hash // of the symbols, which are in different files
		want    []string
		skipped []string
	}{
		{"the rarer unit", []types.Hash{second}, []string{
			"section .data..percpu of 4: (static v: unsigned int)@0+4", "static v: unsigned int"}, nil},
		{"two files have one definition", []types.Hash{second, first, second}, []string{
			"section .data..percpu of 36: (static v: unsigned int)@0+4 (static v: int)@16+4 " +
				"(static v: unsigned int)@32+4", "static v: int", "static v: unsigned int"}, nil},
		{"one of the files has no debug information", []types.Hash{second, {}, second}, []string{
			"section .data..percpu of 36: (static v: unsigned int)@0+4 (static v: unsigned int)@32+4",
			"static v: unsigned int"}, []string{"v: no variable of file scope in the debug information"}},
		{"of a unit that is not here", []types.Hash{other}, nil,
			[]string{"v: no variable of file scope in the debug information"}},
		{"none has debug information", []types.Hash{{}, {}}, nil,
			[]string{"v: several static variables of this name"}},
	} {
		for _, file := range []string{"a.c", ""} { // "" if the symbol table doesn't name the files
			f := &facts.Facts{HasFiles: true}
			for i, h := range c.of {
				o := staticVar("v", i)
				o.Section, o.Offset, o.Definition = facts.PerCPUSection, uint64(16*i), h
				f.Vars, f.Files = append(f.Vars, o), append(f.Files, facts.File{Name: file})
			}
			d := must.Get(decideUnits(b, f, features.Default(), nil))(t)
			if got := d.made(); !slices.Equal(got, c.want) ||
				!slices.Equal(d.skippedLines(), c.skipped) {
				t.Errorf("%s, file %q: made %q, skipped %q; want %q and %q", c.what, file, got,
					d.skippedLines(), c.want, c.skipped)
			}
		}
	}
}

// TestDeclTags: a declaration tag is encoded once, if its target is encoded.
func TestDeclTags(t *testing.T) {
	plain := "static f: void(int)"
	check(t, []rule{
		{what: "on a function, held by two units", facts: symbol("f"), build: func(b *linktest.Builder) {
			for range 2 {
				b.Unit("a.c", 1)
				b.DeclTag("mine", b.Fn("f", global, 0, b.Proto(0, b.Int("int"))), 1)
			}
		}, want: []string{plain, "tag mine, component 1, on " + plain}},
		{what: "on a function that the linked file lacks", facts: symbol("g"),
			build: func(b *linktest.Builder) {
				b.Unit("a.c", 1)
				b.DeclTag("mine", b.Fn("f", global, 0, b.Proto(0)), 0)
			}},
		{what: "on a function with a different prototype from the encoded one",
			facts: symbol("f"), build: func(b *linktest.Builder) {
				b.Unit("a.c", 2)
				b.Fn("f", global, 0, b.Proto(0, pointer(b)))
				b.Unit("b.c", 1)
				b.DeclTag("mine", b.Fn("f", global, 0, b.Proto(0, toConst(b))), 0)
			}, want: []string{"static f: void(*int)"}},
		{what: "on a member of a struct", facts: symbol(), build: func(b *linktest.Builder) {
			b.Unit("a.c", 1)
			b.DeclTag("mine", b.Hold(b.Struct("s", b.Int("int"))), 1)
		}, want: []string{"tag mine, component 1, on struct s of 8"}},
		{what: "bpf_kfunc in the source too", build: func(b *linktest.Builder) {
			b.Unit("a.c", 1)
			b.DeclTag("bpf_kfunc", b.Fn("f", global, 0, b.Proto(0, b.Int("int"))), 0)
		}, facts: &facts.Facts{Globals: []string{"f"}, Kfuncs: []facts.Kfunc{{Name: "f"}}},
			want: []string{plain, "tag bpf_kfunc, component 0, on " + plain}},
		{what: "on a struct with two definitions, which vary", facts: symbol(),
			build: func(b *linktest.Builder) {
				for n := range 2 {
					b.Unit("a.c", 1, b.Struct("in", make([]types.ID, n)...))
					b.DeclTag("mine", b.Hold(b.Struct("s", b.Ptr(b.Stub("in")))), 0)
				}
			}, want: []string{"tag mine, component 0, on struct s of 8",
				"tag mine, component 0, on struct s of 8"}},
	})
}

// TestDeclTagsOfBase: if a type of the base has a declaration tag there, the tag is not encoded
// again.
func TestDeclTagsOfBase(t *testing.T) {
	below := btf.NewBuilder(nil, nil, nil)
	integer := below.Int("int", 4, 1, 32)
	s := below.Composite(btf.KindStruct, "s", 8, false,
		btf.Member{NameOff: below.Name("m0"), Type: integer})
	below.DeclTag("theirs", s, ^uint32(0))
	p := must.Get(base.Parse(below.Finish()))(t)
	b := linktest.New()
	b.Unit("a.c", 1)
	own := b.Hold(b.Struct("s", b.Int("int")))
	b.DeclTag("theirs", own, 0)
	b.DeclTag("ours", own, 0)
	d := must.Get(decideUnits(b, nil, features.Default(), p))(t)
	if got := d.made(); len(got) != 1 || got[0] != "tag ours, component 0, on struct s of 8" {
		t.Errorf("made %q, want only the tag that the base lacks", got)
	}
}

// TestLinkedBefore: without facts, the functions, variables and sections of BTF that is already
// linked stay as they are; variables of units that were converted are left out.
func TestLinkedBefore(t *testing.T) {
	b := linktest.New()
	linked := b.Unit("", 1)
	b.Units[linked].FromBTF = true
	f := b.Fn("f", global, 0, b.Proto(0))
	v := b.Var("v", global, 0, b.Int("int"))
	b.Hold(b.Add(types.Node{Kind: types.KindDatasec, Name: b.Str(".data"), Size: 8},
		types.Elem{Ref: v, Val: 4 | 4<<32}))
	b.DeclTag("mine", f, 0)
	b.Unit("a.c", 5)
	b.Fn("f", static, 0, b.Proto(0, b.Int("int")))
	b.Fn("g", global, 0, b.Proto(0))
	b.Var("w", global, 4, b.Int("int"))
	d := must.Get(decideUnits(b, nil, features.Default(), nil))(t)
	want := []string{"global f: void()", "global v: int", "section .data of 8: (global v: int)@4+4",
		"static g: void()", "tag mine, component 0, on global f: void()"}
	if got := d.made(); !slices.Equal(got, want) {
		t.Errorf("made %q, want %q", got, want)
	}
}
