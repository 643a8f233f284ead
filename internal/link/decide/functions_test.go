package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// units returns a function that makes one unit for each of the given definitions.
func units(defs ...func(b *linktest.Builder)) func(*linktest.Builder) {
	return func(b *linktest.Builder) {
		for _, define := range defs {
			b.Unit("a.c", 1)
			define(b)
		}
	}
}

// fn returns code that defines a global function f with these parameters; without parameters, void
// f(void).
func fn(flags types.FuncFlags,
	params ...func(b *linktest.Builder) types.ID) func(*linktest.Builder) {
	return named("f", flags, params...)
}

func named(name string, flags types.FuncFlags,
	params ...func(b *linktest.Builder) types.ID) func(*linktest.Builder) {
	return func(b *linktest.Builder) {
		var ids []types.ID
		for _, p := range params {
			ids = append(ids, p(b))
		}
		b.Fn(name, global, flags, b.Proto(0, ids...))
	}
}

func integer(b *linktest.Builder) types.ID  { return b.Int("int") }
func unsigned(b *linktest.Builder) types.ID { return b.Int("unsigned int") }
func pointer(b *linktest.Builder) types.ID  { return b.Ptr(b.Int("int")) }
func toConst(b *linktest.Builder) types.ID  { return b.Ptr(b.Const(b.Int("int"))) }

func symbol(names ...string) *facts.Facts { return &facts.Facts{Globals: names} }

// TestFunctions: a function is encoded if the linked file has a symbol for it, and if all its
// definitions can be traced with one prototype.
func TestFunctions(t *testing.T) {
	check(t, []rule{
		{what: "has a symbol", build: units(fn(0, integer)), facts: symbol("f"),
			want: []string{"static f: void(int)"}},
		{what: "has no symbol", build: units(fn(0, integer)), facts: symbol("g")},
		{what: "no facts, so every function is linked", build: units(fn(0, integer)),
			want: []string{"static f: void(int)"}},
		{what: "its symbol has another name, as after objcopy --prefix-symbols",
			build: units(fn(types.FuncRenamed, integer)), facts: symbol("f")},
		{what: "a local symbol", build: units(fn(0, integer)),
			facts: &facts.Facts{Files: []facts.File{{Name: "a.c", Funcs: []string{"f"}}}},
			want:  []string{"static f: void(int)"}},

		{what: "only an optimized clone is left", build: units(fn(0, integer)),
			facts: symbol("f.isra.0"), want: []string{"static f: void(int)"}},
		{what: "the same without optimized_func", build: units(fn(0, integer)),
			facts: symbol("f.isra.0"), without: features.OptimizedFunc,
			skipped: []string{"f: only clones are in the file"}},
		{what: "the cold part is no function", build: units(fn(0, integer)),
			facts: symbol("f.cold")},

		{what: "symbols at several addresses", build: units(fn(0, integer)),
			facts: &facts.Facts{Globals: []string{"f"},
				SeveralAddresses: []facts.RepeatedName{{Name: "f", Addresses: 2}}},
			skipped: []string{"f: ambiguous address"}},

		{what: "a name that the kernel refuses", build: units(named("f$n", 0, integer), fn(0, integer)),
			facts: symbol("f", "f$n"), want: []string{"static f: void(int)"},
			skipped: []string{"f$n: function name is not an identifier"}},
		{what: "the same, but no symbol has the name", build: units(named("f$n", 0, integer)),
			facts: symbol("f")},
	})
}

