package core

import (
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// answer is what a relocation puts into the instruction: struct bpf_core_relo_res.
type answer struct {
	value  uint64
	poison bool // the instruction becomes invalid
	// Only for the offset of a field: the field's size in bytes, and its type, which checkAccess
	// compares.
	size uint64
	in   *BTF
	typ  uint32
}

// value returns the answer for one spec, the program's or the kernel's: see
// bpf_core_calc_field_relo, bpf_core_calc_type_relo and bpf_core_calc_enumval_relo.
// Rule: CO-RE: value of a relocation. Source: relo_core.c bpf_core_calc_field_relo,
// bpf_core_calc_type_relo, bpf_core_calc_enumval_relo.
func (s *Spec) value() (answer, error) {
	switch {
	case s.Kind == FieldExists, s.Kind == TypeExists, s.Kind == TypeMatches, s.Kind == EnumvalExists:
		return answer{value: 1}, nil
	case s.Kind == TypeIDLocal, s.Kind == TypeIDTarget:
		return answer{value: uint64(s.Root)}, nil
	case s.Kind == TypeSize:
		size, err := s.BTF.SizeOf(s.Root)
		return answer{value: size}, err
	case s.Kind == EnumvalValue:
		p := s.Points[0]
		t, of := s.BTF.ByID(p.Type)
		v := of.EnumsOf(t)[p.Index].Value
		if t.Kind == btf.KindEnum {
			v = uint64(int32(v)) // also for unsigned enums: val in struct btf_enum is signed
		}
		return answer{value: v}, nil
	case s.last().Name == "":
		return s.elementValue()
	}
	return s.memberValue()
}

// missing is the answer if no type of the kernel matches.
func missing(k Kind) answer {
	return answer{poison: !k.IsGuard()}
}

// elementValue is the answer for an element of an array.
func (s *Spec) elementValue() (a answer, err error) {
	elem := s.last().Type
	switch s.Kind {
	case FieldByteOffset:
		a = answer{value: uint64(s.Bit / 8), in: s.BTF, typ: elem}
		a.size, err = s.innerSize(elem)
	case FieldByteSize:
		a.value, err = s.BTF.SizeOf(elem)
	default:
		err = fmt.Errorf("%v doesn't apply to elements of arrays", s.Kind)
	}
	return a, err
}

// innerSize is the size of a type or, if the type is an array, of its innermost elements.
func (s *Spec) innerSize(id uint32) (uint64, error) {
	for range maxDepth {
		_, t, of := s.BTF.Skip(id)
		if kindOf(t) != btf.KindArray {
			return s.BTF.SizeOf(id)
		}
		id = of.ArrayOf(t).Elem
	}
	return 0, errDepth
}

// memberValue is the answer for a member, which may be a bitfield.
func (s *Spec) memberValue() (answer, error) {
	p := s.last()
	t, of := s.BTF.ByID(p.Type)
	m := of.MembersOf(t)[p.Index]
	id, mt, _ := s.BTF.Skip(m.Type)
	_, bits := m.Bits(t.KFlag)
	first := uint64(s.Bit)
	var size, offset uint64
	if bits > 0 {
		if mt == nil || !mt.Kind.HasSize() || mt.SizeOrType == 0 {
			return answer{}, fmt.Errorf("the bitfield %s has a type without a size", s)
		}
		size = uint64(mt.SizeOrType)
		for offset = first / 8 / size * size; first+uint64(bits)-offset*8 > size*8; {
			if size >= 8 {
				return answer{}, fmt.Errorf("the bitfield %s can't be read with a load of at most 8 bytes", s)
			}
			size *= 2
			offset = first / 8 / size * size
		}
	} else {
		var err error
		if size, err = s.BTF.SizeOf(id); err != nil {
			return answer{}, err
		}
		offset, bits = first/8, uint32(size*8)
	}
	switch s.Kind {
	case FieldByteOffset:
		a := answer{value: offset}
		var err error
		if _, b := m.Bits(t.KFlag); b == 0 {
			a.in, a.typ = s.BTF, id
			a.size, err = s.innerSize(id)
		}
		return a, err
	case FieldByteSize:
		return answer{value: size}, nil
	case FieldSigned:
		signed := kindOf(mt).IsEnum() && mt.KFlag ||
			kindOf(mt) == btf.KindInt && mt.Extra>>24&btf.IntSigned != 0
		if signed {
			return answer{value: 1}, nil
		}
		return answer{}, nil
	case FieldLShift:
		if s.BTF.bigEndian() {
			return answer{value: (8-size)*8 + (first - offset*8)}, nil
		}
		return answer{value: 64 - (first + uint64(bits) - offset*8)}, nil
	}
	return answer{value: 64 - uint64(bits)}, nil // FieldRShift
}

// checkAccess reports whether libbpf can adapt an instruction that loads or stores a field: see
// bpf_core_calc_relo and bpf_core_patch_insn. The parameter memory is the number of bytes that the
// instruction accesses. If libbpf refuses the program, checkAccess returns an error; if libbpf only
// makes the instruction invalid, poison is true.
// Rule: CO-RE: loads and stores of a field with another size. Source: relo_core.c
// bpf_core_calc_relo, bpf_core_patch_insn.
func checkAccess(local, target answer, memory uint64) (poison bool, err error) {
	if target.value > 1<<15-1 {
		return false, fmt.Errorf("the offset %d is too large for an instruction", target.value)
	}
	if local.size == target.size {
		return false, nil
	}
	lt, tt := local.plain(), target.plain()
	pointers := kindOf(lt) == btf.KindPtr && kindOf(tt) == btf.KindPtr
	if !pointers && !(isUnsigned(lt) && isUnsigned(tt)) {
		return true, nil
	}
	if memory != local.size {
		return false, fmt.Errorf("the program reads or writes %d bytes of a field that has %d bytes "+
			"in the program's types and %d in the kernel", memory, local.size, target.size)
	}
	switch target.size {
	case 1, 2, 4, 8:
		return false, nil
	}
	return false, errors.New("the field has a size that no instruction can read")
}

func (a answer) plain() *btf.Type {
	if a.in == nil {
		return nil
	}
	t, _ := a.in.ByID(a.typ)
	return t
}

func isUnsigned(t *btf.Type) bool {
	return kindOf(t) == btf.KindInt && t.Extra>>24 != btf.IntSigned
}
