package btfids

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var resolveTests = []struct {
	name     string
	source   string
	types    *btf.Blob
	want     []uint32
	warnings []string // a substring of each warning
}{
	{
		name:   "a list is in the order of the source, by kind and name",
		source: `ID(func, both) ID(struct, both) UNUSED ID(union, u) ID(typedef, t) ID(func, both)`,
		types: types(nil, named{btf.KindTypedef, "t"}, named{btf.KindFwd, "both"},
			named{btf.KindStruct, "both"}, named{btf.KindUnion, "u"}, named{btf.KindFunc, "both"}),
		want: []uint32{6, 4, 0, 5, 2, 6},
	},
	{
		name:   "underscores in names",
		source: `ID(func, _a_) ID(func, b__c) ID(func, _) ID(struct, struct__x__1)`,
		types: types(nil, named{btf.KindFunc, "_a_"}, named{btf.KindFunc, "b__c"},
			named{btf.KindFunc, "_"}, named{btf.KindStruct, "struct__x__1"}),
		want: []uint32{2, 3, 4, 5},
	},
	{
		name:   "a set is counted and sorted by id",
		source: `ID(func, b) SET(s) ID(func, c) ID(func, a) UNUSED ID(func, b) SET_END(s) ID(func, a)`,
		types:  funcs("a", "b", "c"),
		want:   []uint32{3, 4, 0, 2, 3, 4, 2},
	},
	{
		name: "a set8 is sorted with the flags of its entries",
		source: `SET8(s, 1) FLAGS(func, c, 0x30) FLAGS(func, a, 0x10) FLAGS(func, b, 0x20) SET8_END(s)
			SET8(t, 0) FLAGS(func, b, 0x21) FLAGS(func, a, 0x11) SET8_END(t)`,
		types: funcs("a", "b", "c"),
		want: []uint32{3, 1, 2, 0x10, 3, 0x20, 4, 0x30,
			2, 0, 2, 0x11, 3, 0x21},
	},
	{
		name:   "empty sets",
		source: `SET(s) SET_END(s) SET8(t, 1) SET8_END(t) ID(func, a)`,
		types:  funcs("a"),
		want:   []uint32{0, 0, 1, 2},
	},
	{
		name: "names that are not found are 0 and come first, in their order",
		source: `SET8(s, 1) FLAGS(func, x, 7) FLAGS(func, a, 8) FLAGS(func, y, 9) SET8_END(s)
			ID(func, y)`,
		types: funcs("a"),
		want:  []uint32{3, 1, 0, 7, 0, 9, 2, 8, 0},
		warnings: []string{
			`symbol "__BTF_ID__func__x__0" at offset 0x8: the BTF has no FUNC "x"; its id is 0`,
			`symbol "__BTF_ID__func__y__2" at offset 0x18: the BTF has no FUNC "y"; its id is 0 ` +
				`in 2 places`,
		},
	},
	{
		name:   "the first of several types",
		source: `ID(struct, s)`,
		types: types(nil, named{btf.KindFwd, "s"}, named{btf.KindStruct, "s"},
			named{btf.KindUnion, "s"}, named{btf.KindStruct, "s"}),
		want: []uint32{3},
		warnings: []string{`at offset 0x0: the BTF has several STRUCT types named "s" ` +
			`(ids 3, 5); the first is used`},
	},
	{
		name:   "split BTF: the base comes first",
		source: `SET(s) ID(func, own) ID(func, both) ID(func, base) SET_END(s)`,
		types: types(funcs("base", "both"), named{btf.KindFunc, "both"},
			named{btf.KindFunc, "own"}),
		want:     []uint32{3, 2, 3, 6},
		warnings: []string{`several FUNC types named "both" (ids 3, 5); the first is used`},
	},
	{
		name:   "only ids that are marked as unused",
		source: `UNUSED UNUSED`,
		types:  funcs("a"),
		want:   []uint32{0, 0},
	},
}

func TestResolve(t *testing.T) {
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			for _, test := range resolveTests {
				t.Run(test.name, func(t *testing.T) {
					s := must.Get(findIn(t, compile(t, c.command, test.source)))(t)
					data, warnings := must.Get2(s.Resolve(test.types))(t)
					if got := numbers(s.order, data); !slices.Equal(got, test.want) {
						t.Errorf("%#x\nwant %#x", got, test.want)
					}
					if len(warnings) != len(test.warnings) {
						t.Errorf("%v\nwant %d warnings", warnings, len(test.warnings))
						return
					}
					for i, w := range warnings {
						if !strings.Contains(w.String(), test.warnings[i]) {
							t.Errorf("%v\nwant %s", w, test.warnings[i])
						}
					}
				})
			}
		})
	}
}

// TestLinked: in a linked file, symbols have addresses, and sections of several objects are merged.
func TestLinked(t *testing.T) {
	first := compile(t, []string{"gcc"}, `ID(func, b)`)
	second := compile(t, []string{"gcc"}, `SET(s) ID(func, b) ID(func, a) SET_END(s)`)
	linked := t.TempDir() + "/linked"
	run(t, "ld", "-e", "0", "-Ttext=0x100000", "-o", linked, first, second)
	s := must.Get(findIn(t, linked))(t)
	data, _ := must.Get2(s.Resolve(funcs("a", "b")))(t)
	if got, want := numbers(s.order, data), []uint32{3, 2, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	again := must.Get(findIn(t, patched(t, linked, data)))(t)
	if s.Resolved() || !again.Resolved() {
		t.Errorf("resolved before: %v, after: %v", s.Resolved(), again.Resolved())
	}
}

// TestPatch: only the section changes in the file, and Unresolved gives its old content.
func TestPatch(t *testing.T) {
	path := compile(t, []string{"gcc"}, `ID(func, b) SET(s) ID(func, b) ID(func, a) SET_END(s)`)
	s, err := findIn(t, path)
	must.OK(t, err)
	data, _, err := s.Resolve(funcs("a", "b"))
	must.OK(t, err)
	out := patched(t, path, data)
	again, err := findIn(t, out)
	must.OK(t, err)
	raw, err := again.Unresolved()
	if err != nil || !slices.Equal(raw, s.data) {
		t.Errorf("%v, %v, want %v", raw, err, s.data)
	}
	before, _ := elf.Open(path)
	after, err := elf.Open(out)
	must.OK(t, err)
	defer before.Close()
	defer after.Close()
	changed := 0
	for i := range before.Bytes() {
		if before.Bytes()[i] != after.Bytes()[i] {
			changed++
		}
	}
	if changed != 4 || len(before.Bytes()) != len(after.Bytes()) {
		t.Errorf("%d bytes differ, want 4, one of each word", changed)
	}
	if _, err := Patch(before, data[4:]); err == nil {
		t.Error("a section of another length fits")
	}
}