// TestPrototypes checks which prototypes of a function are consistent, and which of them is
// encoded.
func TestPrototypes(t *testing.T) {
	inconsistent := []string{"f: inconsistent prototype"}
	tag := func(name string) func(b *linktest.Builder) types.ID {
		return func(b *linktest.Builder) types.ID { return b.Ptr(b.Stub(name)) }
	}
	define := func(n int) func(b *linktest.Builder) {
		return func(b *linktest.Builder) {
			s := b.Struct("s", make([]types.ID, n)...)
			b.Hold(s)
			b.Fn("f", global, 0, b.Proto(0, b.Ptr(b.Stub("s"))))
		}
	}
	check(t, []rule{
		{what: "different base types", build: units(fn(0, integer), fn(0, unsigned)),
			facts: symbol("f"), skipped: inconsistent},
		{what: "different numbers of parameters", build: units(fn(0, integer), fn(0)),
			facts: symbol("f"), skipped: inconsistent},
		{what: "pointer or not", build: units(fn(0, integer), fn(0, pointer)),
			facts: symbol("f"), skipped: inconsistent},
		{what: "different tags", build: units(fn(0, tag("s")), fn(0, tag("t"))),
			facts: symbol("f"), skipped: inconsistent},
		{what: "different kinds of tag", facts: symbol("f"), skipped: inconsistent,
			build: units(fn(0, tag("s")), fn(0, func(b *linktest.Builder) types.ID {
				return b.Ptr(b.Graph.Stub(types.TagUnion, b.Str("s")))
			}))},
		{what: "two definitions of a tag count as one; most units have the larger",
			build: units(define(2), define(2), define(1)), facts: symbol("f"),
			want: []string{"static f: void(*struct s of 16)"}},
		{what: "without consistent_func most units decide",
			build: units(fn(0, integer), fn(0, unsigned), fn(0, unsigned)), facts: symbol("f"),
			without: features.ConsistentFunc, want: []string{"static f: void(unsigned int)"}},
		{what: "const is ignored everywhere; most units decide",
			build: units(fn(0, toConst), fn(0, toConst), fn(0, pointer)), facts: symbol("f"),
			want: []string{"static f: void(*const int)"}},
		{what: "the names of parameters don't count", build: func(b *linktest.Builder) {
			for i, name := range []string{"a", "b"} {
				b.Unit("a.c", uint32(i+1))
				b.Fn("f", global, 0, b.Add(types.Node{Kind: types.KindFuncProto},
					types.Elem{Name: b.Str(name), Ref: b.Int("int")}))
			}
		}, facts: symbol("f"), want: []string{"static f: void(int)"}},
	})
}

// TestOwners: the symbol belongs to the strong definition, or to a candidate with code. Even if a
// candidate has no code, its prototype is compared.
func TestOwners(t *testing.T) {
	check(t, []rule{
		{what: "strong before weak, however many are weak",
			build: units(fn(types.FuncWeak, pointer), fn(types.FuncWeak, pointer), fn(0, toConst)),
			facts: symbol("f"), want: []string{"static f: void(*const int)"}},
		{what: "only weak ones", build: units(fn(types.FuncWeak, pointer)), facts: symbol("f"),
			want: []string{"static f: void(*int)"}},
		{what: "a definition with code before one without", facts: symbol("f"),
			build: units(fn(types.FuncNoCode, pointer), fn(types.FuncNoCode, pointer), fn(0, toConst)),
			want:  []string{"static f: void(*const int)"}},
		{what: "no code anywhere: an alias", build: units(fn(types.FuncNoCode, pointer)),
			facts: symbol("f"), want: []string{"static f: void(*int)"}},
		{what: "the weak definition has a different prototype", facts: symbol("f"),
			build: units(fn(types.FuncWeak, pointer), fn(0, integer)),
			want:  []string{"static f: void(int)"}},
		{what: "two weak ones, and nothing shows which of them was linked", facts: symbol("f"),
			build:   units(fn(types.FuncWeak, pointer), fn(types.FuncWeak, integer)),
			skipped: []string{"f: inconsistent prototype"}},
		{what: "an inlined copy has a different prototype", facts: symbol("f"),
			build:   units(fn(types.FuncNoCode, pointer), fn(0, integer)),
			skipped: []string{"f: inconsistent prototype"}},
	})
}

// in returns code that defines a function in a unit of the given file.
func in(file, name string, linkage uint32, flags types.FuncFlags,
	params ...func(b *linktest.Builder) types.ID) func(*linktest.Builder) {
	return func(b *linktest.Builder) {
		b.Unit(file, 1)
		named(name, flags, params...)(b)
		n := b.Graph.Node(b.Last().Items[len(b.Last().Items)-1])
		b.Last().Items = b.Last().Items[:len(b.Last().Items)-1]
		b.Fn(name, linkage, flags, n.Ref)
	}
}

