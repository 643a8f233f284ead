package core

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// match finds in a candidate what the local spec refers to: see bpf_core_spec_match. If something
// is missing, the returned spec is nil, and the result named why says what is missing. An error
// means that libbpf refuses the program.
// Rule: CO-RE: candidates that match. Source: relo_core.c bpf_core_spec_match,
// bpf_core_match_member.
func (k *Index) match(local *Spec, c candidate, work *budget) (found *Spec, why string,
	err error) {
	s := &Spec{Kind: local.Kind, BTF: c.in, Root: c.id}
	m := matcher{k, local.BTF, c.in, work}
	ok := false
	switch {
	case local.Kind == TypeMatches:
		if ok, err = m.typesMatch(local.Root, c.id, false, maxDepth); !ok {
			why = "it lacks members of the program's type, or has them with different types"
		}
	case local.Kind.IsType():
		if ok, err = m.typesCompatible(local.Root, c.id, maxDepth); !ok {
			why = "it is a different type"
		}
	case local.Kind.IsEnumval():
		why = k.matchEnumerator(s, local.Points[0].Name)
		ok = why == ""
	default:
		why, err = k.matchField(s, local, work)
		ok = why == ""
	}
	if err != nil || !ok {
		return nil, why, err
	}
	return s, "", nil
}

// matchEnumerator finds an enumerator by its name without a flavor.
func (k *Index) matchEnumerator(s *Spec, name string) (why string) {
	id, t, of := s.BTF.Skip(s.Root)
	if !kindOf(t).IsEnum() {
		return "it is not an enum"
	}
	found := k.elementsOf(s.BTF, id, t, of)[Essential(name)]
	if len(found) == 0 {
		return "it has no enumerator " + name
	}
	other, _ := s.BTF.Name(of.EnumsOf(t)[found[0]].NameOff)
	s.Points = []Point{{Type: id, Index: found[0], Name: other}}
	s.Path = []uint32{found[0]}
	return ""
}

// matchField finds the points of the local access in the kernel's type.
func (k *Index) matchField(s, local *Spec, work *budget) (why string, err error) {
	id := s.Root
	for i, p := range local.Points {
		_, t, of := s.BTF.Skip(id)
		if p.Name != "" {
			if id, why, err = k.matchMember(s, local, p, id, work); why != "" || err != nil {
				return why, err
			}
			continue
		}
		elem, _, _ := s.BTF.Skip(id)
		if i > 0 {
			if kindOf(t) != btf.KindArray {
				return fmt.Sprintf("%s is not an array", s), nil
			}
			a := of.ArrayOf(t)
			if p.Index >= a.Nelems && !s.BTF.isFlexible(s.last(), a.Nelems) {
				return fmt.Sprintf("%s has %d elements", s, a.Nelems), nil
			}
			elem, _, _ = s.BTF.Skip(a.Elem)
		}
		if len(s.Path) == MaxPath {
			return "", errDeepAccess
		}
		s.Points = append(s.Points, Point{Type: elem, Index: p.Index})
		s.Path = append(s.Path, p.Index)
		if err := s.moveBy(p.Index, elem); err != nil {
			return "", err
		}
		id = elem
	}
	return "", nil
}

var errDeepAccess = fmt.Errorf("the field is nested more than %d levels deep", MaxPath)

// matchMember finds a named member of a struct or union, and returns its type: see
// bpf_core_match_member. The member may be inside anonymous members.
func (k *Index) matchMember(s, local *Spec, p Point, id uint32, work *budget) (member uint32,
	why string, err error) {
	var all fields
	if id, t, _ := s.BTF.Skip(id); kindOf(t).IsComposite() {
		found, err := k.fieldsOf(s.BTF, id, work)
		if err != nil {
			return 0, "", err
		}
		all = *found
	}
	f, found := all.byName[p.Name]
	levels := all.levels
	if found {
		levels = f.levels
	}
	switch {
	case len(s.Path)+levels > MaxPath:
		return 0, "", errDeepAccess
	case !found:
		return 0, fmt.Sprintf("%s has no field %s", s, p.Name), nil
	}
	s.Bit += f.bit
	s.Path = append(append(s.Path, f.path...), f.index)
	s.Points = append(s.Points, Point{Type: f.in, Index: f.index, Name: p.Name})
	if !fieldsCompatible(local.BTF, local.memberType(p), s.BTF, f.typ) {
		return 0, fmt.Sprintf("the field %s has a different type: %s, where the program has %s", s,
			kindText(s.BTF, f.typ), kindText(local.BTF, local.memberType(p))), nil
	}
	return f.typ, "", nil
}

// memberType is the type of the member at a point of s.
func (s *Spec) memberType(p Point) uint32 {
	t, of := s.BTF.ByID(p.Type)
	return of.MembersOf(t)[p.Index].Type
}

// kindText is a type in words, such as "struct sock", "a pointer" or "an int".
func kindText(b *BTF, id uint32) string {
	_, t, _ := b.Skip(id)
	switch k := kindOf(t); {
	case k.IsComposite(), k.IsEnum(), k == btf.KindFwd:
		return keyword(t) + b.TypeName(t)
	case k == btf.KindPtr:
		return "a pointer"
	case k == btf.KindArray:
		return "an array"
	case k == btf.KindInt:
		return b.TypeName(t)
	case k == btf.KindFloat:
		return b.TypeName(t)
	case k == btf.KindFuncProto:
		return "a function"
	}
	return "void"
}
