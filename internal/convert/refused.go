package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// The functions in this file refuse types that the kernel refuses (kernel/bpf/btf.c, the functions
// check_meta and resolve of each kind) and that no C compiler writes. A type is checked when it is
// added to the graph, so repeated types are checked once.
// Rule: types that the kernel refuses. grammar_test.go tests them. Source: kernel
// btf_struct_check_meta, btf_array_check_meta.

// checkModifiers refuses the type at offset off if it starts a chain of more than btf.MaxModifiers
// modifiers. Such a type is a modifier itself, or has type tags. ref is the first of these tags. If
// there are none, ref is the type that the DIE at off refers to.
// Rule: longest chain of modifiers. In DWARF.
func (u *unit) checkModifiers(off uint32, d *desc, ref types.ID) error {
	modifier := btf.Kind(d.kind).IsModifier()
	if !modifier && len(d.tags) == 0 {
		return nil
	}
	_, n := u.c.store.g.SkipModifiers(ref)
	if modifier {
		n++
	}
	if n > btf.MaxModifiers {
		return u.unencodable(off, "a chain of more than %d typedefs and qualifiers", btf.MaxModifiers)
	}
	return nil
}

// checkSized refuses a type without a size. It accepts a struct that is only declared, because
// other units may define it. The parameter what names the element that has the type; off is the
// entry that refers to the type.
func (u *unit) checkSized(off uint32, what string, id types.ID) error {
	switch u.c.store.g.Nodes[id].Kind {
	case types.KindInt, types.KindPtr, types.KindStruct:
		return nil // as in most cases
	}
	to, _ := u.c.store.g.SkipModifiers(id)
	switch u.c.store.g.Nodes[to].Kind {
	case types.KindVoid:
		return u.unencodable(off, "%s of type void", what)
	case types.KindFuncProto:
		return u.unencodable(off, "%s of a function type", what)
	}
	return nil
}

func (u *unit) checkMember(d *desc, m *elem, id types.ID) error {
	if err := u.checkSized(m.die, "a member", id); err != nil {
		return err
	}
	if !d.flag || m.val>>24 == 0 {
		return nil
	}
	bits := uint32(m.val >> 24)
	to, _ := u.c.store.g.SkipModifiers(id)
	n := &u.c.store.g.Nodes[to]
	switch {
	case n.Kind == types.KindInt:
		if most := n.Aux & 0xff; bits > most {
			return u.unencodable(m.die, "a bitfield of %d bits in an integer of %d bits", bits, most)
		}
	case types.TagOf(n.Kind) == types.TagEnum,
		n.Kind == types.KindStub && types.Tag(n.Aux) == types.TagEnum:
	default:
		return u.unencodable(m.die, "a bitfield that is neither an integer nor an enum")
	}
	return nil
}
