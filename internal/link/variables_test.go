package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

func TestVariables(t *testing.T) {
	b := newBuilder()
	b.Unit("core.c", 1)
	i := b.Hold(b.Int("int"))
	arr := func(n uint32) types.ID {
		return b.Add(types.Node{Kind: types.KindArray, Size: n, Ref: i}, types.Elem{Ref: i})
	}
	b.Var("same", 0, 4, i) // two statics with the same name and size, in files with the same name
	b.Fn("of_first", 0, 0, b.Proto(0))
	b.Var("shared", 1, 0, arr(0)) // the declaration extern int shared[];
	b.Var("unused", 1, 4, i)
	b.Var("__UNIQUE_ID_x", 0, 4, i)
	b.Var("wrong_size", 1, 8, i)
	b.Unit("core.c", 1)
	b.Hold(i)
	b.Var("same", 0, 4, b.Add(types.Node{Kind: types.KindVolatile, Ref: i}))
	b.Fn("of_second", 0, 0, b.Proto(0))
	b.Var("shared", 1, 20, arr(5))
	x := &facts.Facts{
		HasFiles: true,
		Files: []facts.File{{Name: "core.c", Funcs: []string{"of_first.isra.0"}},
			{Name: "core.c", Funcs: []string{"of_second"}}},
		Objects: []facts.Object{
			{Name: "other", Section: ".data", Offset: 0, Size: 4, File: -1},
			{Name: "empty", Section: facts.PerCPUSection, Offset: 0, Size: 0, File: -1},
			{Name: "same", Section: facts.PerCPUSection, Offset: 0, Size: 4, Local: true, File: 1},
			{Name: "shared", Section: facts.PerCPUSection, Offset: 16, Size: 20, File: -1},
			{Name: "shared", Section: facts.PerCPUSection, Offset: 16, Size: 20, File: -1},
			{Name: "__UNIQUE_ID_x", Section: facts.PerCPUSection, Offset: 48, Size: 4, Local: true},
			{Name: "no-name", Section: facts.PerCPUSection, Offset: 52, Size: 4, Local: true},
			{Name: "wrong_size", Section: facts.PerCPUSection, Offset: 56, Size: 4, File: -1},
			{Name: "same", Section: facts.PerCPUSection, Offset: 64, Size: 4, Local: true, File: 0},
		},
	}
	lines, res := b.link(t, Options{Facts: x, Features: features.Default()})
	vars := slices.DeleteFunc(funcsOf(lines), func(s string) bool {
		return strings.HasPrefix(s,
			"func")
	})
	slices.Sort(vars)
	wantLines(t, vars,
		"datasec .data..percpu size 68 same@0+4 shared@16+20 same@64+4",
		"var same linkage 0(int int)",
		"var same linkage 0(volatile(int int))",
		"var shared linkage 1(array(int int, int int))",
	)
	wantSkipped(t, res, "wrong_size\tno variable of file scope in the debug information\n")
	blob, err := btf.Parse(res.BTF, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range blob.Secinfos {
		t2, _ := blob.ByID(v.Type)
		if ty, _ := blob.ByID(t2.SizeOrType); v.Offset == 0 && ty.Kind != btf.KindVolatile ||
			v.Offset == 64 && ty.Kind != btf.KindInt {
			t.Errorf("the static at offset %d has the type from the other file", v.Offset)
		}
		ty, _ := blob.ByID(t2.SizeOrType)
		if ty.Kind == btf.KindArray && blob.ArrayOf(ty).Nelems != 5 {
			t.Errorf("shared has %d elements, want those of its definition", blob.ArrayOf(ty).Nelems)
		}
	}

	lines, res = b.link(t, Options{Facts: x, Features: features.Default().With(features.GlobalVar)})
	wantSkipped(t, res, "other\tno variable of file scope in the debug "+
		"information\nwrong_size\tno variable of file scope in the debug information\n")
	if !slices.Contains(lines, "datasec .data..percpu size 68 same@0+4 shared@16+20 same@64+4") {
		t.Error(lines)
	}
	lines, _ = b.link(t, Options{Facts: x, Features: features.Default().Without(features.Var)})
	if slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "datasec") }) {
		t.Error("variables without the feature var")
	}
}

func TestTooManyVariables(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	x := &facts.Facts{}
	for k := range btf.MaxVlen + 1 {
		name := fmt.Sprintf("v%d", k)
		v := types.Node{Kind: types.KindVar, Name: b.Str(name), Size: 4, Ref: i, Aux: 1}
		b.Last().Items = append(b.Last().Items, b.Add(v))
		x.Objects = append(x.Objects, facts.Object{Name: name, Section: facts.PerCPUSection,
			Offset: uint64(4 * k), Size: 4, File: -1})
	}
	_, err := Link(inputs(b), Options{Facts: x, Features: features.Default()})
	if err == nil || !strings.Contains(err.Error(), "65536 variables") {
		t.Errorf("error %v, want one about 65536 variables", err)
	}
}

