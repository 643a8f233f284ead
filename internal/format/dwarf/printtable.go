package dwarf

// printTable holds the fingerprints of a unit's types by offset. Forgetting them costs nothing.
type printTable struct {
	slots []printSlot
	used  int
	gen   uint64 // of the unit, in the upper half of the keys
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

// printShift makes one slot of so few bytes that nearly every type has its own, near those of its
// neighbours.
const printShift = 2

// slot returns the slot where off is, or belongs, and whether it is known.
func (t *printTable) slot(off uint32) (s *printSlot, known bool) {
	mask, key := uint32(len(t.slots)-1), t.gen|uint64(off)
	for i := off >> printShift & mask; ; i = (i + 1) & mask {
		if s = &t.slots[i]; s.key == key {
			return s, true
		} else if s.key < t.gen {
			return s, false
		}
	}
}

// put fills the free slot s, in which off belongs. Slots are good until then.
func (t *printTable) put(s *printSlot, off uint32, fp Fingerprint) {
	*s = printSlot{t.gen | uint64(off), fp}
	if t.used++; t.used*3 <= len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]printSlot, 2*len(old))
	for i := range old {
		if s := &old[i]; s.key >= t.gen {
			free, _ := t.slot(uint32(s.key))
			*free = *s
		}
	}
}
