package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/params"
)

// maxParameters is the number of parameters from which on a function is not judged. No compiler
// gets there.
const maxParameters = 1000

// parameters reads e's own formal parameters.
func (u *unit) parameters(e *dwarf.DIE, f *function, m params.Machine) ([]params.Param, error) {
	own, err := u.r.Function(e)
	if err != nil {
		return nil, err
	}
	list, origins, refs := u.c.params[:0], u.c.origins[:0], u.c.refs[:0]
	places := u.c.places[:0]
	for i := range own.Parameters {
		p := &own.Parameters[i]
		if p.Varying {
			continue
		}
		t, err := u.refTo(p.Off, p.Type)
		if err != nil {
			return nil, err
		}
		origin, err := u.refTo(p.Off, p.Origin)
		if err != nil {
			return nil, err
		}
		list = append(list, params.Param{HasLocation: p.Location.Class != dwarf.ClassNone,
			ConstValue: p.ConstValue, OriginIndex: params.NoOrigin})
		places, origins, refs = append(places, p), append(origins, origin), append(refs, t)
	}
	u.c.params, u.c.places, u.c.origins, u.c.refs = list, places, origins, refs
	if len(list) > maxParameters {
		return nil, nil
	}
	if err := u.completeParameters(e, list, origins, refs, f); err != nil {
		return nil, err
	}
	u.c.locations, u.c.expressions = u.c.locations[:0], u.c.expressions[:0]
	for i, p := range places {
		if err := u.locate(p, &list[i], m); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// locate reads the expressions of p's location into to, up to what they tell.
func (u *unit) locate(p *dwarf.Parameter, to *params.Param, m params.Machine) error {
	first := len(u.c.locations)
	err := u.r.Locations(p.Off, p.Location, func(expr []byte) bool {
		at := len(u.c.expressions)
		u.c.expressions = append(u.c.expressions, expr...)
		u.c.locations = append(u.c.locations,
			u.c.expressions[at:len(u.c.expressions):len(u.c.expressions)])
		return len(u.c.locations) > first+1 || !m.Settles(expr, to.Size)
	})
	to.Locations = u.c.locations[first:len(u.c.locations):len(u.c.locations)]
	return err
}

// completeParameters adds what only the types and the abstract origin's parameters tell.
func (u *unit) completeParameters(e *dwarf.DIE, list []params.Param, origins, refs []typeRef,
	f *function) error {
	index := 0
	p := f.proto.u
	if f.proto.off != e.Off || p != u {
		source, err := p.r.Function(f.protoDIE)
		if err != nil {
			return err
		}
		for i := range source.Parameters {
			if k := &source.Parameters[i]; !k.Varying {
				if err := p.matchOrigin(k, index, list, origins, refs); err != nil {
					return err
				}
				index++
			}
		}
	}
	for i, t := range refs {
		if err := t.classify(&list[i]); err != nil {
			return err
		}
		if f.nocall && list[i].Struct && u.c.opt.Features.Has(features.TrueSignature) {
			list[i].MemberAt = func(offset uint32) bool {
				at, _, err := t.memberAt(offset)
				return err == nil && at.u != nil
			}
		}
	}
	return nil
}

// matchOrigin notes for the parameters whose abstract origin k is that it is number index, and its
// type.
func (u *unit) matchOrigin(k *dwarf.Parameter, index int, list []params.Param, origins,
	refs []typeRef) error {
	for i := range origins {
		if origins[i].u != u || origins[i].off != k.Off {
			continue
		}
		list[i].OriginIndex = index
		if refs[i].u != nil {
			continue
		}
		var err error
		if refs[i], err = u.refTo(k.Off, k.Type); err != nil {
			return err
		}
	}
	return nil
}

// classify fills in what the parameter's type tells.
func (t typeRef) classify(p *params.Param) error {
	if t.u == nil {
		return nil
	}
	v := &t.u.memo.entries[t.u.memo.at(t.off)].value
	if !v.known {
		read, err := t.value()
		if err != nil {
			return err
		}
		*v = read
	}
	p.Size, p.Struct, p.PackedStruct = v.size, v.isStruct, v.packed
	return nil
}

// value reads what the type says of passing it.
func (t typeRef) value() (value, error) {
	v := value{known: true}
	e := &t.u.c.note
	t, err := t.peel(e)
	if err != nil || t.u == nil {
		return v, err
	}
	isStruct := e.Tag == std.TagStructType || e.Tag == std.TagClassType
	size, err := t.sizeOf(e, 0)
	if err != nil {
		return v, err
	}
	v.size = uint32(min(size, 1<<32-1))
	if isStruct {
		v.isStruct = true
		v.packed, err = t.packed()
	}
	return v, err
}

// packed tells whether the struct has a name, and a member at an offset that is no multiple of the
// natural alignment of its type.
func (t typeRef) packed() (bool, error) {
	var e, c dwarf.DIE
	if err := t.u.r.Read(t.off, &e); err != nil || !e.Has(dwarf.Name) {
		return false, err
	}
	kids := t.u.r.Children(&e, &c)
	for kids.Next() {
		if c.Tag != std.TagMember || !c.Constant(dwarf.MemberLocation) || c.Has(dwarf.BitSize) {
			continue
		}
		m, err := t.u.ref(&c, dwarf.Type)
		if err != nil {
			return false, err
		}
		align, err := m.alignment()
		if err != nil {
			return false, err
		}
		if c.Val[dwarf.MemberLocation]%align != 0 {
			return true, nil
		}
	}
	return false, kids.Err()
}

// alignment is the natural alignment of scalars and arrays of them; 1 for the rest.
func (t typeRef) alignment() (uint64, error) {
	var e dwarf.DIE
	for range maxChain {
		var err error
		if t, err = t.peel(&e); err != nil || t.u == nil {
			return 1, err
		}
		switch e.Tag {
		case std.TagBaseType, std.TagPointerType, std.TagEnumerationType:
			n, err := t.sizeOf(&e, 0)
			if n == 0 || n&(n-1) != 0 {
				n = 1
			}
			return n, err
		case std.TagArrayType:
			if t, err = t.u.ref(&e, dwarf.Type); err != nil {
				return 1, err
			}
			continue
		}
		break
	}
	return 1, nil
}
