package verify

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// look processes the top of the stack, like the resolve function for its kind in kernel/bpf/btf.c.
// Rule: verify: references between types. Source: kernel btf_check_all_types, btf_resolve.
func (r *resolver) look(v *vertex) step {
	t := &r.b.Types[v.id-r.b.StartID]
	switch t.Kind {
	case btf.KindArray:
		return r.array(v.id, r.b.ArrayOf(t))
	case btf.KindStruct, btf.KindUnion:
		return r.composite(v, t)
	case btf.KindDatasec:
		return r.datasec(v, t)
	case btf.KindFunc:
		return r.function(v.id, t)
	case btf.KindDeclTag:
		return r.declTag(v.id, t)
	case btf.KindLocProto:
		return r.locProto(v.id, t)
	case btf.KindLocsec:
		return r.locsec(v, t)
	}
	return r.reference(v.id, t)
}

// reference resolves pointers, modifiers and variables.
func (r *resolver) reference(id uint32, t *btf.Type) step {
	next := t.SizeOrType
	k, ok := r.kind(next)
	if !ok {
		return r.report(id, "type-id", "it refers to type id %d, which does not exist", next)
	}
	if sourceOnly(k) {
		return r.report(id, "type-kind", "it refers to [%d], a %v", next, k)
	}
	if s := r.need(id, next); s != done {
		return s
	}
	if k.IsModifier() && (t.Kind == btf.KindPtr || t.Kind == btf.KindVar) {
		// When the modifier was resolved in a struct, the descent stopped at a pointer; continue there.
		to := r.skipped(next)
		if tk, _ := r.kind(to); tk == btf.KindPtr {
			if s := r.need(id, to); s != done {
				return s
			}
		}
	}
	if target, _, ok := r.sized(next); ok {
		return r.pop(target, 0)
	}
	if t.Kind == btf.KindVar {
		return r.report(id, "var-type", "its type [%d] has no size", next)
	}
	target := r.skipped(next)
	tk, _ := r.kind(target)
	if tk != btf.KindVoid && tk != btf.KindFwd && tk != btf.KindFuncProto {
		return r.report(id, "type-kind", "it leads to [%d], a %v", target, tk)
	}
	return r.pop(target, 0)
}

func (r *resolver) array(id uint32, a btf.Array) step {
	for _, x := range [2]struct {
		id   uint32
		what string
	}{{a.Index, "index"}, {a.Elem, "element"}} {
		k, ok := r.kind(x.id)
		if !ok {
			return r.report(id, "type-id", "its %s type [%d] does not exist", x.what, x.id)
		}
		if sizeless(k) || sourceOnly(k) {
			return r.report(id, "array-"+x.what, "its %s type [%d] is a %v", x.what, x.id, k)
		}
		if s := r.need(id, x.id); s != done {
			return s
		}
		at, size, ok := r.sized(x.id)
		if !ok {
			return r.report(id, "array-"+x.what, "its %s type [%d] has no size", x.what, x.id)
		}
		t, _ := r.b.ByID(at)
		if x.what == "index" {
			if t.Kind != btf.KindInt || !regularInt(t) {
				return r.report(id, "array-index", "its index type [%d] is not a regular INT", x.id)
			}
			continue
		}
		if t.Kind == btf.KindInt && !regularInt(t) {
			return r.report(id, "array-element",
				"its element type [%d] is an INT of %s at offset %d, which is not a regular int", x.id,
				message.Count(t.Extra&0xff, "bit"), t.Extra>>16&0xff)
		}
		total := uint64(size) * uint64(a.Nelems)
		if total > 1<<32-1 {
			return r.report(id, "array-size", "%d elements of %d bytes exceed 4 GiB", a.Nelems, size)
		}
		return r.pop(at, uint32(total))
	}
	return failed
}

