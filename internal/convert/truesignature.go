package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// signature is the real signature of a function's code, for the feature true_signature. The
// compiler may have removed parameters, or replaced a struct with one of its members.
type signature struct {
	proto types.ID   // 0: the same as in the source
	hash  types.Hash // of proto
	// index maps the index of each parameter in the source to its index in the code, or to -1 if the
	// parameter was removed. nil means that the parameters are the same.
	index []int
}

// trueSignature finds out which parameters e's code really takes. resolveFunction has set f from e;
// v is the verdict on e's parameters; clone is set if f's symbol is that of a clone.
// Rule: true_signature. Source: pahole btf_encoder__add_true_signature.
func (u *unit) trueSignature(e *dwarf.DIE, f *function, v *params.Verdict,
	clone bool) (s signature, err error) {
	if !clone && !f.nocall {
		return s, nil // a part (foo.part.0) doesn't determine its function's prototype
	}
	if len(v.Removed) == 0 && len(v.Members) == 0 && !v.Flags.Has(params.Reordered) {
		return s, nil
	}
	source, rest, err := f.proto.u.countParameters(f.protoDIE)
	if err != nil {
		return s, err
	}
	more, err := u.takesMore(e, f)
	if err != nil {
		return s, err
	}
	rest = rest || more
	s.index = make([]int, source)
	for i := range s.index {
		s.index[i] = -1
	}
	var elems []types.Elem
	removed, members := v.Removed, v.Members
	i := -1
	var c dwarf.DIE
	for err := range u.r.Children(e, &c, std.TagFormalParameter) {
		if err != nil {
			return s, err
		}
		i++
		replaced := len(members) > 0 && members[0].Param == i
		if len(removed) > 0 && removed[0] == i {
			removed = removed[1:]
		} else {
			p, err := u.parameter(&c)
			if err != nil {
				return s, err
			}
			if replaced {
				if p, err = p.member(members[0].Offset); err != nil {
					return s, err
				}
			}
			elem, err := p.elem(u)
			if err != nil {
				return s, err
			}
			if at := u.c.scratch.parameters.list[i].OriginIndex; at != params.NoOrigin && at < source {
				s.index[at] = len(elems)
			} else if f.proto.u == u && f.proto.off == e.Off {
				s.index[i] = len(elems)
			}
			elems = append(elems, elem)
		}
		if replaced {
			members = members[1:]
		}
	}
	if rest {
		elems = append(elems, types.Elem{})
	}
	returns, err := f.proto.u.ref(f.protoDIE, dwarf.Type)
	if err != nil {
		return s, err
	}
	if returns.u == nil {
		returns = f.returns
	}
	ref, err := returns.node(0)
	if err != nil {
		return s, err
	}
	s.proto = u.c.store.g.Add(types.Node{Kind: types.KindFuncProto, Ref: ref}, elems)
	s.hash = u.c.store.g.Node(s.proto).Hash
	return s, nil
}

func (u *unit) countParameters(e *dwarf.DIE) (n int, rest bool, err error) {
	f, err := u.r.Function(e)
	if err != nil {
		return 0, false, err
	}
	for i := range f.Parameters {
		if f.Parameters[i].Varying {
			rest = true
		} else {
			n++
		}
	}
	return n, rest, nil
}

// named is a parameter, or the only member (field) that remains of a struct parameter. The string
// of the parameter's name is in the unit namer, that of the member's name in the unit fieldOf.
type named struct {
	name    name
	namer   *unit
	field   name
	fieldOf *unit // nil: the whole parameter
	ref     typeRef
}

// parameter reads c's name and type. What c lacks is taken from c's abstract origin.
func (u *unit) parameter(c *dwarf.DIE) (p named, err error) {
	cur, at := *c, u
	for range maxChain {
		if p.name.class == dwarf.ClassNone {
			if p.name, err = at.identifier(&cur, dwarf.Name); err != nil {
				return p, err
			}
			p.namer = at
		}
		if p.ref.u == nil {
			if p.ref, err = at.ref(&cur, dwarf.Type); err != nil {
				return p, err
			}
		}
		next, err := at.ref(&cur, dwarf.Origin)
		if err != nil || next.u == nil {
			return p, err
		}
		at = next.u
		if err := at.r.Read(next.off, &cur); err != nil {
			return p, err
		}
	}
	return p, nil
}

// member returns the member at a byte offset in p, which is a struct.
func (p named) member(offset uint32) (named, error) {
	t, c, err := p.ref.memberAt(offset)
	if err != nil || t.u == nil {
		return p, err
	}
	p.fieldOf = t.u
	p.field, p.ref, err = t.u.nameAndType(&c)
	return p, err
}

// elem returns p as a parameter of a prototype; a member gets the name "parameter__member".
func (p *named) elem(u *unit) (types.Elem, error) {
	str, err := p.namer.intern(p.name)
	if err != nil {
		return types.Elem{}, err
	}
	if p.fieldOf != nil {
		field, err := p.fieldOf.intern(p.field)
		if err != nil {
			return types.Elem{}, err
		}
		s := &u.c.store.g.Strs
		str = s.Intern([]byte(s.String(str) + "__" + s.String(field)))
	}
	ref, err := p.ref.node(0)
	return types.Elem{Name: str, Ref: ref}, err
}

// memberAt finds the first member at a byte offset in the struct to which t leads through typedefs
// and qualifiers. The result's unit is nil if no such member exists or if the member has no name.
func (t typeRef) memberAt(offset uint32) (typeRef, dwarf.DIE, error) {
	var e, c dwarf.DIE
	t, err := t.peel(&e)
	if err != nil || t.u == nil || e.Tag != std.TagStructType {
		return typeRef{}, c, err
	}
	for err := range t.u.r.Children(&e, &c, std.TagMember) {
		if err != nil {
			return typeRef{}, c, err
		}
		bit, ok := c.Val[dwarf.DataBitOffset], true
		if !c.Constant(dwarf.DataBitOffset) {
			bit, ok = t.u.memberLocation(&c)
			bit *= 8
		}
		if ok && bit == uint64(offset)*8 { // the first member there
			if !c.Has(dwarf.Name) || !c.Has(dwarf.Type) {
				break
			}
			return t, c, nil
		}
	}
	return typeRef{}, c, nil
}
