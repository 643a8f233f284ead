package split

import "github.com/rules-btf/rules_btf/internal/dwarf"

// numberTable holds numbers by fingerprints: a hash table with open addressing.
type numberTable struct {
	slots []numbered // a power of two
	used  int
}

// numbered is a slot; one whose number is zero is free.
type numbered struct {
	fp     dwarf.Fingerprint
	number uint32 // + 1
}

// numberOf returns the number of a fingerprint, which is next if it had none.
func (t *numberTable) numberOf(fp dwarf.Fingerprint, next uint32) uint32 {
	if 2*t.used >= len(t.slots) {
		t.grow()
	}
	s := t.slot(fp)
	if s.number == 0 {
		*s = numbered{fp, next + 1}
		t.used++
	}
	return s.number - 1
}

func (t *numberTable) slot(fp dwarf.Fingerprint) *numbered {
	for i := int(fp.A); ; i++ {
		if s := &t.slots[i&(len(t.slots)-1)]; s.fp == fp || s.number == 0 {
			return s
		}
	}
}

func (t *numberTable) grow() {
	old := t.slots
	t.slots = make([]numbered, max(1<<12, 2*len(old)))
	for _, s := range old {
		if s.number != 0 {
			*t.slot(s.fp) = s
		}
	}
}
