package dwarf

// printTable holds the fingerprints of a unit's types by offset. Forgetting them costs nothing.
type printTable struct {
	slots []printSlot
	used  int
	gen   uint32
}

type printSlot struct {
	off, gen uint32
	fp       Fingerprint
}

func (t *printTable) reset() {
	if t.slots == nil {
		t.slots = make([]printSlot, 1<<6)
	}
	t.used = 0
	if t.gen++; t.gen == 0 {
		clear(t.slots)
		t.gen = 1
	}
}

// at returns the slot where off is, or belongs.
func (t *printTable) at(off uint32) *printSlot {
	mask := uint32(len(t.slots) - 1)
	for i := off >> 3 & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.off == off || s.gen != t.gen {
			return s
		}
	}
}

// holds tells whether the slot that at returned holds off.
func (t *printTable) holds(s *printSlot, off uint32) bool { return s.off == off && s.gen == t.gen }

func (t *printTable) set(off uint32, fp Fingerprint) {
	s := t.at(off)
	if t.holds(s, off) {
		s.fp = fp
		return
	}
	*s = printSlot{off, t.gen, fp}
	if t.used++; t.used*3 <= len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]printSlot, 2*len(old))
	for i := range old {
		if s := &old[i]; s.gen == t.gen {
			*t.at(s.off) = *s
		}
	}
}
