package locsec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Separate is the inverse of Join. It returns split BTF with the sites in b, on a base with the
// other types. In both, the types are sorted by name. Types with the same name keep their order.
//
// The sites, their LOC_PROTOs and LOC_PARAMs are in the split BTF. So are the functions and
// prototypes to which they lead, except those that the base needs. Types of all other kinds are in
// the base. So are the functions for whose names outlined returns true. These are the rules of
// resolve_btfids (color_btf in tools/bpf/resolve_btfids/main.c of Linux 7.4).
// Rule: sites of inlined functions: in a separate file. Source: resolve_btfids of Linux 7.4,
// color_btf, keep_in_base_btf.
func Separate(b *btf.Blob, outlined func(name string) bool) (*btf.Blob, error) {
	s := separator{from: b, marks: make([]mark, len(b.Types))}
	if err := s.check(); err != nil {
		return nil, err
	}
	for i := range b.Types {
		if b.Types[i].Kind.IsLocation() {
			s.reach(i, forSites)
		}
	}
	for i := range b.Types {
		if s.marks[i]&forSites == 0 || s.stays(&b.Types[i], outlined) {
			s.reach(i, forBase)
		}
	}
	base, sites := s.lists()
	ids := make([]uint32, len(b.Types)) // the new ids
	for n, list := range [][]int{base, sites} {
		for i, at := range list {
			ids[at] = b.StartID + uint32(n*len(base)+i)
		}
	}
	ref := func(id uint32) uint32 {
		if id < b.StartID {
			return id
		}
		return ids[id-b.StartID]
	}
	below := write(b, b.Base, base, ref)
	below.Header = b.Header
	return write(b, below, sites, ref), nil
}

// Move puts split BTF from Separate on a different base. For the id of a type in the old base, ref
// returns its id in the new base.
func Move(split, base *btf.Blob, ref func(uint32) uint32) *btf.Blob {
	list := make([]int, len(split.Types))
	for i := range list {
		list[i] = i
	}
	return write(split, base, list, func(id uint32) uint32 {
		if id < split.StartID {
			return ref(id)
		}
		return id - split.StartID + base.EndID()
	})
}

// mark says what needs a type: the sites, the types of the base, or both.
type mark uint8

const (
	forSites mark = 1 << iota
	forBase
)

type separator struct {
	from  *btf.Blob
	marks []mark // by index in from.Types
	work  []int
}

// check checks that all ids and names exist, and that the names aren't too long together.
func (s *separator) check() error {
	for i := range s.from.Types {
		t := &s.from.Types[i]
		for id := range s.from.Refs(t) {
			if *id >= s.from.EndID() {
				return fmt.Errorf("BTF type [%d] %v refers to [%d], but the last type is [%d]",
					s.from.StartID+uint32(i), t.Kind, *id, s.from.EndID()-1)
			}
		}
	}
	return s.from.CheckNames()
}

// reach marks a type and all types to which it leads.
func (s *separator) reach(i int, m mark) {
	add := func(i int) {
		if s.marks[i]&m == 0 {
			s.marks[i] |= m
			s.work = append(s.work, i)
		}
	}
	for add(i); len(s.work) > 0; {
		t := &s.from.Types[s.work[len(s.work)-1]]
		s.work = s.work[:len(s.work)-1]
		for id := range s.from.Refs(t) {
			if *id >= s.from.StartID {
				add(int(*id - s.from.StartID))
			}
		}
	}
}

// stays reports whether a type to which sites lead stays in the base even if no other type in the
// base needs it.
func (s *separator) stays(t *btf.Type, outlined func(name string) bool) bool {
	switch {
	case t.Kind == btf.KindFunc:
		return outlined(s.from.TypeName(t))
	case t.Kind == btf.KindFuncProto || t.Kind.IsLocation():
		return false
	}
	return true
}

// lists returns the types of the base and those of the split BTF, as indexes in from.Types, sorted
// by name.
func (s *separator) lists() (base, sites []int) {
	names := make([]string, len(s.from.Types))
	for i := range names {
		names[i] = s.from.TypeName(&s.from.Types[i])
		if s.marks[i]&forBase != 0 {
			base = append(base, i)
		} else {
			sites = append(sites, i)
		}
	}
	byName := func(i, k int) int { return cmp.Compare(names[i], names[k]) }
	slices.SortStableFunc(base, byName)
	slices.SortStableFunc(sites, byName)
	return base, sites
}

// write returns BTF with the listed types of from, on a base that may be nil.
func write(from, base *btf.Blob, list []int, ref func(uint32) uint32) *btf.Blob {
	w := btf.NewBuilder(from.Order, base, nil)
	offsets := map[uint32]uint32{}
	var names []string
	for _, i := range list {
		for off := range from.Names(&from.Types[i]) {
			if _, ok := offsets[off]; !ok {
				offsets[off] = 0
				name, _ := from.Name(off)
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w.Name(name)
	}
	for off := range offsets {
		name, _ := from.Name(off)
		offsets[off] = w.Name(name)
	}
	for _, i := range list {
		w.Blob.Copy(from, &from.Types[i], func(off uint32) uint32 { return offsets[off] }, ref)
	}
	w.Blob.SortSites()
	return w.Finish()
}
