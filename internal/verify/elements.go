package verify

import "github.com/rules-btf/rules_btf/internal/btf"

// composite judges the members from v.next on.
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

// datasec judges the entries from v.next on.
func (r *resolver) datasec(v *vertex, t *btf.Type) step {
	r.mode = undecided
	entries := r.b.SecinfosOf(t)
	for ; v.next < uint32(len(entries)); v.next++ {
		e := entries[v.next]
		k, ok := r.kind(e.Type)
		if !ok {
			return r.report(v.id, "type-id", "entry %d has type id %d, which does not exist", v.next, e.Type)
		}
		if k != btf.KindVar {
			return r.report(v.id, "datasec-entry", "entry %d is [%d], a %v, not a VAR", v.next, e.Type, k)
		}
		if s := r.need(v.id, e.Type); s != done {
			return s
		}
		variable, _ := r.b.ByID(e.Type)
		_, size, ok := r.sized(variable.SizeOrType)
		if !ok {
			return r.report(v.id, "datasec-entry", "entry %d (%s) has a type without size", v.next,
				r.b.TypeName(variable))
		}
		if e.Size < size {
			return r.report(v.id, "datasec-entry", "entry %d (%s) has size %d, its type %d", v.next,
				r.b.TypeName(variable), e.Size, size)
		}
	}
	return r.pop(0, 0)
}

func (r *resolver) function(id uint32, t *btf.Type) step {
	p, owner := r.b.ByID(t.SizeOrType)
	if p == nil {
		return r.report(id, "type-id", "its type id %d does not exist", t.SizeOrType)
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
		return r.report(id, "type-id", "it tags type id %d, which does not exist", t.SizeOrType)
	}
	switch to.Kind {
	case btf.KindFunc, btf.KindStruct, btf.KindUnion, btf.KindVar, btf.KindTypedef:
	default:
		return r.report(id, "tag-target",
			"it tags [%d], a %v; only structs, unions, functions, variables and typedefs have tags", t.SizeOrType, to.Kind)
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
		return r.report(id, "component-index", "it tags %s %d of [%d], which has %d", what, t.Extra,
			t.SizeOrType, n)
	}
	return r.pop(t.SizeOrType, 0)
}

// proto checks a function prototype; false if it is broken.
func (r *resolver) proto(id uint32) bool {
	t := &r.b.Types[id-r.b.StartID]
	if t.SizeOrType != 0 && !r.protoType(id, t.SizeOrType, "return type", -1) {
		return false
	}
	params := r.b.ParamsOf(t)
	for n, p := range params {
		if p.Type == 0 && n == len(params)-1 {
			if p.NameOff != 0 {
				r.report(id, "param-variadic", "the last parameter is variadic (type 0) and yet has a name")
				return false
			}
			break
		}
		if s, ok := r.c.name(Load, id-r.b.StartID, p.NameOff,
			func() string { return "name of parameter " + label("", n) }); !ok {
			return false
		} else if p.NameOff != 0 && !btf.ValidIdentifier([]byte(s)) {
			r.report(id, "name-invalid", "parameter %d: %s", n, badName(s, optional))
			return false
		}
		if !r.protoType(id, p.Type, "parameter", n) {
			return false
		}
	}
	return true
}

// protoType checks the type of a return value or of parameter n.
func (r *resolver) protoType(id, typ uint32, what string, n int) bool {
	if n >= 0 {
		what += " " + label("", n)
	}
	k, ok := r.kind(typ)
	if !ok {
		r.report(id, "type-id", "%s: type id %d does not exist", what, typ)
		return false
	}
	if sourceOnly(k) {
		r.report(id, "param-type", "%s: type [%d] is a %v", what, typ, k)
		return false
	}
	if needsResolve(k) && !r.resolve(typ) {
		return false
	}
	if _, _, ok := r.sized(typ); !ok {
		r.report(id, "param-type", "%s: type [%d] (%v) has no size", what, typ, k)
		return false
	}
	return true
}
