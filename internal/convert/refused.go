package convert

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/types"
)

// What is here keeps types out of the graph that the kernel refuses (kernel/bpf/btf.c, the
// check_meta and resolve functions of each kind) and that no C compiler writes. They are looked for
// when a type is added to the graph, which is once for each content.

// maxModifiers is how many typedefs, qualifiers and type tags the kernel follows in a row
// (btf_check_modifier_chain_length).
const maxModifiers = 32

// skipModifiers returns the type that typedefs, qualifiers and type tags lead to from id, and how
// many these are, up to one more than maxModifiers.
func skipModifiers(g *types.Graph, id types.ID) (to types.ID, n int) {
	for ; n <= maxModifiers; n++ {
		switch g.Nodes[id].Kind {
		case types.KindTypedef, types.KindConst, types.KindVolatile, types.KindRestrict,
			types.KindTypeTag:
			id = g.Nodes[id].Ref
		default:
			return id, n
		}
	}
	return id, n
}

// checkModifiers refuses a modifier, the entry at off, that refers to ref.
func (u *unit) checkModifiers(off uint32, ref types.ID) error {
	if _, n := skipModifiers(u.c.g, ref); n >= maxModifiers {
		return u.unencodable(off, "a chain of more than %d typedefs and qualifiers", maxModifiers)
	}
	return nil
}

// checkSized refuses a type without a size, where what says what has it; off is the entry with the
// reference. A struct that is only declared may be defined in other units.
func (u *unit) checkSized(off uint32, what string, id types.ID) error {
	to, _ := skipModifiers(u.c.g, id)
	switch u.c.g.Nodes[to].Kind {
	case types.KindVoid:
		return u.unencodable(off, "%s of type void", what)
	case types.KindFuncProto:
		return u.unencodable(off, "%s of a function type", what)
	}
	return nil
}

// checkMember refuses a member of d of the type id.
func (u *unit) checkMember(d *desc, m *elem, id types.ID) error {
	if err := u.checkSized(m.die, "a member", id); err != nil {
		return err
	}
	if !d.flag || m.val>>24 == 0 {
		return nil
	}
	bits := uint32(m.val >> 24)
	to, _ := skipModifiers(u.c.g, id)
	n := &u.c.g.Nodes[to]
	most, of := uint32(0), ""
	switch {
	case n.Kind == types.KindInt:
		most, of = n.Aux&0xff, fmt.Sprintf(" of an integer of %d", n.Aux&0xff)
	case types.TagOf(n.Kind) == types.TagEnum,
		n.Kind == types.KindStub && types.Tag(n.Aux) == types.TagEnum:
		return nil
	}
	if bits > most {
		return u.unencodable(m.die, "a bit-field of %d bits%s", bits, of)
	}
	return nil
}
