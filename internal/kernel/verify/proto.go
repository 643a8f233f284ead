package verify

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
		s, ok := r.name(Load, id-r.b.StartID, p.NameOff, "parameter number", n)
		if !ok {
			return false
		}
		if !optional.allow(p.NameOff, s) {
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
