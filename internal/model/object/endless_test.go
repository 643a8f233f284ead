package object

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestEndlessBTF: raw BTF in which a struct contains itself by value is refused, and the error
// names the type's id.
func TestEndlessBTF(t *testing.T) {
	member := func(b *btf.Builder, typ uint32) btf.Member {
		return btf.Member{NameOff: b.Name("m"), Type: typ}
	}
	for _, tt := range []struct {
		name string
		add  func(b *btf.Builder) // the first type has the id 2
		want string               // "": it is valid
	}{
		{"a member", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 2))
		}, "type [2] s contains itself by value"},
		{"a pointer", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 3))
			b.Ref(btf.KindPtr, "", 2)
		}, ""},
		{"a function", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 3))
			b.Ref(btf.KindPtr, "", 4)
			b.FuncProto(2, btf.Param{Type: 2})
		}, ""},
		{"an array of a const typedef", func(b *btf.Builder) {
			b.Composite(btf.KindUnion, "u", 4, false, member(b, 3))
			b.Array(4, 1, 2)
			b.Ref(btf.KindConst, "", 5)
			b.Ref(btf.KindTypedef, "t", 2)
		}, "type [2] u"},
		{"another struct, in one without a name", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "z", 4, false, member(b, 3))
			b.Composite(btf.KindStruct, "", 4, false, member(b, 4))
			b.Composite(btf.KindStruct, "y", 4, false, member(b, 2))
		}, "type [4] y"},
		{"a struct of the same name", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 3))
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 1))
		}, ""},
		{"one of two structs with the same name", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 4, false, member(b, 1))
			b.Composite(btf.KindStruct, "s", 8, false, member(b, 3))
		}, "type [3] s"},
		{"a typedef", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "", 4, false, member(b, 3))
			b.Ref(btf.KindTypedef, "t", 2)
		}, "contains itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := btf.NewBuilder(binary.LittleEndian, nil, nil)
			b.Int("int", 4, btf.IntSigned, 0)
			tt.add(b)
			_, err := FromBTF(Target{}, b.Finish())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil ||
				!strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if _, again := New(Target{}, 0).AddBTF(b.Finish()); (err == nil) != (again == nil) {
				t.Errorf("FromBTF %v, AddBTF %v", err, again)
			}
		})
	}
}

// TestEndlessSplit: split BTF redefines a tag of its base. The new definition has a member of a
// type of the base, and this type contains the base's definition of the tag. If types are
// identified by id, none contains itself; if by tag, one seems to.
func TestEndlessSplit(t *testing.T) {
	base := btf.NewBuilder(binary.LittleEndian, nil, nil)
	base.Int("int", 4, btf.IntSigned, 0)
	base.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: base.Name("m"), Type: 1})
	base.Composite(btf.KindUnion, "u", 4, false, btf.Member{NameOff: base.Name("m"), Type: 2})
	split := btf.NewBuilder(binary.LittleEndian, base.Finish(), nil)
	s := split.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: split.Name("m"), Type: 3})
	split.Composite(btf.KindUnion, "u", 4, false, btf.Member{NameOff: split.Name("x"), Type: s})
	o := must.Get(FromBTF(Target{}, split.Finish()))(t)
	if err := o.CheckFinite(); err != nil {
		t.Error(err)
	}
	if _, err := New(Target{}, 0).AddBTF(Chain(split.Finish())...); err != nil {
		t.Error(err)
	}
}

// TestEndlessUnits: the meaning of a tag is considered in each unit separately.
func TestEndlessUnits(t *testing.T) {
	o := New(Target{}, 0)
	g := o.Graph
	str := func(s string) types.Str { return g.Strs.Intern([]byte(s)) }
	integer := g.Add(types.Node{Kind: types.KindInt, Name: str("int"), Size: 4}, nil)
	tag := func(name string) types.ID { return g.Stub(types.TagStruct, str(name)) }
	define := func(name string, member types.ID) types.ID {
		return g.Add(types.Node{Kind: types.KindStruct, Name: str(name), Size: 4},
			[]types.Elem{{Name: str("m"), Ref: member}})
	}
	ab, ba := define("a", tag("b")), define("b", tag("a"))
	a, b := define("a", integer), define("b", integer)
	unit := func(file string, items ...types.ID) {
		o.Units = append(o.Units, Unit{File: str(file), Count: 1, Items: items})
	}
	unit("first.c", ab, b)
	unit("second.c", a, ba)
	unit("third.c", ab)
	if def, _, err := o.Endless(); def != 0 || err != nil {
		t.Errorf("valid units: %d, %v", def, err)
	}
	unit("fourth.c", ba, ab)
	def, at, err := o.Endless()
	if def != ab || at != 3 || err != nil {
		t.Errorf("definition %d of unit %d, %v; want %d, 3", def, at, err, ab)
	}
	const want = `type a in "fourth.c" contains itself by value; build or copy the file again`
	if err := o.CheckFinite(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestEndlessIsBounded: the work stays within the budget even if tags could contain each other and
// could mean different things in many units.
func TestEndlessIsBounded(t *testing.T) {
	o := New(Target{}, 0)
	g := o.Graph
	str := func(format string, args ...any) types.Str {
		return g.Strs.Intern(fmt.Appendf(nil, format, args...))
	}
	var elems []types.Elem
	for i := range 20000 { // structs without a name, which no unit lists
		inner := g.Add(types.Node{Kind: types.KindStruct, Size: 4},
			[]types.Elem{{Name: str("m%d", i), Ref: g.Stub(types.TagStruct, str("b"))}})
		elems = append(elems, types.Elem{Ref: inner})
	}
	whole := g.Add(types.Node{Kind: types.KindStruct, Name: str("a"), Size: 4}, elems)
	back := g.Add(types.Node{Kind: types.KindStruct, Name: str("b"), Size: 4},
		[]types.Elem{{Ref: g.Stub(types.TagStruct, str("a"))}})
	for i := range 10000 {
		def := g.Add(types.Node{Kind: types.KindStruct, Name: str("b"), Size: uint32(i)},
			[]types.Elem{{Ref: g.Stub(types.TagStruct, str("c%d", i%7))},
				{Ref: g.Stub(types.TagStruct, str("a"))}})
		o.Units = append(o.Units, Unit{Count: 1, Items: []types.ID{def}})
	}
	o.Units = append(o.Units, Unit{Count: 1, Items: []types.ID{whole}},
		Unit{Count: 1, Items: []types.ID{whole, back}})
	if _, _, err := o.Endless(); err == nil ||
		!strings.Contains(err.Error(), "too many definitions") {
		t.Errorf("error %v", err)
	}
}