// TestClaimants: a function counts only if its symbol shows that it is in the linked file.
func TestClaimants(t *testing.T) {
	const static = types.LinkageStatic
	build := func(list ...func(*linktest.Builder)) func(*linktest.Builder) {
		return func(b *linktest.Builder) {
			for _, define := range list {
				define(b)
			}
		}
	}
	inFiles := func(of map[string][]string, globals ...string) *facts.Facts {
		f := &facts.Facts{HasFiles: true, Globals: globals}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			f.Files = append(f.Files, facts.File{Name: name, Funcs: of[name]})
		}
		return f
	}
	type files = map[string][]string
	ofStruct := func(file string, size int) func(*linktest.Builder) {
		return func(b *linktest.Builder) {
			b.Unit(file, 1)
			b.Hold(b.Struct("s", make([]types.ID, size/8)...))
			b.Fn("f", static, 0, b.Proto(0, b.Ptr(b.Stub("s"))))
		}
	}
	trueSignature := []features.Set{features.TrueSignature}
	check(t, []rule{
		{what: "a static function was dropped, a weak one of the same name is linked",
			build: build(in("a.c", "f", static, 0, integer),
				in("b.c", "f", global, types.FuncWeak, pointer)),
			facts: inFiles(nil, "f"), want: []string{"static f: void(*int)"}},
		{what: "a global function was dropped, a static one is linked",
			build: build(in("a.c", "f", global, 0, integer), in("b.c", "f", static, 0, pointer)),
			facts: inFiles(files{"b.c": {"f"}}), want: []string{"static f: void(*int)"}},
		{what: "one of two static functions was dropped",
			build: build(in("a.c", "f", static, 0, integer), in("b.c", "f", static, 0, pointer)),
			facts: inFiles(files{"a.c": {"g"}, "b.c": {"f"}}), want: []string{"static f: void(*int)"}},
		{what: "statics with the same shape; those with the commoner definition of the tag were dropped",
			build: build(ofStruct("a.c", 8), ofStruct("b.c", 16), ofStruct("c.c", 8)),
			facts: inFiles(files{"a.c": {"g"}, "b.c": {"f"}, "c.c": {"h"}}),
			want:  []string{"static f: void(*struct s of 16)"}},
		{what: "statics in files with the same name; nothing shows which of them was dropped",
			build:   build(in("a.c", "f", static, 0, integer), in("a.c", "f", static, 0, pointer)),
			facts:   inFiles(files{"a.c": {"f"}}),
			skipped: []string{"f: inconsistent prototype"}},
		{what: "the symbol table has other names for the files",
			build:   build(in("a.c", "f", static, 0, integer), in("b.c", "f", static, 0, pointer)),
			facts:   inFiles(files{"a.i": {"f"}}),
			skipped: []string{"f: inconsistent prototype"}},
		{what: "the symbol table has no files",
			build:   build(in("a.c", "f", static, 0, integer), in("b.c", "f", static, 0, pointer)),
			facts:   &facts.Facts{Files: []facts.File{{Funcs: []string{"f"}}}},
			skipped: []string{"f: inconsistent prototype"}},
		{what: "a hidden symbol may belong to any external function, weak or not",
			build: build(in("a.c", "f", global, 0, integer),
				in("b.c", "f", global, types.FuncWeak, pointer)),
			facts: inFiles(files{"": {"f"}}), skipped: []string{"f: inconsistent prototype"}},
		{what: "the same without consistent_func", without: features.ConsistentFunc,
			build: build(in("a.c", "f", global, 0, integer),
				in("b.c", "f", global, types.FuncWeak, pointer)),
			facts: inFiles(files{"": {"f"}}), skipped: []string{"f: inconsistent prototype"}},
		{what: "hidden definitions with consistent prototypes; the most common one",
			build: build(in("a.c", "f", global, 0, toConst),
				in("b.c", "f", global, types.FuncWeak, pointer),
				in("c.c", "f", global, types.FuncWeak, pointer)),
			facts: inFiles(files{"": {"f"}}), want: []string{"static f: void(*int)"}},
		{what: "the symbol is another function's", build: in("a.c", "f", static, 0, integer),
			facts: inFiles(nil, "f")},
		{what: "a clone that was dropped",
			build: build(in("a.c", "f", static, 0, integer),
				in("a.c", "f.constprop.0", static, types.FuncReordered, integer)),
			facts: inFiles(files{"a.c": {"f"}}), want: []string{"static f: void(int)"}},
		{what: "one of two clones was dropped, and so was the function",
			build: build(in("a.c", "f", static, types.FuncReordered, integer),
				in("a.c", "f.constprop.0", static, types.FuncUnexpectedReg, integer),
				in("a.c", "f.constprop.1", static, 0, integer)),
			facts: inFiles(files{"a.c": {"f.constprop.1"}}), want: []string{"static f: void(int)"}},
		{what: "the same with true_signature", with: trueSignature,
			build: build(in("a.c", "f", static, types.FuncReordered, integer),
				in("a.c", "f.constprop.0", static, types.FuncUnexpectedReg, integer),
				in("a.c", "f.constprop.1", static, 0, integer)),
			facts: inFiles(files{"a.c": {"f.constprop.1"}}),
			want:  []string{"static f.constprop.1: void(int)"}},
		{what: "a global function was dropped, a clone of it wasn't",
			build: build(in("a.c", "f", global, 0, integer),
				in("a.c", "f.isra.0", static, types.FuncOptimized, integer)),
			facts: inFiles(files{"a.c": {"f.isra.0"}}), skipped: []string{"f: optimized parameters"}},
		{what: "a split-off part counts",
			build: build(in("a.c", "f", static, 0, integer),
				in("a.c", "f.part.0", static, types.FuncReordered, integer)),
			facts:   inFiles(files{"a.c": {"f", "f.part.0"}}),
			skipped: []string{"f: reordered parameters"}},
		{what: "a split-off part that was dropped doesn't count",
			build: build(in("a.c", "f", static, 0, integer),
				in("a.c", "f.part.0", static, types.FuncReordered, integer)),
			facts: inFiles(files{"a.c": {"f"}}), want: []string{"static f: void(int)"}},
		{what: "a split-off part alone is no function",
			build: in("a.c", "f.part.0", static, 0, integer),
			facts: inFiles(files{"a.c": {"f.part.0"}})},
	})
}

