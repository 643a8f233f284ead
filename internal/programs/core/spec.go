package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// MaxPath is the largest number of indexes that an access may have: BPF_CORE_SPEC_MAX_LEN.
const MaxPath = 64

// Relocation is one record of .BTF.ext.
type Relocation struct {
	Kind   Kind
	Type   uint32 // in the program's BTF
	Access string // "0:1:2", for an enumerator its index, "0" for whole types
	// Memory is how many bytes the instruction loads or stores, or 0 if it does neither. If Memory
	// isn't 0, the field's size in the kernel matters.
	Memory uint8
}

// Point is a part of an access that means the same in every kernel: a named member, or an element
// of an array.
type Point struct {
	Type  uint32 // the struct or union that has the member, or the type of the element
	Index uint32 // of the member, element or enumerator
	Name  string // of the member or enumerator; "" for elements
}

// Spec is an access to a type in one BTF, with the points and indexes found there: see struct
// bpf_core_spec.
type Spec struct {
	Kind   Kind
	BTF    *BTF
	Root   uint32
	Points []Point  // the first has the first index of the access, or is the enumerator
	Path   []uint32 // all indexes, including those of anonymous members
	Bit    uint32   // offset from the root
}

// Refusal says why libbpf refuses a relocation for every kernel. Its texts have no ids of types,
// which an edit of the program may change.
type Refusal struct {
	What string // such as "byte_off of struct sock, access \"0:1\""
	Why  string
}

// Error is the refusal as one line.
func (r *Refusal) Error() string { return "relocation " + r.What + ": " + r.Why }

// Parse returns the spec of a relocation in the program's own BTF: bpf_core_parse_spec. All errors
// are of type *Refusal.
// Rule: CO-RE: relocations that libbpf refuses. Source: relo_core.c bpf_core_parse_spec.
func Parse(b *BTF, r Relocation) (*Spec, error) {
	s := &Spec{Kind: r.Kind, BTF: b, Root: r.Type}
	if err := s.parse(r); err != nil {
		return nil, &Refusal{fmt.Sprintf("%v of %s, access %q", r.Kind, b.describe(r.Type), r.Access),
			err.Error()}
	}
	return s, nil
}

func (s *Spec) parse(r Relocation) (err error) {
	if r.Kind >= NumKinds {
		return fmt.Errorf("the last known kind is %d", NumKinds-1)
	}
	switch t, _ := s.BTF.ByID(r.Type); {
	case r.Kind == TypeIDLocal && (t != nil || r.Type == 0):
	case r.Type == 0 && r.Kind.IsField():
		return errors.New("gcc 16 writes such a relocation for an array field; compile the program " +
			"with clang")
	case t == nil && r.Type > 0:
		return errors.New("the program's BTF has no such type")
	case s.BTF.TypeName(t) == "":
		return errors.New("libbpf supports only types with names")
	}
	if r.Kind.IsType() {
		if r.Access != "0" {
			return errors.New(`the access to a whole type must be "0"`)
		}
		return nil
	}
	if s.Path, err = parseAccess(r.Access); err == nil {
		err = s.walk()
	}
	return err
}

// describe is a type in words, such as "struct sock", "pid_t" or "unnamed struct".
func (b *BTF) describe(id uint32) string {
	t, _ := b.ByID(id)
	switch {
	case id == 0:
		return "void"
	case t == nil:
		return "a missing type"
	case b.TypeName(t) == "":
		return "unnamed " + strings.ToLower(t.Kind.String())
	}
	return keyword(t) + b.TypeName(t)
}

func parseAccess(access string) ([]uint32, error) {
	words := strings.Split(access, ":")
	if len(words) > MaxPath {
		return nil, fmt.Errorf("%d indexes, more than the limit of %d", len(words), MaxPath)
	}
	path := make([]uint32, len(words))
	for i, word := range words {
		n, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not an index", word)
		}
		path[i] = uint32(n)
	}
	return path, nil
}

// walk follows s.Path, and adds the points on this path to s.Points.
func (s *Spec) walk() error {
	id, t, of := s.BTF.Skip(s.Root)
	if t == nil {
		return errors.New("it is a field or enumerator of void")
	}
	first := Point{Type: id, Index: s.Path[0]}
	if s.Kind.IsEnumval() {
		if !t.Kind.IsEnum() || len(s.Path) > 1 || first.Index >= t.Vlen {
			return errors.New("not an enumerator")
		}
		var err error
		first.Name, err = s.BTF.Name(of.EnumsOf(t)[first.Index].NameOff)
		s.Points = append(s.Points, first)
		return err
	}
	s.Points = append(s.Points, first)
	if err := s.moveBy(first.Index, id); err != nil {
		return err
	}
	for i := 1; i < len(s.Path); i++ {
		id, t, of = s.BTF.Skip(id)
		switch index := s.Path[i]; {
		case t == nil:
			return errors.New("the access leads to void")
		case t.Kind.IsComposite():
			if index >= t.Vlen {
				return fmt.Errorf("%s has no member %d", s.BTF.describe(id), index)
			}
			m := of.MembersOf(t)[index]
			bit, _ := m.Bits(t.KFlag)
			s.Bit += bit
			if m.NameOff != 0 {
				name, err := s.BTF.Name(m.NameOff)
				if err != nil || name == "" {
					return fmt.Errorf("member %d of %s has no valid name", index, s.BTF.describe(id))
				}
				s.Points = append(s.Points, Point{Type: id, Index: index, Name: name})
			}
			id = m.Type
		case t.Kind == btf.KindArray:
			a := of.ArrayOf(t)
			if index >= a.Nelems && !s.BTF.isFlexible(s.last(), a.Nelems) {
				return fmt.Errorf("element %d of an array of %d", index, a.Nelems)
			}
			if id, t, _ = s.BTF.Skip(a.Elem); t == nil {
				return errors.New("the access leads to an array of void")
			}
			s.Points = append(s.Points, Point{Type: id, Index: index})
			if err := s.moveBy(index, id); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s has no members", s.BTF.describe(id))
		}
	}
	return nil
}

func (s *Spec) last() Point { return s.Points[len(s.Points)-1] }

// moveBy adds the size of the type elem, multiplied by index, to the offset.
func (s *Spec) moveBy(index, elem uint32) error {
	size, err := s.BTF.SizeOf(elem)
	s.Bit += index * uint32(size) * 8
	return err
}

// String is the access in a form like C: "struct sock.__sk_common.skc_dport", "enum bpf_func_id
// BPF_FUNC_loop" or "struct sock".
func (s *Spec) String() string {
	t, _ := s.BTF.ByID(s.Root)
	text := keyword(t) + s.BTF.TypeName(t)
	if s.Kind.IsEnumval() {
		return text + " " + s.Points[0].Name
	}
	for i, p := range s.Points {
		switch {
		case p.Name != "":
			text += "." + p.Name
		case i > 0 || p.Index > 0:
			text += "[" + strconv.Itoa(int(p.Index)) + "]"
		}
	}
	return text
}

// keyword is the word that C requires before the name of a type.
func keyword(t *btf.Type) string {
	switch {
	case t == nil:
		return "void"
	case t.Kind == btf.KindStruct, t.Kind == btf.KindFwd && !t.KFlag:
		return "struct "
	case t.Kind == btf.KindUnion, t.Kind == btf.KindFwd:
		return "union "
	case t.Kind.IsEnum():
		return "enum "
	}
	return ""
}
