package cheader

import "github.com/rules-btf/rules_btf/internal/format/btf"

// order queues the types that must be written before a type can be used. Then it queues the type
// itself, if the type is defined in a separate statement: a tagged type, a typedef, or an enum that
// nothing refers to.
//
// If the parameter viaPointer is set, a declaration of a struct is enough, unless the struct has no
// tag and so is written in place with its members. The result strong is set if the definition is
// queued or written, not only a forward declaration. A typedef of a type that is only declared is
// queued later, by the first type that needs the typedef's definition.
// Rule: C header: which type must come before which. Source: libbpf btf_dump.c btf_dump_order_type.
func (g *generator) order(id uint32, viaPointer bool) (strong bool) {
	if g.state[id]&ordered != 0 {
		return true
	}
	if !g.enter(id) {
		return false
	}
	defer g.leave()
	t, o := g.blob.ByID(id)
	tagged := t.Kind.IsComposite() && t.NameOff != 0
	if g.state[id]&ordering != 0 {
		if !tagged || !viaPointer {
			g.fail(id, "it contains itself, which C doesn't allow")
		}
		return false
	}
	if tagged && viaPointer {
		return false
	}
	switch t.Kind {
	case btf.KindInt, btf.KindFloat, btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag,
		btf.KindLocParam, btf.KindLocProto, btf.KindLocsec:
		g.state[id] |= ordered
		return false
	case btf.KindPtr:
		strong = g.order(t.SizeOrType, true)
		g.state[id] |= ordered
		return strong
	case btf.KindArray:
		return g.order(o.ArrayOf(t).Elem, false)
	case btf.KindFuncProto:
		strong = g.order(t.SizeOrType, viaPointer)
		for _, p := range o.ParamsOf(t) {
			strong = g.order(p.Type, viaPointer) || strong
		}
		return strong
	case btf.KindTypedef:
		if strong = g.order(t.SizeOrType, viaPointer); viaPointer && !strong {
			return false
		}
	case btf.KindStruct, btf.KindUnion:
		g.state[id] |= ordering
		if !g.layouts.shape(id).opaque() { // else the members are not written
			for _, m := range o.MembersOf(t) {
				g.order(m.Type, false)
			}
		}
		g.state[id] &^= ordering
	case btf.KindEnum, btf.KindEnum64, btf.KindFwd:
		tagged = t.NameOff != 0 || g.state[id]&referenced == 0
	default: // modifiers
		return g.order(t.SizeOrType, viaPointer)
	}
	if tagged || t.Kind == btf.KindTypedef {
		g.queue = append(g.queue, id)
	}
	g.state[id] |= ordered
	return true
}
