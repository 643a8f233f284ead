package btfids

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestCheckResolved: in the cases of TestResolve, Check finds nothing wrong with what Resolve
// writes.
func TestCheckResolved(t *testing.T) {
	for _, test := range resolveTests {
		t.Run(test.name, func(t *testing.T) {
			path := compile(t, []string{"gcc"}, test.source)
			s := must.Get(findIn(t, path))(t)
			data, _ := must.Get2(s.Resolve(test.types))(t)
			missing := 0 // entries of a set8 whose functions are not in the BTF
			if test.source == resolveTests[5].source {
				missing = 2
			}
			found := checkIn(t, patched(t, path, data), test.types)
			if len(found) != missing {
				t.Errorf("found %v", found)
			}
			for i := 0; i < len(data); i += 4 {
				if s.isFlags(uint32(i)) {
					continue
				}
				other := slices.Clone(data)
				other[i]++
				if got := checkIn(t, patched(t, path, other), test.types); len(got) <= missing {
					t.Errorf("a change at offset %#x is not found", i)
				}
			}
		})
	}
}

// isFlags reports whether an offset is that of flags, or of a word without a symbol. Check can't
// know the right value of either.
func (s *Section) isFlags(at uint32) bool {
	if set := s.setAt(at); set != nil {
		return set.entry == set8Entry && (at-set.at)%8 == 4
	}
	return !slices.ContainsFunc(s.ids, func(x id) bool { return x.at == at })
}

// checkIn calls Check for the file at path.
func checkIn(t *testing.T, path string, b *btf.Blob) []Finding {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	found := must.Get(Check(f, b))(t)
	return found
}

func TestCheckWrong(t *testing.T) {
	const list = `ID(func, a) ID(struct, s) ID(func, none)`
	const sets = `SET(x) ID(func, c) ID(func, a) SET_END(x)
		SET8(y, 1) FLAGS(func, b, 8) FLAGS(func, a, 9) SET8_END(y)`
	b := types(funcs("a", "b"), named{btf.KindFunc, "c"}, named{btf.KindStruct, "s"},
		named{btf.KindStruct, "s"}) // a 2, b 3, c 5, s 6 and 7
	good := []uint32{2, 2, 5, 2, 1, 2, 9, 3, 8}
	with := func(i int, v uint32) []uint32 {
		words := slices.Clone(good)
		words[i] = v
		return words
	}
	for _, c := range []struct {
		what   string
		source string
		words  []uint32
		want   []string
	}{
		{"right", list, []uint32{2, 6, 0}, nil},
		{"not resolved", list, []uint32{0, 0, 0}, []string{`symbol "__BTF_ID__func__a__0" at ` +
			`offset 0x0: the section is not resolved: all ids and counts are 0; use btfdedup resolve-ids`}},
		{"zero", list, []uint32{2, 0, 0}, []string{
			`symbol "__BTF_ID__struct__s__1" at offset 0x4: ` +
				`its id is 0; expected [6], which is STRUCT "s"`}},
		{"another name", list, []uint32{3, 6, 0}, []string{
			`symbol "__BTF_ID__func__a__0" at offset 0x0: its id 3 is FUNC "b"; expected [2], FUNC "a"`}},
		{"another kind", list, []uint32{1, 6, 0}, []string{
			`symbol "__BTF_ID__func__a__0" at offset 0x0: ` +
				`its id 1 is FUNC_PROTO ""; expected [2], FUNC "a"`}},
		{"out of range", list, []uint32{2, 8, 0}, []string{
			`symbol "__BTF_ID__struct__s__1" at offset 0x4: ` +
				`its id 8 is not in the BTF; expected [6], STRUCT "s"`}},
		{"not the first", list, []uint32{2, 7, 0}, []string{`symbol "__BTF_ID__struct__s__1" at ` +
			`offset 0x4: its id 7 is STRUCT "s"; expected the first one, [6]`}},
		{"an id for what is not there", list, []uint32{2, 6, 3}, []string{`symbol ` +
			`"__BTF_ID__func__none__2" at offset 0x8: its id 3 is FUNC "b", but there is no FUNC "none"`}},
		{"right sets", sets, with(0, 2), nil},
		{"count", sets, with(0, 3), []string{`symbol "__BTF_ID__set__x" at offset 0x0: ` +
			`its count is 3, but it has 2 entries`}},
		{"order", sets, []uint32{2, 5, 2, 2, 1, 2, 9, 3, 8}, []string{
			`symbol "__BTF_ID__set__x" at offset 0x8: the set is not sorted: id 2 follows 5`}},
		{"in a set", sets, with(2, 3), []string{
			`symbol "__BTF_ID__func__c__0" at offset 0x8: its id 3 is FUNC "b"; expected [5], FUNC "c"`}},
		{"twice in a set", sets, with(7, 2), []string{
			`symbol "__BTF_ID__func__b__2" at offset 0x1c: its id 2 is FUNC "a"; expected [3], FUNC "b"`}},
		{"not in the BTF", `SET8(y, 1) FLAGS(func, none, 8) FLAGS(func, a, 9) SET8_END(y)`,
			[]uint32{2, 1, 0, 8, 2, 9}, []string{`symbol "__BTF_ID__func__none__0" at offset 0x8: ` +
				`there is no FUNC "none"; the kernel rejects a set of kfuncs with the id 0`}},
		{"an entry without symbol", `SET(x) UNUSED ID(func, a) SET_END(x)`, []uint32{2, 2, 3},
			[]string{`symbol "__BTF_ID__set__x" at offset 0x8: ` +
				`the entry has the id 3, but no symbol`}},
	} {
		t.Run(c.what, func(t *testing.T) {
			var data []byte
			for _, w := range c.words {
				data = binary.LittleEndian.AppendUint32(data, w)
			}
			var got []string
			for _, w := range checkIn(t, patched(t, compile(t, []string{"gcc"}, c.source), data), b) {
				got = append(got, w.String())
			}
			var want []string
			for _, w := range c.want {
				want = append(want, "section .BTF_ids: "+w)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
	if found := checkIn(t, compile(t, []string{"gcc"}, "int x;"), b); found != nil {
		t.Errorf("a file without the section: %v", found)
	}
}
