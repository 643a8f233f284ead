package core

import "github.com/rules-btf/rules_btf/internal/format/btf"

// place is a type in the BTF of a kernel.
type place struct {
	in *BTF
	id uint32
}

// field is a member with a name. It may be inside anonymous members of the struct or union in which
// we search.
type field struct {
	path  []uint32 // the indexes of these anonymous members
	in    uint32   // the struct or union that has the field
	index uint32   // of the member in that struct or union
	typ   uint32
	bit   uint32 // offset in the struct or union in which we search
	// levels is the length of the longest path that a search tries before it finds the field.
	levels int
}

// fields has, by name, what bpf_core_match_member finds in a struct or union: the first member with
// that name, in a search that goes into anonymous members.
type fields struct {
	byName map[string]field
	levels int // the length of the longest path that a search tries if it finds nothing
}

// fieldsOf returns the fields of a struct or union. It searches only the first time.
func (k *Index) fieldsOf(b *BTF, id uint32, work *budget) (*fields, error) {
	at := place{b, id}
	if f := k.fields[at]; f != nil {
		return f, work.spend(1)
	}
	s := fieldSearch{b: b, fields: &fields{byName: map[string]field{}}, depths: map[uint32]int{}}
	s.search(id, nil, 0)
	if k.fields == nil {
		k.fields = map[place]*fields{}
	}
	k.fields[at] = s.fields
	k.work += s.work
	return s.fields, work.spend(s.work)
}

type fieldSearch struct {
	b *BTF
	*fields
	// depths has, by type, the depth at which the type was last searched. Another search at the same
	// or a smaller depth finds nothing new.
	depths map[uint32]int
	work   int
}

func (s *fieldSearch) search(id uint32, path []uint32, bit uint32) {
	id, t, of := s.b.Skip(id)
	if depth, met := s.depths[id]; !kindOf(t).IsComposite() || met && depth >= len(path) {
		return
	}
	s.depths[id] = len(path)
	for i, m := range of.MembersOf(t) {
		s.work++
		s.levels = max(s.levels, len(path)+1)
		if s.levels > MaxPath {
			return
		}
		offset, _ := m.Bits(t.KFlag)
		name, _ := s.b.Name(m.NameOff)
		if _, found := s.byName[name]; name == "" {
			s.search(m.Type, append(path[:len(path):len(path)], uint32(i)), bit+offset)
		} else if !found {
			s.byName[name] = field{path, id, uint32(i), m.Type, bit + offset, s.levels}
		}
	}
}

// elementsOf returns, by name without flavor, the indexes of a type's own members or enumerators,
// in order. It searches only the first time.
func (k *Index) elementsOf(b *BTF, id uint32, t *btf.Type, of *btf.Blob) map[string][]uint32 {
	at := place{b, id}
	if list := k.elements[at]; list != nil {
		return list
	}
	list := map[string][]uint32{}
	add := func(offset uint32, i int) {
		name, _ := b.Name(offset)
		name = Essential(name)
		list[name] = append(list[name], uint32(i))
	}
	if t.Kind.IsEnum() {
		for i, e := range of.EnumsOf(t) {
			add(e.NameOff, i)
		}
	} else {
		for i, m := range of.MembersOf(t) {
			add(m.NameOff, i)
		}
	}
	if k.elements == nil {
		k.elements = map[place]map[string][]uint32{}
	}
	k.elements[at] = list
	k.work += int(t.Vlen)
	return list
}
