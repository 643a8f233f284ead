package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// maxParameters bounds the number of parameters in a function to judge. No compiler writes more.
const maxParameters = 1000

// parameters are the parameters of the function that is being judged.
type parameters struct {
	list        []params.Param
	entries     []parameter // the entries of the parameters in list
	locations   [][]byte    // the parameters' locations, which are slices of expressions
	expressions []byte
}

type parameter struct {
	*dwarf.Parameter
	origin, typ typeRef
}

// readParameters reads the formal parameters of e itself, not those of its abstract origin.
func (u *unit) readParameters(e *dwarf.DIE, f *function, m params.Machine) ([]params.Param, error) {
	own, err := u.r.Function(e)
	if err != nil {
		return nil, err
	}
	ps := &u.c.scratch.parameters
	ps.list, ps.entries = ps.list[:0], ps.entries[:0]
	ps.locations, ps.expressions = ps.locations[:0], ps.expressions[:0]
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
		ps.list = append(ps.list, params.Param{HasLocation: p.Location.Class != dwarf.ClassNone,
			ConstValue: p.ConstValue, OriginIndex: params.NoOrigin})
		ps.entries = append(ps.entries, parameter{p, origin, t})
	}
	if len(ps.list) > maxParameters {
		return nil, nil
	}
	if err := u.completeParameters(e, f); err != nil {
		return nil, err
	}
	for i, p := range ps.entries {
		if err := u.locate(p.Parameter, &ps.list[i], m); err != nil {
			return nil, err
		}
	}
	return ps.list, nil
}

// locate stores the expressions of p's location in to.Locations, or only the first expression if it
// settles the location.
func (u *unit) locate(p *dwarf.Parameter, to *params.Param, m params.Machine) error {
	ps := &u.c.scratch.parameters
	first := len(ps.locations)
	err := u.r.Locations(p.Off, p.Location, func(expr []byte) bool {
		at := len(ps.expressions)
		ps.expressions = append(ps.expressions, expr...)
		ps.locations = append(ps.locations, ps.expressions[at:len(ps.expressions):len(ps.expressions)])
		return len(ps.locations) > first+1 || !m.Settles(expr, to.Size)
	})
	to.Locations = ps.locations[first:len(ps.locations):len(ps.locations)]
	return err
}

// completeParameters adds what the parameters' types and abstract origins say about the parameters.
func (u *unit) completeParameters(e *dwarf.DIE, f *function) error {
	ps := &u.c.scratch.parameters
	if p := f.proto.u; f.proto.off != e.Off || p != u {
		source, err := p.r.Function(f.protoDIE)
		if err != nil {
			return err
		}
		index := 0
		for i := range source.Parameters {
			if k := &source.Parameters[i]; !k.Varying {
				if err := p.matchOrigin(k, index); err != nil {
					return err
				}
				index++
			}
		}
	}
	for i, p := range ps.entries {
		t := p.typ
		if err := t.classify(&ps.list[i]); err != nil {
			return err
		}
		if f.nocall && ps.list[i].Struct && u.c.in.has(features.TrueSignature) {
			ps.list[i].MemberAt = func(offset uint32) bool {
				at, _, err := t.memberAt(offset)
				return err == nil && at.u != nil
			}
		}
	}
	return nil
}

// matchOrigin sets the index and type of each parameter whose abstract origin is parameter k.
func (u *unit) matchOrigin(k *dwarf.Parameter, index int) error {
	ps := &u.c.scratch.parameters
	for i := range ps.entries {
		p := &ps.entries[i]
		if p.origin.u != u || p.origin.off != k.Off {
			continue
		}
		ps.list[i].OriginIndex = index
		if p.typ.u == nil {
			var err error
			if p.typ, err = u.refTo(k.Off, k.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// value finds out how a parameter of type t is passed.
func (t typeRef) value() (value, error) {
	v := value{known: true}
	var e dwarf.DIE
	t, err := t.peel(&e)
	if err != nil || t.u == nil {
		return v, err
	}
	isStruct := e.Tag == std.TagStructType || e.Tag == std.TagClassType
	size, err := t.sizeOf(&e, 0)
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

// packed reports whether the struct has a name and a misaligned member: one whose offset is not a
// multiple of the natural alignment of the member's type.
func (t typeRef) packed() (bool, error) {
	var e, c dwarf.DIE
	if err := t.u.r.Read(t.off, &e); err != nil || !e.Has(dwarf.Name) {
		return false, err
	}
	for err := range t.u.r.Children(&e, &c, std.TagMember) {
		if err != nil {
			return false, err
		}
		at, ok := t.u.memberLocation(&c)
		if !ok || c.Has(dwarf.BitSize) {
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
		if at%align != 0 {
			return true, nil
		}
	}
	return false, nil
}

// alignment returns the natural alignment of a scalar or an array of scalars, or 1 for other types.
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