// TestParameters tests functions whose parameters are not where the prototype says.
func TestParameters(t *testing.T) {
	check(t, []rule{
		{what: "removed", build: units(fn(types.FuncOptimized, integer)), facts: symbol("f.isra.0"),
			skipped: []string{"f: optimized parameters"}},
		{what: "removed from one of two clones", facts: symbol("f", "f.isra.0"),
			build: units(fn(types.FuncOptimized, integer), fn(0, integer)),
			want:  []string{"static f: void(int)"}},
		{what: "unknown in a clone", build: units(fn(types.FuncUnlocated, integer)),
			facts: symbol("f.isra.0"), skipped: []string{"f: unknown parameters of a clone"}},
		{what: "unknown in one clone, removed from the other", facts: symbol("f.isra.0"),
			build:   units(fn(types.FuncUnlocated, integer), fn(types.FuncOptimized, integer)),
			skipped: []string{"f: unknown parameters of a clone"}},
		{what: "unknown in one of two clones", facts: symbol("f", "f.isra.0"),
			build: units(fn(types.FuncUnlocated, integer), fn(0, integer)),
			want:  []string{"static f: void(int)"}},
		{what: "reordered in one of two", facts: symbol("f"),
			build:   units(fn(types.FuncReordered, integer), fn(0, integer)),
			skipped: []string{"f: reordered parameters"}},
		{what: "reordered where it has no code", facts: symbol("f"),
			build: units(fn(types.FuncReordered|types.FuncNoCode, integer), fn(0, integer)),
			want:  []string{"static f: void(int)"}},
		{what: "uncertain", build: units(fn(types.FuncUncertain, integer)), facts: symbol("f"),
			skipped: []string{"f: uncertain parameter location"}},
		{what: "in another register", build: units(fn(types.FuncUnexpectedReg, integer)),
			facts: symbol("f"), skipped: []string{"f: unexpected register"}},
		{what: "several reasons: the first one in pahole's order", facts: symbol("f"),
			build: units(fn(types.FuncUnexpectedReg|types.FuncUncertain|types.FuncReordered, integer),
				fn(0, pointer)),
			skipped: []string{"f: reordered parameters"}},
		{what: "an inconsistent prototype is reported before a register", facts: symbol("f"),
			build:   units(fn(types.FuncUnexpectedReg, integer), fn(0, pointer)),
			skipped: []string{"f: inconsistent prototype"}},
	})
}

