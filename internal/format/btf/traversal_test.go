package btf_test

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// TestRefs reads and changes the references in types of every kind. Nearly all refer to different
// ids, and some to void.
func TestRefs(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	want := map[uint32][]uint32{
		b.Int("int", 4, btf.IntSigned, 0): nil,
		b.Float("double", 8):              nil,
		b.Fwd("s", false):                 nil,
		b.Enum(btf.KindEnum, "e", 4, false, btf.Enumerator{Value: 7}):      nil,
		b.Enum(btf.KindEnum64, "e", 8, false, btf.Enumerator{Value: 7}):    nil,
		b.Ref(btf.KindPtr, "", 0):                                          {0},
		b.Ref(btf.KindTypedef, "t", 11):                                    {11},
		b.Ref(btf.KindVolatile, "", 12):                                    {12},
		b.Ref(btf.KindConst, "", 13):                                       {13},
		b.Ref(btf.KindRestrict, "", 14):                                    {14},
		b.Ref(btf.KindTypeTag, "tag", 15):                                  {15},
		b.Array(21, 22, 7):                                                 {21, 22},
		b.Composite(btf.KindStruct, "empty", 0, false):                     nil,
		b.Composite(btf.KindStruct, "s", 8, false, member(31), member(32)): {31, 32},
		b.Composite(btf.KindUnion, "u", 8, true, member(33), member(33)):   {33, 33},
		b.Func("f", 41, btf.LinkageGlobal):                                 {41},
		b.FuncProto(0):                                                     {0},
		b.FuncProto(51, btf.Param{Type: 52}, btf.Param{}):                  {51, 52, 0},
		b.Var("v", 61, btf.LinkageGlobal):                                  {61},
		b.Datasec("d", 8, btf.Secinfo{Type: 71}, btf.Secinfo{Type: 72}):    {71, 72},
		b.DeclTag("tag", 81, 5):                                            {81},
		b.LocParam(8, btf.LocReg, 91, 92):                                  nil,
		b.LocProto(93, 0, 94):                                              {93, 0, 94},
		b.Locsec("inline.text", btf.Site{Func: 95, LocProto: 96, Offset: 97},
			btf.Site{Func: 98, LocProto: 99}): {95, 96, 98, 99},
	}
	kinds := map[btf.Kind]bool{}
	for id, refs := range want {
		typ, _ := b.Blob.ByID(id)
		kinds[typ.Kind] = true
		var got []uint32
		for ref := range b.Blob.Refs(typ) {
			got = append(got, *ref)
			*ref += 100
		}
		if !slices.Equal(got, refs) {
			t.Errorf("%v: %v, want %v", typ.Kind, got, refs)
		}
		n := 0
		for ref := range b.Blob.Refs(typ) { // references can be changed, and the walk may end early
			if n++; *ref != refs[0]+100 {
				t.Errorf("%v: the first reference is %d, want %d", typ.Kind, *ref, refs[0]+100)
			}
			break
		}
		if n != min(1, len(refs)) {
			t.Errorf("%v: %d references of %v before the end", typ.Kind, n, refs)
		}
	}
	if len(kinds) != btf.NumKinds-1 {
		t.Errorf("%d kinds of %d", len(kinds), btf.NumKinds-1)
	}
}

func member(typ uint32) btf.Member { return btf.Member{Type: typ} }
