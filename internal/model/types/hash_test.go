package types

import (
	"math/rand/v2"
	"testing"
)

// TestHashString compares HashString with a version that reads the bytes one by one.
func TestHashString(t *testing.T) {
	plain := func(s []byte) Hash {
		a, b := uint64(seedA)^uint64(len(s)), uint64(seedB)+uint64(len(s))
		w := uint64(0)
		for i, c := range s {
			w |= uint64(c) << (8 * (i % 8))
			if i%8 == 7 {
				a, b, w = fold(a^w, mulA), fold(b^w, mulB), 0
			}
		}
		return Hash{fold(a^w, mulA), fold(b^w, mulB)}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		for range 20 {
			s := make([]byte, n)
			for i := range s {
				s[i] = byte(r.Uint32())
			}
			if got, want := HashString(s), plain(s); got != want {
				t.Fatalf("HashString(%x) = %x, want %x", s, got, want)
			}
		}
	}
}
