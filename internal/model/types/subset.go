package types

import "math/bits"

// subset is a set of some of the numbers from 0 up to a limit.
type subset struct {
	words  []uint64 // one bit per number
	before []uint32 // by word: how many members are in the words before it; set by number
}

// reset empties the set, and makes room for the numbers below n.
func (s *subset) reset(n int) {
	words := n/64 + 1
	if words > cap(s.words) {
		s.words, s.before = make([]uint64, words, words+words/4), make([]uint32, words+words/4)
		return
	}
	clear(s.words)
	s.words = s.words[:words]
}

func (s *subset) add(i uint32) { s.words[i/64] |= 1 << (i % 64) }

func (s *subset) has(i uint32) bool { return s.words[i/64]>>(i%64)&1 != 0 }

// number prepares rank, and returns how many members there are.
func (s *subset) number() int {
	n := 0
	for i, word := range s.words {
		s.before[i] = uint32(n)
		n += bits.OnesCount64(word)
	}
	return n
}

// rank returns how many members are smaller than i.
func (s *subset) rank(i uint32) uint32 {
	smaller := s.words[i/64] & (1<<(i%64) - 1)
	return s.before[i/64] + uint32(bits.OnesCount64(smaller))
}

// runs yields the set as ranges first ≤ i < end, in order.
func (s *subset) runs(yield func(first, end uint32) bool) {
	for i, word := range s.words {
		for word != 0 {
			first := bits.TrailingZeros64(word)
			end := first + bits.TrailingZeros64(^(word >> first))
			word &= ^uint64(0) << end // 0 if end is 64
			if !yield(uint32(i*64+first), uint32(i*64+end)) {
				return
			}
		}
	}
}
