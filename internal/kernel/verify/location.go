package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// locations says how many values a LOC_PARAM has, by its flags without SIGNED. Other flags are not
// allowed.
var locations = map[uint32]struct{ least, most uint32 }{
	btf.LocConst:                              {1, 2},
	btf.LocConst | btf.LocAddr:                {1, 2},
	btf.LocReg:                                {1, 2},
	btf.LocReg | btf.LocDeref:                 {1, 1},
	btf.LocReg | btf.LocOffset:                {2, 3},
	btf.LocReg | btf.LocOffset | btf.LocDeref: {2, 3},
}

// locParamForm checks a LOC_PARAM like btf_loc_param_check_meta.
func (c *checker) locParamForm(i uint32) {
	t := &c.b.Types[i]
	if t.SizeOrType == 0 || t.SizeOrType > 16 {
		c.report(Boot, i, "location-size", "the size is %s, but must be 1 to 16",
			message.Count(t.SizeOrType, "byte"))
	}
	flags := t.Extra
	if flags&(btf.LocConst|btf.LocOffset) != 0 {
		flags &^= btf.LocSigned
	}
	may, ok := locations[flags]
	switch {
	case !ok:
		c.report(Boot, i, "location-flags", "the flags %#x don't say where a parameter is", t.Extra)
		return
	case flags&btf.LocConst != 0 && t.SizeOrType > 8:
		c.report(Boot, i, "location-size", "a constant of %s, but 8 is the maximum",
			message.Count(t.SizeOrType, "byte"))
		return
	case flags&btf.LocConst != 0 && t.SizeOrType > 4:
		may.least = 2
	}
	if t.Vlen < may.least || t.Vlen > may.most {
		want := fmt.Sprint(may.least)
		if may.most != may.least {
			want += fmt.Sprint(" or ", may.most)
		}
		c.report(Boot, i, "location-values", "it has %s, but flags %#x and size %d need %s",
			message.Count(t.Vlen, "value"), t.Extra, t.SizeOrType, want)
	}
}

// locsecForm checks a LOCSEC like btf_locsec_check_meta, and the order of its sites.
// Rule: verify: sites of inlined functions (LOC_PARAM, LOC_PROTO, LOCSEC). Source: kernel
// btf_loc_param_check_meta, btf_locsec_check_meta, btf_loc_proto_resolve, btf_locsec_resolve.
func (c *checker) locsecForm(i uint32) {
	sites := c.b.SitesOf(&c.b.Types[i])
	for n, s := range sites {
		c.idForm(i, s.Func, fmt.Sprintf("the function of site %d is", n), false)
		c.idForm(i, s.LocProto, fmt.Sprintf("the LOC_PROTO of site %d is", n), false)
	}
	for n := 1; n < len(sites) && c.opts.Sorted; n++ {
		if sites[n].Compare(sites[n-1]) < 0 {
			c.report(Order, i, "site-order", "site %d sorts before the one before it; sites are sorted "+
				"by function id, offset and LOC_PROTO", n)
			break
		}
	}
}

func (r *resolver) locProto(id uint32, t *btf.Type) step {
	if t.SizeOrType != 0 {
		return r.report(id, "size-unexpected", "the size is %d, but must be 0 for a LOC_PROTO",
			t.SizeOrType)
	}
	for n, param := range r.b.WordsOf(t) {
		switch k, ok := r.kind(param); {
		case !ok:
			return r.report(id, "type-id", "parameter %d is type id %d, which does not exist", n, param)
		case param != 0 && k != btf.KindLocParam:
			return r.report(id, "location-param", "parameter %d is [%d], a %v, not a LOC_PARAM", n, param,
				k)
		}
	}
	return r.pop(0, 0)
}

// locsec checks the sites, starting at v.next.
func (r *resolver) locsec(v *vertex, t *btf.Type) step {
	if t.SizeOrType != 0 {
		return r.report(v.id, "size-unexpected", "the size is %d, but must be 0 for a LOCSEC",
			t.SizeOrType)
	}
	r.mode = undecided
	sites := r.b.SitesOf(t)
	for ; v.next < uint32(len(sites)); v.next++ {
		s := sites[v.next]
		f, _ := r.b.ByID(s.Func)
		if f == nil || f.Kind != btf.KindFunc {
			return r.report(v.id, "site-func", "site %d: [%d] is not a FUNC", v.next, s.Func)
		}
		if s := r.need(v.id, s.Func); s != done {
			return s
		}
		at, _ := r.b.ByID(s.LocProto)
		if at == nil || at.Kind != btf.KindLocProto {
			return r.report(v.id, "site-proto", "site %d: [%d] is not a LOC_PROTO", v.next, s.LocProto)
		}
		if s := r.need(v.id, s.LocProto); s != done {
			return s
		}
		if proto, _ := r.b.ByID(f.SizeOrType); proto != nil && proto.Vlen != at.Vlen {
			return r.report(v.id, "site-params", "site %d: %s has %s, but [%d] locates %d", v.next,
				r.b.TypeName(f), message.Count(proto.Vlen, "parameter"), s.LocProto, at.Vlen)
		}
	}
	return r.pop(0, 0)
}
