package types

import (
	"math"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Str is the number of an interned string. 0 is the empty string, which means no name.
type Str uint32

// Strings interns names: equal names have the same Str.
type Strings struct {
	bytes []byte
	ends  []uint32 // ends[i] is the end of string i in the field bytes
	hash  []Hash
	index []uint32 // open addressing over hash, Str or 0
}

func (s *Strings) initList(n int) {
	s.bytes = make([]byte, 0, 16*n)
	s.ends = append(make([]uint32, 0, n+1), 0)
	s.hash = append(make([]Hash, 0, n+1), Hash{})
}

// Len is the number of strings, the empty one included.
func (s *Strings) Len() int { return len(s.ends) }

// Bytes returns the content of id, which must not be changed.
func (s *Strings) Bytes(id Str) []byte {
	if id == 0 {
		return nil
	}
	return s.bytes[s.ends[id-1]:s.ends[id]:s.ends[id]]
}

// String returns the content of id.
func (s *Strings) String(id Str) string { return string(s.Bytes(id)) }

// Hash returns the content hash of id, or the zero Hash for the empty string.
func (s *Strings) Hash(id Str) Hash { return s.hash[id] }

// Intern returns the Str of b, and adds b if it is new.
func (s *Strings) Intern(b []byte) Str {
	if len(b) == 0 {
		return 0
	}
	return s.InternHashed(b, HashString(b))
}

// InternHashed is Intern for callers that have HashString(b).
func (s *Strings) InternHashed(b []byte, h Hash) Str {
	if len(b) == 0 {
		return 0
	}
	slot := s.slot(h)
	if *slot != 0 {
		return Str(*slot)
	}
	id := s.add(b, h)
	*slot = uint32(id)
	if len(s.ends)*2 > len(s.index) {
		s.fillIndex(len(s.ends))
	}
	return id
}

// add adds a new string, but not to the index.
func (s *Strings) add(b []byte, h Hash) Str {
	if len(s.bytes)+len(b) > math.MaxUint32 {
		panic("types: more than 4 GiB of distinct names")
	}
	s.bytes = append(room(s.bytes, len(b)), b...)
	s.ends = append(room(s.ends, 1), uint32(len(s.bytes)))
	s.hash = append(room(s.hash, 1), h)
	return Str(len(s.ends) - 1)
}

// Lookup returns the Str of b, and whether b is there.
func (s *Strings) Lookup(b []byte) (Str, bool) {
	if len(b) == 0 {
		return 0, true
	}
	id := *s.slot(HashString(b))
	return Str(id), id != 0
}

// slot returns the place of the string with hash h in the index, or the free place for it.
func (s *Strings) slot(h Hash) *uint32 {
	mask := uint64(len(s.index) - 1)
	i := h.A & mask
	for s.index[i] != 0 && s.hash[s.index[i]] != h {
		i = (i + 1) & mask
	}
	return &s.index[i]
}

// fillIndex makes an index of all strings, with room for n.
func (s *Strings) fillIndex(n int) {
	index := pages.Make[uint32](1 << max(10, bits.Len(uint(2*n-1))))
	mask := uint64(len(index) - 1)
	for id := 1; id < len(s.hash); id++ {
		i := s.hash[id].A & mask
		for index[i] != 0 {
			i = (i + 1) & mask
		}
		index[i] = uint32(id)
	}
	s.index = index
}
