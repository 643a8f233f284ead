package verify

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// member checks a member of a struct or union, like the check_member and check_kflag_member
// functions in kernel/bpf/btf.c. It returns the violated rule and the reason, or "".
// Rule: verify: members that end outside their struct. Only in the final BTF. Source: kernel
// btf_int_check_member, btf_int_check_kflag_member, btf_enum_check_member, btf_struct_check_member.
func (r *resolver) member(s *btf.Type, m *btf.Member) (rule, why string) {
	at, size, ok := r.sized(m.Type)
	if !ok {
		return "member-type", fmt.Sprintf("has type [%d], which has no size", m.Type)
	}
	t, _ := r.b.ByID(at)
	off, width := m.Bits(s.KFlag)
	switch {
	case t.Kind == btf.KindInt:
		return intMember(s, t, off, width)
	case t.Kind.IsEnum() && s.KFlag:
		return enumBits(s, off, width)
	case width != 0:
		return "member-bitfield", fmt.Sprintf("is a bitfield of %s, but its type is a %v",
			message.Count(width, "bit"), t.Kind)
	case t.Kind == btf.KindFloat:
		// This is the smallest alignment that any machine requires.
		if align := min(r.ptrSize, size) * 8; align > 0 && off%align != 0 {
			return "member-align", fmt.Sprintf("is a FLOAT of %s, misaligned at bit %d",
				message.Count(size, "byte"), off)
		}
	case off%8 != 0:
		return misaligned(off)
	}
	return bounds(s, uint64(off/8)+uint64(size))
}

func misaligned(off uint32) (rule, why string) {
	return "member-align", fmt.Sprintf("begins at bit %d, not at a byte boundary", off)
}

// bounds checks the end of a member of s, in bytes.
func bounds(s *btf.Type, end uint64) (rule, why string) {
	if end > uint64(s.SizeOrType) {
		return "member-bounds", fmt.Sprintf("ends at byte %d, but the size is %d", end, s.SizeOrType)
	}
	return "", ""
}

// intMember checks a member whose type is an INT, whether it is a bitfield or not. Without the kind
// flag, the width and offset of a bitfield are in the INT.
func intMember(s, t *btf.Type, off, width uint32) (rule, why string) {
	intOff, intBits := t.Extra>>16&0xff, t.Extra&0xff
	bits := uint64(off)
	if s.KFlag {
		switch {
		case !regularInt(t):
			return "member-type", fmt.Sprintf("has an INT of %s at offset %d, which is not a regular int",
				message.Count(intBits, "bit"), intOff)
		case width == 0 && off%8 != 0:
			return misaligned(off)
		case width > intBits:
			return "member-bitfield", fmt.Sprintf("has %d bits, but its INT has only %d", width, intBits)
		case width == 0:
			width = intBits
		}
	} else {
		bits += uint64(intOff)
		width = intBits
		if bits > 1<<32-1 {
			return "member-bounds", fmt.Sprintf("begins at bit %d, which exceeds 32 bits", bits)
		}
	}
	n := bits%8 + uint64(width)
	if n > 128 {
		return "member-bitfield",
			fmt.Sprintf("spans %d bits from its first byte, but the kernel reads only 128", n)
	}
	return bounds(s, bits/8+(n+7)/8)
}

// enumBits checks a member whose type is an ENUM or ENUM64, in a struct with the kind flag. If the
// member is not a bitfield, the kernel assumes 32 bits regardless of the size of the enum.
func enumBits(s *btf.Type, off, width uint32) (rule, why string) {
	switch {
	case width == 0 && off%8 != 0:
		return misaligned(off)
	case width > 32:
		return "member-bitfield", fmt.Sprintf("is an enum of %d bits, but the kernel reads only 32",
			width)
	case width == 0:
		width = 32
	}
	return bounds(s, (uint64(off)+uint64(width)+7)/8)
}
