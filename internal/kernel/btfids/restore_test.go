package btfids

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const setsOfFlags = `
	SET8(s, 1) FLAGS(func, c, 0x30) FLAGS(func, gone, 0x40) FLAGS(func, a, 0x10)
		FLAGS(func, b, 0x20) SET8_END(s)
	SET8(t, 1) FLAGS(func, b, 5) FLAGS(func, a, 5) SET8_END(t)
	SET(u) ID(func, b) UNUSED ID(func, a) SET_END(u)`

// TestRestore: a resolved file can be resolved again with different BTF.
func TestRestore(t *testing.T) {
	old := funcs("a", "b", "c")
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			path := compile(t, c.command, setsOfFlags)
			fresh, err := findIn(t, path)
			must.OK(t, err)
			data, _, err := fresh.Resolve(old)
			must.OK(t, err)
			again, err := findIn(t, patched(t, path, data))
			must.OK(t, err)
			if !again.Sorted() || fresh.Sorted() {
				t.Errorf("sorted: %v, %v; want true, false", again.Sorted(), fresh.Sorted())
			}
			if _, _, err := again.Resolve(old); err == nil ||
				!strings.Contains(err.Error(), `symbol "__BTF_ID__set8__s" at offset 0x0: the ids have `+
					`already been resolved`) {
				t.Errorf("not restored: %v", err)
			}
			must.OK(t, again.Restore(old))
			if !reflect.DeepEqual(again.data, fresh.data) {
				t.Errorf("restored: %x\nwant %x", again.data, fresh.data)
			}
			data, _, err = again.Resolve(funcs("c", "gone", "b", "a"))
			want := []uint32{4, 1, 2, 0x30, 3, 0x40, 4, 0x20, 5, 0x10,
				2, 1, 4, 5, 5, 5,
				3, 0, 4, 5}
			if got := numbers(fresh.order, data); err != nil || !slices.Equal(got, want) {
				t.Errorf("%#x, %v\nwant %#x", got, err, want)
			}
		})
	}
}

func TestRestoreWithWrongBTF(t *testing.T) {
	path := compile(t, []string{"gcc"}, `
		SET8(s, 1) FLAGS(func, b, 1) FLAGS(func, a, 2) FLAGS(func, c, 3) SET8_END(s)`)
	fresh := must.Get(findIn(t, path))(t)
	for _, test := range []struct {
		name       string
		made, used *btf.Blob
		want       string
	}{
		{"another function", funcs("a", "b", "c"), funcs("a", "x", "c"),
			`symbol "__BTF_ID__set8__s" at offset 0x0: its id 3 is FUNC "x"`},
		{"another kind", funcs("a", "b", "c"), types(nil, named{btf.KindFunc, "a"},
			named{btf.KindStruct, "b"}), `its id 3 is STRUCT "b"`},
		{"fewer types", funcs("a", "b", "c"), funcs("a"), "its id 3 is not in the old BTF"},
		{"several that were not found", funcs("b"), funcs("b"), "the id 0 and different flags"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, _ := must.Get2(fresh.Resolve(test.made))(t)
			again := must.Get(findIn(t, patched(t, path, data)))(t)
			if err := again.Restore(test.used); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !again.Sorted() {
				t.Error("it counts as restored")
			}
		})
	}
}

func TestKfuncs(t *testing.T) {
	s, err := findIn(t, compile(t, []string{"gcc"}, `
		SET8(m, 1) FLAGS(func, b, 0x10001) FLAGS(func, a, 2) SET8_END(m)
		SET8(z, 1) FLAGS(func, a, 3) FLAGS(struct, x, 9) SET8_END(z)
		SET8(c, 1) FLAGS(func, a, 4) FLAGS(func, d, 5) SET8_END(c)
		SET(set) ID(func, e) SET_END(set) ID(func, f)`))
	must.OK(t, err)
	got, err := s.Kfuncs()
	want := []Kfunc{{"a", 3}, {"b", 0x10001}, {"d", 5}} // the flags of a are from the set z
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
