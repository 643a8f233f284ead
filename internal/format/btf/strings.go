package btf

import (
	"slices"
	"strings"
)

// StringTable assigns string offsets to names. It stores each name once, in the order of first use;
// the empty name is at offset 0. Names never share bytes, because some readers refuse an offset
// that is not the start of a string.
type StringTable struct {
	start   uint32 // offset of own's first byte
	own     []byte
	offsets map[string]uint32
	base    map[string]uint32 // names of the bases; nil until first needed
	chain   *Blob
}

// NewStringTable makes a table for a blob that is based on base (nil if it has no base). A name
// that the base has keeps its offset in the base.
func NewStringTable(base *Blob) *StringTable {
	t := &StringTable{offsets: map[string]uint32{"": 0}, chain: base}
	if base == nil {
		t.own = []byte{0}
	} else {
		t.start = base.EndStr()
	}
	return t
}

// Add returns the offset of s. It cuts s off at the first NUL, which no BTF string can contain.
func (t *StringTable) Add(s string) uint32 {
	if off, ok := t.offsets[s]; ok {
		return off
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return t.Add(s[:i])
	}
	if t.base == nil && t.chain != nil {
		t.base = indexStrings(t.chain)
	}
	off, ok := t.base[s]
	if !ok {
		off = t.start + uint32(len(t.own))
		t.own = append(append(t.own, s...), 0)
		s = strings.Clone(s)
	}
	t.offsets[s] = off
	return off
}

// String is the string section.
func (t *StringTable) String() string { return string(t.own) }

// indexStrings maps every string of a blob and its bases to its first string offset. Offsets count
// from the start of the lowest base's strings.
func indexStrings(b *Blob) map[string]uint32 {
	if b == nil {
		return map[string]uint32{}
	}
	index := indexStrings(b.Base)
	off := b.BaseStrLen
	for s := range strings.SplitAfterSeq(b.Strings, "\x00") {
		name, ended := strings.CutSuffix(s, "\x00")
		if _, ok := index[name]; !ok && ended {
			index[name] = off
		}
		off += uint32(len(s))
	}
	return index
}

// longString is a length, in bytes, that only hostile strings have. If many types had names that
// end with the same long string, looking for its end each time would take too long.
const longString = 1 << 12

// findEnds sets b.ends if a string may be longer than longString. All such strings cover a stretch
// of half that length that begins at a multiple of it.
func (b *Blob) findEnds() {
	const stretch = longString / 2
	for at := 0; at+stretch <= len(b.Strings); at += stretch {
		if strings.IndexByte(b.Strings[at:at+stretch], 0) < 0 {
			for i := range len(b.Strings) {
				if b.Strings[i] == 0 {
					b.ends = append(b.ends, uint32(i))
				}
			}
			return
		}
	}
}

// endOf returns the index of the NUL that ends the string at an index of b.Strings, or -1.
func (b *Blob) endOf(at uint32) int {
	if n := len(b.ends); n == 0 || int(b.ends[n-1]) != len(b.Strings)-1 { // or Strings has grown
		n := strings.IndexByte(b.Strings[at:], 0)
		if n < 0 {
			return n
		}
		return int(at) + n
	}
	i, _ := slices.BinarySearch(b.ends, at)
	return int(b.ends[i])
}
