package needs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/reach"
)

// want represents the part of a local type at which a relocation looks. It has neither modifiers
// nor offsets. It includes a typedef, the order of members, or a pointer's target only if the
// relocation compares these things.
type want struct {
	kind    btf.Kind
	name    string // of a tag, typedef, base type or function; "" if it doesn't matter
	size    uint32 // of base types and enums, in bytes; of a struct or union if it matters
	extra   uint32 // of an INT: the encoding; of a FWD: 1 for a union
	nelems  uint32 // of an ARRAY: more than the largest index
	ref     *want  // of a typedef, array, pointer or function
	members []member
	exact   bool // the order and number of members and elements matter
}

// member is a member, parameter or enumerator.
type member struct {
	name string
	bits uint32 // the width of a bitfield, else 0
	of   *want  // the type; nil for enumerators and void
}

// builder makes values of type want for the types of one object.
type builder struct {
	*core.BTF
	budget *int // how many wants may still be made: types can contain each other exponentially often
	// requests has the requests made so far. They may be needed again, because several programs may
	// call one function.
	requests map[core.Relocation]*request
	weak     reach.Weak
}

// maxWants is far more than all programs of an object need.
const maxWants = 1 << 20

// access returns the type to which a field relocation refers, with only the members on the path to
// the field.
func (b builder) access(s *core.Spec) *want {
	root, _ := b.ByID(s.Root)
	w := b.along(s.Root, s.Points[1:])
	if root.Kind == btf.KindTypedef {
		w.name = "" // the name of the typedef is what matters
		return &want{kind: btf.KindTypedef, name: b.TypeName(root), ref: w}
	}
	return w
}

// along returns a type with only the member or element on the path to a field.
func (b builder) along(id uint32, points []core.Point) *want {
	_, t, of := b.Skip(id)
	if t == nil {
		return nil
	}
	w := &want{kind: t.Kind, name: b.TypeName(t)}
	switch {
	case t.Kind.IsComposite():
		if len(points) > 0 {
			w.members = []member{b.memberAt(points)}
		}
	case t.Kind == btf.KindArray:
		a := of.ArrayOf(t)
		w.nelems, w.ref = 1, b.along(a.Elem, points[min(1, len(points)):])
		if len(points) > 0 {
			w.nelems = points[0].Index + 1
		}
	case t.Kind == btf.KindFwd:
		if t.KFlag {
			w.extra = 1
		}
	case t.Kind.HasSize():
		w.size, w.extra = t.SizeOrType, t.Extra
	}
	return w
}

// memberAt is the member that the first point names. It may be inside anonymous members of the
// type.
func (b builder) memberAt(points []core.Point) member {
	p := points[0]
	t, of := b.ByID(p.Type)
	m := of.MembersOf(t)[p.Index]
	_, bits := m.Bits(t.KFlag)
	return member{p.Name, bits, b.along(m.Type, points[1:])}
}

// compatible returns the part of a type at which bpf_core_types_are_compat looks.
func (b builder) compatible(id uint32, depth int) *want {
	t, _ := b.ByID(id)
	if t != nil && t.Kind == btf.KindTypedef {
		return &want{kind: t.Kind, name: b.TypeName(t), ref: b.inner(id, depth)}
	}
	return b.inner(id, depth)
}

func (b builder) inner(id uint32, depth int) *want {
	_, t, of := b.Skip(id)
	if *b.budget--; t == nil || depth < 0 || *b.budget < 0 {
		return nil
	}
	w := &want{kind: t.Kind, name: b.TypeName(t)}
	switch t.Kind {
	case btf.KindPtr, btf.KindFunc:
		w.ref = b.inner(t.SizeOrType, depth-1)
	case btf.KindArray:
		w.nelems, w.ref = 1, b.inner(of.ArrayOf(t).Elem, depth-1)
	case btf.KindFuncProto:
		w.exact = true
		w.ref = b.inner(t.SizeOrType, depth-1)
		for _, p := range of.ParamsOf(t) {
			w.members = append(w.members, member{of: b.inner(p.Type, depth-1)})
		}
	case btf.KindFwd:
		if t.KFlag {
			w.extra = 1
		}
	case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindEnum64:
		w.size, w.extra = t.SizeOrType, t.Extra
	}
	return w
}

// whole returns the part of a type at which bpf_core_types_match looks. The parameter pointed says
// that a pointer led to the type.
func (b builder) whole(id uint32, pointed bool, depth int) (*want, error) {
	if t, _ := b.ByID(id); t != nil && t.Kind == btf.KindTypedef && !pointed && depth == maxDepth {
		ref, err := b.whole(t.SizeOrType, pointed, depth-1)
		return &want{kind: t.Kind, name: b.TypeName(t), ref: ref}, err
	}
	_, t, of := b.Skip(id)
	if t == nil {
		return nil, nil
	}
	if *b.budget--; *b.budget < 0 {
		return nil, fmt.Errorf("relocation %v: the types have too many parts", core.TypeMatches)
	}
	if depth < 0 {
		return nil, fmt.Errorf("relocation %v: types are nested more than %d levels deep",
			core.TypeMatches, maxDepth)
	}
	w := &want{kind: t.Kind, name: b.TypeName(t), exact: true}
	var err error
	switch {
	case t.Kind.IsComposite() && !pointed:
		for _, m := range of.MembersOf(t) {
			name, _ := b.Name(m.NameOff)
			_, bits := m.Bits(t.KFlag)
			inner, err := b.whole(m.Type, false, depth-1)
			if err != nil {
				return nil, err
			}
			w.members = append(w.members, member{name, bits, inner})
		}
	case t.Kind.IsComposite():
		w.exact = false
	case t.Kind.IsEnum():
		w.size = t.SizeOrType
		for _, e := range of.EnumsOf(t) {
			name, _ := b.Name(e.NameOff)
			w.members = append(w.members, member{name: name})
		}
	case t.Kind == btf.KindPtr:
		w.ref, err = b.whole(t.SizeOrType, true, depth-1)
	case t.Kind == btf.KindArray:
		a := of.ArrayOf(t)
		w.nelems = a.Nelems
		w.ref, err = b.whole(a.Elem, pointed, depth-1)
	case t.Kind == btf.KindFuncProto:
		if w.ref, err = b.whole(t.SizeOrType, pointed, depth-1); err != nil {
			return nil, err
		}
		for _, p := range of.ParamsOf(t) {
			inner, err := b.whole(p.Type, pointed, depth-1)
			if err != nil {
				return nil, err
			}
			w.members = append(w.members, member{of: inner})
		}
	case t.Kind == btf.KindFwd:
		if t.KFlag {
			w.extra = 1
		}
	case t.Kind.HasSize():
		w.size, w.extra = t.SizeOrType, t.Extra
	}
	return w, err
}

const maxDepth = 32

func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.bits, b.bits))
}

// text returns the content of a type as text. Only equal types have the same text.
func (w *want) text() string {
	var s strings.Builder
	w.write(&s)
	return s.String()
}

func (w *want) write(s *strings.Builder) {
	if w == nil {
		s.WriteString("-")
		return
	}
	fmt.Fprintf(s, "%v %q %d %x %d %t", w.kind, w.name, w.size, w.extra, w.nelems, w.exact)
	if w.ref != nil {
		s.WriteString("(")
		w.ref.write(s)
		s.WriteString(")")
	}
	for _, m := range w.members {
		s.WriteString("{" + strconv.Quote(m.name) + ":" + strconv.Itoa(int(m.bits)) + " ")
		m.of.write(s)
		s.WriteString("}")
	}
}
