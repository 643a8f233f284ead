package convert

import (
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// root is a type that was understood once, as the environment of a unit holds it.
type root struct {
	id   types.ID // 0: nothing is encoded for it
	stub types.ID // for the definition of a tag
}

// byPrint remembers values by the fingerprints of entries.
type byPrint[T any] struct {
	slots []printed[T]
	used  int
}

type printed[T any] struct {
	fp  dwarf.Fingerprint // zero: free
	val T
}

func newByPrint[T any]() byPrint[T] { return byPrint[T]{slots: make([]printed[T], 1<<12)} }

// get returns the value of fp, nil if it has none. The pointer is good until the next put.
func (t *byPrint[T]) get(fp dwarf.Fingerprint) *T {
	if s := t.place(fp); s.fp == fp && fp != (dwarf.Fingerprint{}) {
		return &s.val
	}
	return nil
}

// put sets the value of fp.
func (t *byPrint[T]) put(fp dwarf.Fingerprint, val T) {
	s := t.place(fp)
	if s.fp == fp || fp == (dwarf.Fingerprint{}) {
		s.val = val
		return
	}
	*s = printed[T]{fp, val}
	if t.used++; t.used*4 <= len(t.slots)*3 {
		return
	}
	old := t.slots
	t.slots = make([]printed[T], 2*len(old))
	for i := range old {
		if old[i].fp != (dwarf.Fingerprint{}) {
			*t.place(old[i].fp) = old[i]
		}
	}
}

// place is where fp is or belongs.
func (t *byPrint[T]) place(fp dwarf.Fingerprint) *printed[T] {
	mask := uint64(len(t.slots) - 1)
	for i := fp.A & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.fp == fp || s.fp == (dwarf.Fingerprint{}) {
			return s
		}
	}
}