// The symbols in this test differ from the source, because the linker or the optimizer changed
// them.
func TestVariablesOfOtherSymbols(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	b.Var("promoted", 0, 4, i)
	b.Var("partition", 0, 4, i)
	b.Var("hidden", 1, 4, i)
	b.Var("both", 1, 4, i)
	b.Var("flexible", 1, 4, i)
	b.Var("too_large", 1, 8, i)
	at := func(name string, offset, size uint64, local bool) facts.Object {
		o := facts.Object{Name: name, Section: ".data", Offset: offset, Size: size, Local: local,
			File: -1}
		if local {
			o.File = 0
		}
		return o
	}
	x := &facts.Facts{
		HasFiles: true,
		Files:    []facts.File{{Name: "ld-temp.o"}},
		Objects: []facts.Object{
			at("promoted.llvm.123", 0, 4, false),   // a static that ThinLTO shares between partitions
			at("partition.lto_priv.0", 4, 4, true), // gcc
			at("hidden", 8, 4, true),               // lld makes hidden symbols local
			at("both", 12, 4, true),                // a static of a file without debug information
			at("both", 16, 4, false),
			at("flexible", 20, 12, false),
			at("too_large", 32, 4, false),
		},
	}
	set := features.Default().With(features.GlobalVar)
	lines, res := b.link(t, Options{Facts: x, Features: set})
	want := "datasec .data size 24 promoted@0+4 partition@4+4 hidden@8+4 both@16+4 flexible@20+4"
	if !slices.Contains(lines, want) {
		t.Errorf("no %q in %q", want, lines)
	}
	wantSkipped(t, res, "both\tno variable of file scope in the debug information\ntoo_large\tno "+
		"variable of file scope in the debug information\n")
}

// gcc accepts $ in names, the kernel doesn't.
func TestVariableWithoutIdentifier(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	i := b.Hold(b.Int("int"))
	b.Var("a$b", 1, 4, i)
	b.Var("ok", 1, 4, i)
	x := &facts.Facts{Objects: []facts.Object{
		{Name: "a$b", Section: facts.PerCPUSection, Offset: 0, Size: 4, File: -1},
		{Name: "not_in_c$", Section: facts.PerCPUSection, Offset: 4, Size: 4, File: -1},
		{Name: "ok", Section: facts.PerCPUSection, Offset: 8, Size: 4, File: -1},
	}}
	lines, res := b.link(t, Options{Facts: x, Features: features.Default()})
	if want := "datasec .data..percpu size 12 ok@8+4"; !slices.Contains(lines, want) {
		t.Errorf("no %q in %q", want, lines)
	}
	wantSkipped(t, res, "a$b\tname is not an identifier\n")
	_, err := Link(inputs(b),
		Options{Facts: x, Features: features.Default().Without(features.EncodeForce)})
	if err == nil || !strings.Contains(err.Error(), "encode_force to leave such variables out") {
		t.Errorf("error %v", err)
	}
}