// TestUnnamedParameter: the kernel refuses a FUNC with a parameter that has no name.
func TestUnnamedParameter(t *testing.T) {
	proto := func(b *linktest.Builder, params ...types.Elem) {
		b.Unit("a.c", 1)
		b.Fn("f", global, 0, b.Add(types.Node{Kind: types.KindFuncProto}, params...))
	}
	skipped := []string{"f: unnamed parameter"}
	check(t, []rule{
		{what: "one of two", build: func(b *linktest.Builder) {
			proto(b, types.Elem{Name: b.Str("a"), Ref: b.Int("int")}, types.Elem{Ref: b.Int("int")})
		}, facts: symbol("f"), skipped: skipped},
		{what: "without facts", build: func(b *linktest.Builder) {
			proto(b, types.Elem{Ref: b.Int("int")})
		}, skipped: skipped},
		{what: "...", build: func(b *linktest.Builder) {
			proto(b, types.Elem{Name: b.Str("a"), Ref: b.Int("int")}, types.Elem{})
		}, facts: symbol("f"), want: []string{"static f: void(int, void)"}},
		{what: "BTF that was linked before stays as it is", build: func(b *linktest.Builder) {
			proto(b, types.Elem{Ref: b.Int("int")})
			b.Last().FromBTF = true
		}, want: []string{"global f: void(int)"}},
		{what: "other reasons come first", build: func(b *linktest.Builder) {
			proto(b, types.Elem{Ref: b.Int("int")})
			proto(b, types.Elem{Ref: b.Int("unsigned int")})
		}, facts: symbol("f"), skipped: []string{"f: inconsistent prototype"}},
	})
}

// TestTrueSignature: with the feature true_signature, a clone is a separate function.
func TestTrueSignature(t *testing.T) {
	two := units(named("f", 0, integer, integer), named("f.isra.0", 0, integer))
	feature := []features.Set{features.TrueSignature}
	check(t, []rule{
		{what: "both have symbols", build: two, facts: symbol("f", "f.isra.0"), with: feature,
			want: []string{"static f.isra.0: void(int)", "static f: void(int, int)"}},
		{what: "a clone that has a candidate doesn't count as the function", build: two,
			facts: symbol("f.isra.0"), with: feature,
			want: []string{"static f.isra.0: void(int)"}},
		{what: "one clone at two addresses", build: two, with: feature,
			facts: &facts.Facts{Globals: []string{"f"},
				Files: []facts.File{{Name: "a.c", Funcs: []string{"f.isra.0"}},
					{Name: "b.c", Funcs: []string{"f.isra.0"}}},
				SeveralAddresses: []facts.RepeatedName{{Name: "f", Addresses: 3}}},
			want:    []string{"static f: void(int, int)"},
			skipped: []string{"f.isra.0: ambiguous address"}},
		{what: "one clone of two files, folded at one address", with: feature,
			build: units(named("f.isra.0", 0, integer), named("f.isra.0", 0, integer)),
			facts: &facts.Facts{Files: []facts.File{{Name: "a.c", Funcs: []string{"f.isra.0"}},
				{Name: "b.c", Funcs: []string{"f.isra.0"}}}},
			want: []string{"static f.isra.0: void(int)"}},
		{what: "a clone without a candidate counts as the function", build: units(fn(0, integer)),
			facts: symbol("f.isra.0"), with: feature, want: []string{"static f: void(int)"}},
		{what: "a clone is skipped, and an inlined function has no symbol", with: feature,
			build: units(named("f.isra.0", types.FuncUnexpectedReg, integer),
				fn(types.FuncNoCode, integer, integer)),
			facts: symbol("f.isra.0"), skipped: []string{"f.isra.0: unexpected register"}},
	})
}

