package oracle

import (
	"debug/dwarf"
	"debug/elf"
)

// byABI returns why pahole's reason for leaving out a function with these arguments is wrong on
// that machine, "" if nothing is known to be wrong. The ABI says where parameters are, and pahole
// 1.32 does not follow it on these machines.
func byABI(machine elf.Machine, arguments []dwarf.Type) string {
	switch {
	case machine == elf.EM_ARM && !sameRegistersARM(arguments):
		return "pahole expects the parameters in other registers than AAPCS32 has"
	case machine == elf.EM_386 && hasUnalignedStruct(arguments):
		return "pahole takes a struct for packed in which an 8-byte number is aligned at 4 bytes, " +
			"as i386 does"
	case machine == elf.EM_X86_64 && hasLargeUnion(arguments):
		return "pahole counts a register for a union that x86-64 passes on the stack"
	}
	return ""
}

// hasLargeUnion reports whether a union of more than two words comes before another argument.
// pahole counts a register for each argument in memory (function__analyze_parameter_locations).
// That the next ones are then in unexpected registers it accepts only after a struct
// (param__is_struct).
func hasLargeUnion(arguments []dwarf.Type) bool {
	const word = 8
	for _, t := range arguments[:max(0, len(arguments)-1)] {
		if s, ok := plain(t).(*dwarf.StructType); ok && s.Kind == "union" && s.ByteSize > 2*word {
			return true
		}
	}
	return false
}

// sameRegistersARM reports whether the arguments are where pahole expects them: in r0 to r7,
// without gaps. AAPCS32 has r0 to r3, then the stack, and numbers of 8 bytes begin at an even
// register (C.3).
func sameRegistersARM(arguments []dwarf.Type) bool {
	const word, registers = 4, 4
	pahole, abi := 0, 0 // the next register
	for _, t := range arguments {
		size := int(sizeOf(t))
		if size == 2*word {
			abi += abi % 2
		}
		words := (size + word - 1) / word
		if pahole != abi || abi+words > registers {
			return false
		}
		pahole, abi = pahole+words, abi+words
	}
	return true
}

// hasUnalignedStruct reports whether one of the arguments is a struct with a member of 8 bytes
// whose own size is not a multiple of 8.
func hasUnalignedStruct(arguments []dwarf.Type) bool {
	for _, t := range arguments {
		s, ok := plain(t).(*dwarf.StructType)
		if !ok || s.ByteSize%8 == 0 {
			continue
		}
		for _, m := range s.Field {
			if _, composite := plain(m.Type).(*dwarf.StructType); !composite && sizeOf(m.Type) == 8 &&
				m.ByteOffset%4 == 0 {
				return true
			}
		}
	}
	return false
}

// plain returns a type without typedefs and qualifiers.
func plain(t dwarf.Type) dwarf.Type {
	for {
		switch x := t.(type) {
		case *dwarf.TypedefType:
			t = x.Type
		case *dwarf.QualType:
			t = x.Type
		default:
			return t
		}
	}
}

func sizeOf(t dwarf.Type) int64 {
	if t == nil {
		return 0
	}
	return t.Size()
}
