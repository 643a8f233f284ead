package verify

func (r *resolver) proto(id uint32) step {
	t := &r.b.Types[id-r.b.StartID]
	if t.SizeOrType != 0 && r.protoType(id, t.SizeOrType, "return type", -1) == failed {
		return failed
	}
	params := r.b.ParamsOf(t)
	for n, p := range params {
		if p.Type == 0 && n == len(params)-1 {
			if p.NameOff != 0 {
				return r.report(id, "param-variadic",
					"the last parameter is variadic (type 0), but has a name")
			}
			break
		}
		s, ok := r.name(Load, id-r.b.StartID, p.NameOff, "parameter number", n)
		if !ok {
			return failed
		}
		if !optional.allow(p.NameOff, s) {
			return r.report(id, "name-invalid", "parameter %d: %s", n, badName(s, optional))
		}
		if r.protoType(id, p.Type, "parameter", n) == failed {
			return failed
		}
	}
	return done
}

// protoType checks the type of parameter n, or the return type if n is negative.
func (r *resolver) protoType(id, typ uint32, what string, n int) step {
	if n >= 0 {
		what += " " + label("", n)
	}
	k, ok := r.kind(typ)
	if !ok {
		return r.report(id, "type-id", "%s: type id %d does not exist", what, typ)
	}
	if sourceOnly(k) {
		return r.report(id, "param-type", "%s: type [%d] is a %v", what, typ, k)
	}
	if needsResolve(k) && !r.resolve(typ) {
		return failed
	}
	if _, _, ok := r.sized(typ); !ok {
		return r.report(id, "param-type", "%s: type [%d] (%v) has no size", what, typ, k)
	}
	return done
}
