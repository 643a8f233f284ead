package btf

import "testing"

// TestPointerSize has BTF that states the size of a pointer in various ways, or not at all.
func TestPointerSize(t *testing.T) {
	const void = 0
	// A struct of the given size, with one member after the given number of bytes, is added to types
	// that may contain long. The types are 1 pointer, 2 const pointer, 3 array of 3 pointers.
	build := func(long, size, at, member uint32, kind Kind, base *Blob) *Blob {
		b := NewBuilder(nil, base, nil)
		first := b.NextID() - 1
		b.Ref(KindPtr, "", void)
		b.Ref(KindConst, "", first+1)
		b.Array(first+1, first+1, 3)
		if kind == KindVar {
			b.Datasec(".data", 100, Secinfo{Type: b.Var("v", first+member, 1), Size: size})
		} else {
			b.Composite(kind, "s", size, false, Member{Type: first + member, Offset: 8 * at})
		}
		if long != 0 {
			b.Int("long int", long, IntSigned, 0)
		}
		return b.Finish()
	}
	of := func(addrSize int, b *Blob) *Blob { b.Origin.AddrSize = addrSize; return b }
	for _, c := range []struct {
		name    string
		b       *Blob
		want    uint32
		guessed bool
	}{
		{"nothing", NewBuilder(nil, nil, nil).Finish(), 8, false},
		{"a file for 32 bits", of(4, build(0, 8, 0, 1, KindStruct, nil)), 4, false},
		{"a file for 64 bits", of(8, build(4, 4, 0, 1, KindStruct, nil)), 8, false},
		{"a long of 4 bytes", build(4, 8, 0, 1, KindStruct, nil), 4, false},
		{"a long of 8 bytes", build(8, 4, 0, 1, KindStruct, nil), 8, false},
		{"a base from a file", build(0, 8, 0, 1, KindStruct, of(4, build(0, 8, 0, 1, KindStruct, nil))),
			4, false},
		{"a long in the base", build(8, 8, 0, 1, KindStruct, build(4, 8, 0, 1, KindStruct, nil)), 4,
			false},
		{"a struct with room for 8 bytes", build(0, 8, 0, 1, KindStruct, nil), 8, false},
		{"a struct with room for 4 bytes", build(0, 4, 0, 1, KindStruct, nil), 4, true},
		{"at the end of a struct", build(0, 12, 8, 1, KindStruct, nil), 4, true},
		{"a const pointer in a union", build(0, 4, 0, 2, KindUnion, nil), 4, true},
		{"an array", build(0, 12, 0, 3, KindStruct, nil), 4, true},
		{"an array with room", build(0, 24, 0, 3, KindStruct, nil), 8, false},
		{"a variable", build(0, 4, 0, 1, KindVar, nil), 4, true},
		{"a variable with room", build(0, 8, 0, 1, KindVar, nil), 8, false},
		{"in the base", build(0, 8, 0, 1, KindStruct, build(0, 4, 0, 1, KindStruct, nil)), 4, true},
		{"no room at all", build(0, 3, 0, 1, KindStruct, nil), 8, false},
		{"beyond the end", build(0, 4, 8, 1, KindStruct, nil), 8, false},
	} {
		if got, guessed := c.b.PointerSize(), c.b.GuessesPointers(); got != c.want ||
			guessed != c.guessed {
			t.Errorf("%s: %d bytes, a guess: %v; want %d, %v", c.name, got, guessed, c.want, c.guessed)
		}
	}
}
