package minimal

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// marks says which types and members of a blob are kept.
type marks struct {
	*core.BTF
	base    *marks // nil for vmlinux
	types   []bool // by index in Types
	members []bool // by index in Members
	any     bool
	// named has the modules of the functions and typedefs that programs name with their module.
	named map[uint32]string
	done  [4][]bool // by index in Types: what mark and whole have done
}

// The indexes of marks.done: what the methods mark and whole do with a type and the types that it
// refers to.
const (
	doneShallow = iota
	doneDeep
	doneWhole
	donePointed
)

func newMarks(b *core.BTF, base *marks) *marks {
	m := &marks{BTF: b, base: base, types: make([]bool, len(b.Types)),
		members: make([]bool, len(b.Members)), named: map[uint32]string{}}
	for i := range m.done {
		m.done[i] = make([]bool, len(b.Types))
	}
	return m
}

// owner returns the marks of the blob that has the type with this id. This blob may be a base. For
// void, owner returns nil.
func (m *marks) owner(id uint32) *marks {
	for ; m != nil && id < m.StartID; m = m.base {
	}
	if m == nil || id == 0 {
		return nil
	}
	return m
}

// add keeps a type, and returns this type and the marks of its blob. For void, both results are
// nil.
func (m *marks) add(id uint32) (*btf.Type, *marks) {
	own := m.owner(id)
	if own == nil {
		return nil, nil
	}
	own.types[id-own.StartID], own.any = true, true
	return &own.Types[id-own.StartID], own
}

// first reports whether this is the first call for this step (such as doneDeep) and this type.
func (m *marks) first(what int, id uint32) bool {
	before := m.done[what][id-m.StartID]
	m.done[what][id-m.StartID] = true
	return !before
}

// shallow keeps a type and the types on which its size depends: those under modifiers, and the
// elements of arrays, but not what pointers lead to (btfgen_mark_type without follow_pointers).
func (m *marks) shallow(id uint32) { m.mark(id, doneShallow) }

// deep keeps a type and all types that it refers to, but no members of structs (btfgen_mark_type).
func (m *marks) deep(id uint32) { m.mark(id, doneDeep) }

// mark does the work of shallow and deep. The parameter how is doneShallow or doneDeep.
func (m *marks) mark(id uint32, how int) {
	for todo := []uint32{id}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t, own := m.add(id)
		if t == nil || !own.first(how, id) || t.Kind.IsComposite() ||
			t.Kind == btf.KindPtr && how == doneShallow {
			continue
		}
		for ref := range own.Blob.Refs(t) {
			todo = append(todo, *ref)
		}
	}
}

// member keeps a member of a struct or union.
func (m *marks) member(id, index uint32) {
	t, own := m.add(id)
	own.members[t.First+index] = true
}

// field keeps the members on the way to a field.
func (m *marks) field(s *core.Spec) {
	m.shallow(s.Root)
	id := s.Root
	for _, index := range s.Path[1:] {
		at, t, of := s.BTF.Skip(id)
		if t.Kind == btf.KindArray {
			id = of.ArrayOf(t).Elem
			continue
		}
		m.member(at, index)
		id = of.MembersOf(t)[index].Type
		m.shallow(id)
	}
}

// longChain reports whether a type begins a chain of more modifiers and typedefs than BTF may have.
// Relocations look only at the ends of such chains.
func (m *marks) longChain(t *btf.Type) bool {
	n := 0
	for ; t != nil && t.Kind.IsModifier() && n <= btf.MaxModifiers; n++ {
		t, _ = m.ByID(t.SizeOrType)
	}
	return n > btf.MaxModifiers
}

// whole keeps a type with all members and the types that it refers to, but no members of structs
// that pointers lead to (btfgen_mark_type_match).
func (m *marks) whole(root uint32) {
	type visit struct {
		id      uint32
		pointed bool
	}
	for todo := []visit{{root, false}}; len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t, own := m.add(v.id)
		how := doneWhole
		if v.pointed {
			how = donePointed
		}
		if t == nil || !own.first(how, v.id) {
			continue
		}
		pointed := v.pointed || t.Kind == btf.KindPtr
		switch {
		case t.Kind.IsComposite() && pointed:
			continue
		case t.Kind.IsComposite():
			for i := range t.Vlen {
				own.members[t.First+i] = true
			}
		case t.Kind == btf.KindArray, t.Kind == btf.KindFuncProto:
			pointed = false
		}
		for ref := range own.Blob.Refs(t) {
			todo = append(todo, visit{*ref, pointed})
		}
	}
}

// spec keeps the types and members that a relocation has found.
// Rule: minimal BTF: what it keeps. Source: bpftool gen.c btfgen_record_field_relo,
// btfgen_record_type_relo, btfgen_record_type_match_relo, btfgen_record_enumval_relo.
func (m *marks) spec(s *core.Spec) {
	switch {
	case s.Kind == core.TypeMatches:
		m.whole(s.Root)
	case s.Kind.IsType():
		m.deep(s.Root)
	case s.Kind.IsEnumval():
		m.shallow(s.Root)
	default:
		m.field(s)
	}
}