// Facts that were extracted with fewer features lack variables or kfuncs that the objects have.
func TestFactsOfFewerFeatures(t *testing.T) {
	b := newBuilder()
	b.Unit("a.c", 1)
	b.Var("v", 1, 4, b.Hold(b.Int("int")))
	for _, c := range []struct {
		facts facts.Facts
		set   features.Set
		want  string
	}{
		{facts.Facts{Variables: facts.VariablesPerCPU}, features.Default().With(features.GlobalVar),
			"global_var"},
		{facts.Facts{Variables: facts.VariablesNone}, features.Default(), "feature var,"},
		{facts.Facts{KfuncState: facts.KfuncsOff}, features.Default(), "decl_tag_kfuncs"},
		{facts.Facts{Variables: facts.VariablesAll}, features.Default(), ""},
	} {
		_, err := Link(inputs(b), Options{Facts: &c.facts, Features: c.set})
		if c.want == "" && err != nil || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestVariablesOfAssemblers: a static variable is not mistaken for one in assembly code.
func TestVariablesOfAssemblers(t *testing.T) {
	b := newBuilder()
	b.Unit("cacheinfo.c", 1)
	b.Var("saved", 0, 4, b.Int("int"))
	object := func(offset uint64, file int) facts.Object {
		return facts.Object{Name: "saved", Section: facts.PerCPUSection, Offset: offset, Size: 4,
			Local: true, File: file}
	}
	lines, res := b.link(t, Options{Features: features.Default(), Facts: &facts.Facts{
		HasFiles: true,
		Files:    []facts.File{{Name: "cacheinfo.c"}, {Name: "relocate.S"}},
		Objects:  []facts.Object{object(0, 1), object(8, 0)},
	}})
	wantLines(t, funcsOf(lines), "datasec .data..percpu size 12 saved@8+4",
		"var saved linkage 0(int int)")
	wantSkipped(t, res, "saved\tno variable of file scope in the debug information\n")
}

// TestVariablesOfLikeFiles: two files have the same name, and one of them has all static variables
// of the other, and one more.
func TestVariablesOfLikeFiles(t *testing.T) {
	for _, volatile := range []bool{false, true} { // the larger file's type is volatile
		b := newBuilder()
		i := b.Int("int")
		typ := map[bool]types.ID{false: i, true: b.Add(types.Node{Kind: types.KindVolatile, Ref: i})}
		b.Unit("map.c", 1)
		b.Var("both", 0, 4, typ[volatile])
		b.Var("more", 0, 4, i)
		b.Unit("map.c", 1)
		b.Var("both", 0, 4, typ[!volatile])
		object := func(name string, offset uint64, file int) facts.Object {
			return facts.Object{Name: name, Section: facts.PerCPUSection, Offset: offset, Size: 4,
				Local: true, File: file}
		}
		_, res := b.link(t, Options{Features: features.Default(), Facts: &facts.Facts{
			HasFiles: true,
			Files:    []facts.File{{Name: "map.c"}, {Name: "map.c"}},
			Objects:  []facts.Object{object("both", 0, 0), object("both", 8, 1), object("more", 16, 1)},
		}})
		blob, err := btf.Parse(res.BTF, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range blob.Secinfos {
			variable, _ := blob.ByID(v.Type)
			if x, _ := blob.ByID(variable.SizeOrType); v.Offset == 0 &&
				(x.Kind == btf.KindVolatile) == volatile {
				t.Error("the static of the smaller file has the type from the larger one")
			}
		}
	}
}

// TestVariablesByDefinition: the hash in the facts shows which of several units defines a variable.
func TestVariablesByDefinition(t *testing.T) {
	b := newBuilder()
	i := b.Int("int")
	static := func(file string, typ types.ID) (definition types.Hash) {
		b.Unit(file, 1)
		b.Hold(typ)
		b.Var("v", 0, 4, typ)
		b.Fn("f_"+file, 1, 0, b.Proto(0))
		n := b.Graph.Nodes[b.Last().Items[1]]
		if n.Kind != types.KindVar {
			t.Fatalf("item of kind %v", n.Kind)
		}
		return object.VariableHash(b.Graph, n, b.Last().TypesHash(b.Graph))
	}
	first := static("a.c", i)
	second := static("a.c", b.Add(types.Node{Kind: types.KindVolatile, Ref: i}))
	x := &facts.Facts{HasFiles: true, Globals: []string{"f_a.c"},
		Files: []facts.File{{Name: "a.c"}, {Name: "a.c"}, {Name: "a.c"}}}
	for k, h := range []types.Hash{second, first, second} {
		x.Objects = append(x.Objects, facts.Object{Name: "v", Section: facts.PerCPUSection,
			Offset: uint64(8 * k), Size: 4, Local: true, File: k, Definition: h})
	}
	check := func(skipped string, want ...string) {
		t.Helper()
		lines, res := b.link(t, Options{Facts: x, Features: features.Default()})
		lines = slices.DeleteFunc(funcsOf(lines),
			func(s string) bool { return strings.HasPrefix(s, "func") })
		slices.Sort(lines)
		wantLines(t, lines, want...)
		wantSkipped(t, res, skipped)
	}
	all := []string{"var v linkage 0(int int)", "var v linkage 0(volatile(int int))"}
	both := append([]string{"datasec .data..percpu size 20 v@0+4 v@8+4 v@16+4"}, all...)
	check("", both...)
	named := x.Files
	x.Files = make([]facts.File, len(named)) // the symbol table doesn't name the files
	check("", both...)
	x.Files = named
	x.Objects[1].Definition = types.Hash{} // no unit of the linked file has it
	check("v\tno variable of file scope in the debug information\n",
		"datasec .data..percpu size 20 v@0+4 v@16+4", all[1])
	for k := range x.Objects {
		x.Objects[k].Definition = types.Hash{} // it has no DWARF
	}
	check("v\tseveral static variables of this name\n")
}
