package split

import (
	"bytes"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// mergedStrings tells whether f is linked and each string of .debug_str is there once, as linkers
// leave them if not told otherwise. Then a string's offset tells which it is, which is faster to
// compare.
func mergedStrings(f *elf.File) bool {
	s := f.Section(".debug_str")
	if s == nil || f.Relocatable() {
		return false
	}
	data, err := s.Data()
	if err != nil {
		return false
	}
	seen := make([]uint64, 2<<bits.Len(uint(bytes.Count(data, []byte{0}))))
	for len(data) > 0 {
		end := bytes.IndexByte(data, 0)
		if end < 0 {
			break
		}
		h := hashOf(data[:end]) | 1
		data = data[end+1:]
		i := h >> 1 % uint64(len(seen))
		for ; seen[i] != 0; i = (i + 1) % uint64(len(seen)) {
			if seen[i] == h {
				return false
			}
		}
		seen[i] = h
	}
	return true
}

// maxInline is the length of the longest string that stands in an entry itself, where it needs no
// more bytes than an offset.
const maxInline = 3

// stringTable is the string table of a shard (.debug_str), in the order of the first use.
type stringTable struct {
	offsets map[string]uint32
	bytes   []byte
	known   offsetCache
}

// add returns the offset of a string.
func (t *stringTable) add(s []byte) uint32 {
	if off, ok := t.offsets[string(s)]; ok {
		return off
	}
	if t.offsets == nil {
		t.offsets = make(map[string]uint32)
	}
	off := uint32(len(t.bytes))
	t.bytes = append(append(t.bytes, s...), 0)
	t.offsets[string(s)] = off
	return off
}

// text is a string as an entry has it: its offset in the table, below 1<<31; or with inlineText
// the string itself, its length in bits 24 and 25 and its first byte in the lowest bits.
type text uint32

const inlineText text = 1 << 31

// textOf puts a string where it belongs.
func (t *stringTable) textOf(s []byte) text {
	if len(s) > maxInline {
		return text(t.add(s))
	}
	to := inlineText | text(len(s))<<24
	for i, b := range s {
		to |= text(b) << (8 * i)
	}
	return to
}

// appendInline appends a string that is inline, with its end.
func (t text) appendInline(b []byte) []byte {
	for i := range t >> 24 & 3 {
		b = append(b, byte(t>>(8*i)))
	}
	return append(b, 0)
}

// offsetCache remembers what strings of the .debug_str that is read have become, by their offset:
// a hash table with open addressing.
type offsetCache struct {
	slots []cachedText // a power of two
	shift uint8        // of the hash
	used  int
}

// cachedText is a slot; one that is zero is free.
type cachedText struct {
	off uint32 // + 1
	text
}

// get returns the slot of an offset, below 1<<32 - 1, and whether it has been set.
func (c *offsetCache) get(off uint32) (*cachedText, bool) {
	if 2*c.used >= len(c.slots) {
		c.grow()
	}
	s := c.slot(off)
	return s, s.off != 0
}

// set sets a slot that get returned last.
func (c *offsetCache) set(s *cachedText, off uint32, t text) {
	s.off, s.text = off+1, t
	c.used++
}

func (c *offsetCache) slot(off uint32) *cachedText {
	slots := c.slots
	for i := int(uint64(off) * 0x9e3779b97f4a7c15 >> c.shift); ; i++ {
		if s := &slots[i&(len(slots)-1)]; s.off == off+1 || s.off == 0 {
			return s
		}
	}
}

func (c *offsetCache) grow() {
	old := c.slots
	if c.shift == 0 {
		c.shift = 64 - 11
	}
	c.shift--
	c.slots = make([]cachedText, 1<<(64-c.shift))
	for _, s := range old {
		if s.off != 0 {
			*c.slot(s.off - 1) = s
		}
	}
}

// forget prepares for another .debug_str.
func (c *offsetCache) forget() {
	clear(c.slots)
	c.used = 0
}
