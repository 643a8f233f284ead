package facts

import (
	"hash/maphash"
	"math/bits"
)

// repeats finds the names among many that occur several times, and a few others. So what is to be
// done with those need not be done with all.
type repeats struct {
	seed        maphash.Seed
	hashes      []uint32 // of the names added
	once, twice []uint64 // a bit a hash
}

// newRepeats makes room for n names.
func newRepeats(n int) *repeats {
	words := 1 << bits.Len(uint(n)/2) // 32 bits a name at least
	return &repeats{maphash.MakeSeed(), make([]uint32, 0, n), make([]uint64, words),
		make([]uint64, words)}
}

func (r *repeats) add(name string) {
	h := uint32(maphash.String(r.seed, name))
	r.hashes = append(r.hashes, h)
	i, bit := r.bit(h)
	r.twice[i] |= r.once[i] & bit
	r.once[i] |= bit
}

// maybe tells of the i-th name added whether it was added several times: false is certain.
func (r *repeats) maybe(i int) bool {
	word, bit := r.bit(r.hashes[i])
	return r.twice[word]&bit != 0
}

func (r *repeats) bit(h uint32) (word int, bit uint64) {
	return int(h>>6) & (len(r.once) - 1), 1 << (h & 63)
}