// composite checks the members, starting at v.next.
func (r *resolver) composite(v *vertex, t *btf.Type) step {
	members := r.b.MembersOf(t)
	for ; v.next < uint32(len(members)); v.next++ {
		m := &members[v.next]
		k, ok := r.kind(m.Type)
		name := func() string { s, _ := r.b.Name(m.NameOff); return label(s, int(v.next)) }
		if !ok {
			return r.report(v.id, "type-id", "member %s has type id %d, which does not exist", name(),
				m.Type)
		}
		if sizeless(k) || sourceOnly(k) {
			return r.report(v.id, "member-type", "member %s has type [%d], a %v", name(), m.Type, k)
		}
		if s := r.need(v.id, m.Type); s != done {
			return s
		}
		if rule, why := r.member(t, m); rule != "" {
			return r.report(v.id, rule, "member %s %s", name(), why)
		}
	}
	return r.pop(0, 0)
}

// datasec checks the entries, starting at v.next.
func (r *resolver) datasec(v *vertex, t *btf.Type) step {
	r.mode = undecided
	entries := r.b.SecinfosOf(t)
	for ; v.next < uint32(len(entries)); v.next++ {
		e := entries[v.next]
		k, ok := r.kind(e.Type)
		if !ok {
			return r.report(v.id, "type-id", "entry %d: type [%d] does not exist", v.next, e.Type)
		}
		if k != btf.KindVar {
			return r.report(v.id, "datasec-entry", "entry %d: type [%d] is a %v, not a VAR", v.next, e.Type,
				k)
		}
		if s := r.need(v.id, e.Type); s != done {
			return s
		}
		variable, _ := r.b.ByID(e.Type)
		_, size, ok := r.sized(variable.SizeOrType)
		if !ok {
			return r.report(v.id, "datasec-entry", "entry %d (%s) has a type without a size", v.next,
				r.b.TypeName(variable))
		}
		if e.Size < size {
			return r.report(v.id, "datasec-entry", "entry %d (%s) has size %d, but its type has size %d",
				v.next, r.b.TypeName(variable), e.Size, size)
		}
	}
	return r.pop(0, 0)
}

func (r *resolver) function(id uint32, t *btf.Type) step {
	p, owner := r.b.ByID(t.SizeOrType)
	if p == nil {
		return r.report(id, "type-id", "its type [%d] does not exist", t.SizeOrType)
	}
	if p.Kind != btf.KindFuncProto {
		return r.report(id, "func-type", "its type [%d] is a %v, not a FUNC_PROTO", t.SizeOrType, p.Kind)
	}
	for n, a := range owner.ParamsOf(p) {
		if a.NameOff == 0 && a.Type != 0 {
			return r.report(id, "param-name", "parameter %d of a function must have a name", n)
		}
	}
	return r.pop(t.SizeOrType, 0)
}

func (r *resolver) declTag(id uint32, t *btf.Type) step {
	to, owner := r.b.ByID(t.SizeOrType)
	if to == nil {
		return r.report(id, "type-id", "it tags [%d], which does not exist", t.SizeOrType)
	}
	switch to.Kind {
	case btf.KindFunc, btf.KindStruct, btf.KindUnion, btf.KindVar, btf.KindTypedef:
	default:
		return r.report(id, "tag-target",
			"it tags [%d], a %v; only structs, unions, functions, variables and typedefs have tags",
			t.SizeOrType, to.Kind)
	}
	if s := r.need(id, t.SizeOrType); s != done {
		return s
	}
	if t.Extra == btf.DeclTagWhole {
		return r.pop(t.SizeOrType, 0)
	}
	n, what := to.Vlen, "member"
	switch to.Kind {
	case btf.KindVar, btf.KindTypedef:
		return r.report(id, "component-index", "it tags component %d of a %v, which has none",
			int32(t.Extra), to.Kind)
	case btf.KindFunc:
		n, what = 0, "parameter"
		if p, _ := owner.ByID(to.SizeOrType); p != nil && p.Kind == btf.KindFuncProto {
			n = p.Vlen
		}
	}
	if t.Extra >= n {
		return r.report(id, "component-index", "it tags %s %d of [%d], which has only %d", what,
			t.Extra, t.SizeOrType, n)
	}
	return r.pop(t.SizeOrType, 0)
}
