package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

func TestVariables(t *testing.T) {
	b := newBuilder()
	b.unit("core.c", 1)
	i := b.hold(b.int("int"))
	arr := func(n uint32) types.ID {
		return b.add(types.Node{Kind: types.KindArray, Size: n, Ref: i, Aux: uint32(i)})
	}
	b.variable("same", 0, 4, i) // two statics of one name and size, in files of one name
	b.fn("of_first", 0, 0, b.proto(0))
	b.variable("shared", 1, 0, arr(0)) // the declaration extern int shared[];
	b.variable("unused", 1, 4, i)
	b.variable("__UNIQUE_ID_x", 0, 4, i)
	b.variable("wrong_size", 1, 8, i)
	b.unit("core.c", 1)
	b.hold(i)
	b.variable("same", 0, 4, b.add(types.Node{Kind: types.KindVolatile, Ref: i}))
	b.fn("of_second", 0, 0, b.proto(0))
	b.variable("shared", 1, 20, arr(5))
	x := &facts.Facts{
		HasFiles: true,
		Files:    []facts.File{{Name: "core.c", Funcs: []string{"of_first.isra.0"}}, {Name: "core.c", Funcs: []string{"of_second"}}},
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
	vars := slices.DeleteFunc(funcsOf(lines), func(s string) bool { return strings.HasPrefix(s, "func") })
	slices.Sort(vars)
	wantLines(t, vars,
		"datasec .data..percpu size 68 same@0+4 shared@16+20 same@64+4",
		"var same linkage 0(int int)",
		"var same linkage 0(volatile(int int))",
		"var shared linkage 1(array(int int, int int))",
	)
	wantSkipped(t, res, "wrong_size\tvariable without debug information\n")
	blob, err := btf.Parse(res.BTF, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range blob.Secinfos {
		t2, _ := blob.ByID(v.Type)
		if ty, _ := blob.ByID(t2.SizeOrType); v.Offset == 0 && ty.Kind != btf.KindVolatile || v.Offset == 64 && ty.Kind != btf.KindInt {
			t.Errorf("the static at offset %d is of the other file", v.Offset)
		}
		if ty, _ := blob.ByID(t2.SizeOrType); ty.Kind == btf.KindArray && blob.ArrayOf(ty).Nelems != 5 {
			t.Errorf("shared has %d elements, want those of its definition", blob.ArrayOf(ty).Nelems)
		}
	}

	lines, res = b.link(t, Options{Facts: x, Features: features.Default().With(features.GlobalVar)})
	wantSkipped(t, res, "other\tvariable without debug information\nwrong_size\tvariable without debug information\n")
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
	b.unit("a.c", 1)
	i := b.hold(b.int("int"))
	x := &facts.Facts{}
	for k := range btf.MaxVlen + 1 {
		name := fmt.Sprintf("v%d", k)
		b.u.Items = append(b.u.Items, b.add(types.Node{Kind: types.KindVar, Name: b.str(name), Size: 4, Ref: i, Aux: 1}))
		x.Objects = append(x.Objects, facts.Object{Name: name, Section: facts.PerCPUSection, Offset: uint64(4 * k), Size: 4, File: -1})
	}
	_, err := Link(inputs(b), Options{Facts: x, Features: features.Default()})
	if err == nil || !strings.Contains(err.Error(), "65536 variables") {
		t.Errorf("error %v, want one about 65536 variables", err)
	}
}
