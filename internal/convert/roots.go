package convert

import (
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// root is a type that was understood once.
type root struct {
	fp   dwarf.Fingerprint
	id   types.ID // 0: nothing is encoded for it
	stub types.ID // for the definition of a tag
}

// rootTable finds roots by their fingerprint.
type rootTable struct {
	slots []root
	used  int
}

func newRootTable() rootTable { return rootTable{slots: make([]root, 1<<12)} }

// at returns the place of fp; its id is 0 when it is free. The place is good until the next call.
func (t *rootTable) at(fp dwarf.Fingerprint) *root {
	if t.used*2 >= len(t.slots) {
		t.grow()
	}
	r := t.find(fp)
	if r.id == 0 {
		t.used++ // an upper bound: the caller may leave the place free
	}
	return r
}

func (t *rootTable) find(fp dwarf.Fingerprint) *root {
	mask := uint64(len(t.slots) - 1)
	for i := fp.A & mask; ; i = (i + 1) & mask {
		if r := &t.slots[i]; r.id == 0 || r.fp == fp {
			return r
		}
	}
}

func (t *rootTable) grow() {
	old := t.slots
	t.used = 0
	for i := range old {
		if old[i].id != 0 {
			t.used++
		}
	}
	if t.used*4 >= len(old) {
		t.slots = make([]root, 2*len(old))
	} else {
		t.slots = make([]root, len(old))
	}
	for i := range old {
		if old[i].id != 0 {
			*t.find(old[i].fp) = old[i]
		}
	}
}
