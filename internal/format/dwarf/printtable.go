package dwarf

import "github.com/rules-btf/rules_btf/internal/support/pages"

// printTable holds the fingerprints of a unit's types by offset. It is emptied in constant time.
type printTable struct {
	slots []printSlot
	used  int
	gen   uint64 // generation: new for each unit; it is in the upper half of the keys
}

type printSlot struct {
	key uint64 // printTable.gen | offset
	fp  Fingerprint
}

func (t *printTable) reset() {
	if t.slots == nil {
		t.slots = make([]printSlot, 1<<6)
	}
	t.used = 0
	if t.gen += 1 << 32; t.gen == 0 {
		clear(t.slots)
		t.gen = 1 << 32
	}
}

// printShift is so small that nearly every type gets its own slot, near its neighbours' slots.
const printShift = 2

// nearProbes is how many adjacent slots are tried before others. In a hostile unit, each byte may
// be a type. If only adjacent slots were tried, such a unit would take quadratic time.
const nearProbes = 8

// slot returns the slot that holds off, with known set, or else the free slot for off. The compiler
// inlines it; a few more operations would make it too long for that.
func (t *printTable) slot(off uint32) (s *printSlot, known bool) {
	key, step := t.gen|uint64(off), uint32(1)
	for i, n := off>>printShift, 0; ; i, n = i+step, n+1 {
		if s = &t.slots[i&uint32(len(t.slots)-1)]; s.key == key || s.key < t.gen {
			return s, s.key == key
		}
		if n == nearProbes {
			step = off*0x9e3779b1>>7 | 1 // odd, so that each slot is tried
		}
	}
}

// put stores off and fp in the free slot s. It may move the table, so pointers to slots may become
// invalid.
func (t *printTable) put(s *printSlot, off uint32, fp Fingerprint) {
	*s = printSlot{t.gen | uint64(off), fp}
	if t.used++; t.used*3 <= len(t.slots) {
		return
	}
	old := t.slots
	t.slots = pages.Make[printSlot](2 * len(old))
	for i := range old {
		if s := &old[i]; s.key >= t.gen {
			free, _ := t.slot(uint32(s.key))
			*free = *s
		}
	}
}