// TestKfuncs checks the tags and types of encoded kfuncs.
func TestKfuncs(t *testing.T) {
	const fastcall, arenaRet, arenaArg1, arenaArg2 = 1 << 12, 1 << 13, 1 << 14, 1 << 15
	kfunc := func(flags uint32) *facts.Facts {
		return &facts.Facts{Globals: []string{"f"}, Kfuncs: []facts.Kfunc{{Name: "f", Flags: flags}}}
	}
	arena := func(b *linktest.Builder) {
		b.Unit("a.c", 1)
		p := b.Ptr(b.Int("int"))
		b.Fn("f", global, 0, b.Proto(p, p, p, p))
	}
	plain := "static f: void(int)"
	attributes := []features.Set{features.Attributes}
	check(t, []rule{
		{what: "bpf_kfunc", build: units(fn(0, integer)), facts: kfunc(0),
			want: []string{plain, "tag bpf_kfunc, component 0, on " + plain}},
		{what: "bpf_fastcall", build: units(fn(0, integer)), facts: kfunc(fastcall),
			want: []string{plain, "tag bpf_fastcall, component 0, on " + plain,
				"tag bpf_kfunc, component 0, on " + plain}},
		{what: "tags on two functions", build: func(b *linktest.Builder) {
			b.Unit("a.c", 1)
			b.Fn("e", global, 0, b.Proto(0))
			for i, name := range []string{"f", "g"} {
				b.DeclTag("of "+name, b.Fn(name, global, 0, b.Proto(b.Int(fmt.Sprint("t", i)))), 0)
			}
		}, facts: &facts.Facts{Globals: []string{"e", "f", "g"}, Kfuncs: []facts.Kfunc{{Name: "g"}}},
			want: []string{"static e: void()", "static f: t0()", "static g: t1()",
				"tag bpf_kfunc, component 0, on static g: t1()",
				"tag of f, component 0, on static f: t0()", "tag of g, component 0, on static g: t1()"}},
		{what: "without decl_tag", build: units(fn(0, integer)), facts: kfunc(fastcall),
			without: features.DeclTag, want: []string{plain}},
		{what: "without decl_tag_kfuncs", build: units(fn(0, integer)), facts: kfunc(fastcall),
			without: features.DeclTagKfuncs, want: []string{plain}},
		{what: "no tag on a skipped function", build: units(fn(types.FuncReordered, integer)),
			facts: kfunc(0), skipped: []string{"f: reordered parameters"}},
		{what: "arena pointers with attributes: the result and the second parameter", build: arena,
			facts: kfunc(arenaRet | arenaArg2), with: attributes, without: features.DeclTag,
			want: []string{"static f: *address_space(1) int(*int, *address_space(1) int, *int)"}},
		{what: "arena pointers by name", build: func(b *linktest.Builder) {
			b.Unit("a.c", 1)
			p := b.Ptr(b.Int("int"))
			b.Fn("f", global, 0, b.Add(types.Node{Kind: types.KindFuncProto, Ref: p},
				types.Elem{Name: b.Str("a__arena"), Ref: p}, types.Elem{Name: b.Str("arena"), Ref: p},
				types.Elem{Name: b.Str("b__arena__nullable"), Ref: p}))
		}, facts: kfunc(0), with: attributes, without: features.DeclTag,
			want: []string{"static f: *int(*address_space(1) int, *int, *address_space(1) int)"}},
		{what: "arena pointers without attributes", build: arena, facts: kfunc(arenaRet),
			without: features.DeclTag, want: []string{"static f: *int(*int, *int, *int)"}},
		{what: "an arena flag on something that isn't a pointer", build: units(fn(0, integer)),
			facts: kfunc(arenaArg1), with: attributes, without: features.DeclTag,
			want: []string{plain}},
	})
}

// TestArenaTypesOnce: if several kfuncs have equal prototypes, these are made once, or not at all
// if the units already have them.
func TestArenaTypesOnce(t *testing.T) {
	for _, has := range []bool{false, true} {
		b := linktest.New()
		b.Unit("a.c", 1)
		p := b.Ptr(b.Int("int"))
		if has {
			b.Ptr(b.Add(types.Node{Kind: types.KindTypeTag, Name: b.Str("address_space(1)"), Flag: true,
				Ref: b.Int("int")}))
		}
		b.Fn("f", global, 0, b.Proto(p, p))
		b.Fn("g", global, 0, b.Proto(p, p))
		x := &facts.Facts{Globals: []string{"f", "g"}, Kfuncs: []facts.Kfunc{
			{Name: "f", Flags: 1 << 14}, {Name: "g", Flags: 1 << 14}}}
		set := features.Of(features.DeclTagKfuncs, features.Attributes)
		d := must.Get(decideUnits(b, x, set, nil))(t)
		kinds := map[types.Kind]int{}
		for _, n := range d.Made {
			kinds[n.Kind]++
		}
		want := map[types.Kind]int{types.KindFunc: 2, types.KindFuncProto: 1, types.KindPtr: 1,
			types.KindTypeTag: 1}
		if has {
			delete(want, types.KindPtr)
			delete(want, types.KindTypeTag)
		}
		for kind := range types.KindStub {
			if kinds[kind] != want[kind] {
				t.Errorf("the units have the pointer: %v: %d made types of kind %d, want %d", has,
					kinds[kind], kind, want[kind])
			}
		}
	}
}
