package convert

import "github.com/rules-btf/rules_btf/internal/model/types"

// memo caches what was found out about the type entries of a unit, by offset. Clearing it is cheap.
type memo struct {
	slots   []memoSlot
	entries []entry
	gen     uint32
}

type memoSlot struct {
	gen, off, index uint32
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
		m.slots, m.entries = make([]memoSlot, n), make([]entry, 0, n/2)
	}
	m.entries = m.entries[:0]
	m.gen++
	if m.gen == 0 {
		clear(m.slots)
		m.gen = 1
	}
}

// at returns the index of the entry for off. It adds the entry if there is none yet.
func (m *memo) at(off uint32) uint32 {
	s := m.slot(off)
	if s.gen == m.gen {
		return s.index
	}
	index := uint32(len(m.entries))
	*s = memoSlot{m.gen, off, index}
	m.entries = append(m.entries, entry{})
	if old := m.slots; len(m.entries)*2 > len(old) {
		m.slots = make([]memoSlot, 2*len(old))
		for _, s := range old {
			if s.gen == m.gen {
				*m.slot(s.off) = s
			}
		}
	}
	return index
}

// slot returns the slot that holds off, or the free slot for it.
func (m *memo) slot(off uint32) *memoSlot {
	mask := uint32(len(m.slots) - 1)
	for i := off * 0x9e3779b1 >> 7 & mask; ; i = (i + 1) & mask {
		if s := &m.slots[i]; s.gen != m.gen || s.off == off {
			return s
		}
	}
}
