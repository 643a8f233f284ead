package types

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Hash identifies content: equal content has an equal hash on every machine. It has two 64-bit
// lanes that never mix. It is used to test for equality, and for the canonical order.
type Hash struct{ A, B uint64 }

// Less orders hashes; the order is arbitrary but the same everywhere.
func (h Hash) Less(o Hash) bool {
	return h.A < o.A || h.A == o.A && h.B < o.B
}

// Plus adds hashes lane by lane: the hash of a set is the sum of its elements' hashes.
func (h Hash) Plus(o Hash) Hash { return Hash{h.A + o.A, h.B + o.B} }

// Cmp is Less as a three-way comparison, for slices.SortFunc.
func (h Hash) Cmp(o Hash) int {
	if h.A != o.A { // nearly always, so sorts are faster than with cmp.Or
		return cmp.Compare(h.A, o.A)
	}
	return cmp.Compare(h.B, o.B)
}

const (
	seedA = 0x9e3779b97f4a7c15
	seedB = 0xc2b2ae3d27d4eb4f
	mulA  = 0xa0761d6478bd642f
	mulB  = 0xe7037ed1a0b428db
)

// fold multiplies x and k to 128 bits, and combines the halves of the product.
func fold(x, k uint64) uint64 {
	hi, lo := bits.Mul64(x, k)
	return hi ^ lo ^ x
}

// HashString returns the hash of a name.
func HashString(s []byte) Hash {
	n := len(s)
	a := uint64(seedA) ^ uint64(n)
	b := uint64(seedB) + uint64(n)
	rest := s
	for len(rest) >= 8 {
		w := binary.LittleEndian.Uint64(rest)
		a = fold(a^w, mulA)
		b = fold(b^w, mulB)
		rest = rest[8:]
	}
	// w is the rest as a little-endian number, read in parts that may overlap.
	var w uint64
	switch {
	case n >= 8:
		w = binary.LittleEndian.Uint64(s[n-8:]) >> (64 - 8*uint(len(rest)))
	case n >= 4:
		w = uint64(binary.LittleEndian.Uint32(s)) |
			uint64(binary.LittleEndian.Uint32(s[n-4:]))<<(8*uint(n-4))
	case n > 0:
		w = uint64(s[0]) | uint64(s[n/2])<<(8*uint(n/2)) | uint64(s[n-1])<<(8*uint(n-1))
	}
	return Hash{fold(a^w, mulA), fold(b^w, mulB)}
}

// Hasher accumulates the hash of one shape: Start, then Elem for each element, then Sum.
type Hasher struct {
	a, b uint64
	n    uint64
}

// Start begins the hash of a shape of the given kind. The parameters size and aux are those of
// Node; name and ref are the hashes of the name and of the type to which the shape refers (the zero
// Hash for no name and for void).
func Start(kind Kind, size, aux uint32, name, ref Hash) Hasher {
	w := uint64(size)<<32 | uint64(aux)
	a := fold(uint64(kind)^seedA, mulB) ^ w
	b := fold(uint64(kind)^seedB, mulA) ^ w
	a = fold(a, mulA) ^ name.A
	b = fold(b, mulB) ^ name.B
	a = fold(a, mulA) ^ ref.A
	b = fold(b, mulB) ^ ref.B
	return Hasher{a: fold(a, mulA), b: fold(b, mulB)}
}

// Elem adds one element.
func (h *Hasher) Elem(name, ref Hash, val uint64) {
	a, b := h.a, h.b
	a = fold(a^name.A, mulA)
	b = fold(b^name.B, mulB)
	a = fold(a^ref.A, mulA)
	b = fold(b^ref.B, mulB)
	h.a = fold(a^val, mulA)
	h.b = fold(b^val, mulB)
	h.n++
}

// Sum ends the hash. It takes Node.Flag, which for aggregates is known only after the last member.
func (h Hasher) Sum(flag bool) Hash {
	w := h.n << 1
	if flag {
		w |= 1
	}
	return Hash{fold(h.a^w, mulB), fold(h.b^w, mulA)}
}

// HashStub is the hash of an unpinned stub.
func HashStub(tag Tag, name Hash) Hash {
	return Start(KindStub, 0, uint32(tag), name, Hash{}).Sum(false)
}
