package convert

import (
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// memo caches what was found out about the type entries of a unit, by offset.
type memo struct {
	offsets
	entries []entry
}

// offsets maps offsets to numbers. Clearing it is cheap.
type offsets struct {
	slots []offsetSlot
	gen   uint32
	used  int
}

type offsetSlot struct {
	gen, off, number uint32
}

type entry struct {
	hash  types.Hash
	id    types.ID
	state entryState
	// the hash depends on something that fingerprints don't cover, see converter.uncovered
	uncovered bool
	value     value
}

// value holds the properties of a type that decide how a parameter of that type is passed.
type value struct {
	known    bool
	isStruct bool // the type is a struct, apart from typedefs and qualifiers
	packed   bool // the type is a named struct with a misaligned member
	size     uint32
}

type entryState uint8

const (
	entryNew entryState = iota
	entryBusy
	entryHashed
	entryAdded // to the graph
)

// reset empties the memo for reuse with a unit of size bytes.
func (m *memo) reset(size uint64) {
	if m.slots == nil {
		n := 1 << 6
		for uint64(n) < size/32 {
			n *= 2
		}
		m.slots, m.entries = pages.Make[offsetSlot](n), make([]entry, 0, n/2)
	}
	m.entries = m.entries[:0]
	m.clear()
}

func (o *offsets) clear() {
	o.used = 0
	if o.gen++; o.gen == 0 {
		clear(o.slots)
		o.gen = 1
	}
}

// at returns the index of the entry for off. It adds the entry if there is none yet.
func (m *memo) at(off uint32) uint32 {
	s := m.slot(off)
	if s.gen == m.gen {
		return s.number
	}
	index := uint32(len(m.entries))
	m.entries = append(m.entries, entry{})
	m.put(s, off, index)
	return index
}

// slot returns the slot that holds off, or the free slot for it. There must be slots.
func (o *offsets) slot(off uint32) *offsetSlot {
	mask := uint32(len(o.slots) - 1)
	for i := off * 0x9e3779b1 >> 7 & mask; ; i = (i + 1) & mask {
		if s := &o.slots[i]; s.gen != o.gen || s.off == off {
			return s
		}
	}
}

// put stores the number of off in the free slot s.
func (o *offsets) put(s *offsetSlot, off, number uint32) {
	*s = offsetSlot{o.gen, off, number}
	o.used++
	if old := o.slots; o.used*2 > len(old) {
		o.slots = pages.Make[offsetSlot](2 * len(old))
		for _, s := range old {
			if s.gen == o.gen {
				*o.slot(s.off) = s
			}
		}
	}
}

// get returns the number of off.
func (o *offsets) get(off uint32) (number uint32, has bool) {
	if len(o.slots) == 0 {
		return 0, false
	}
	s := o.slot(off)
	return s.number, s.gen == o.gen
}

// set sets the number of off, unless off already has one.
func (o *offsets) set(off, number uint32) {
	if len(o.slots) == 0 {
		o.slots, o.gen = make([]offsetSlot, 1<<6), 1
	}
	if s := o.slot(off); s.gen != o.gen {
		o.put(s, off, number)
	}
}
