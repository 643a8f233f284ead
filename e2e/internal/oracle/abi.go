package oracle

import (
	"debug/dwarf"
	"debug/elf"
)

// byABI returns the defect that makes pahole leave out a function with these arguments, or "" if no
// such defect is known. pahole 1.32 doesn't always expect parameters in the places that
// the machine's ABI prescribes.
func byABI(machine elf.Machine, arguments []dwarf.Type) string {
	switch {
	case machine == elf.EM_ARM && !sameRegistersARM(arguments):
		return "pahole expects the parameters in different registers than AAPCS32 prescribes"
	case machine == elf.EM_386 && hasUnalignedStruct(arguments):
		return "pahole believes that a struct is packed if the struct has an 8-byte number that is " +
			"aligned to 4 bytes, as on i386"
	case machine == elf.EM_X86_64 && hasLargeUnion(arguments):
		return "pahole counts a register for a union that x86-64 passes on the stack"
	}
	return ""
}

// hasLargeUnion reports whether a union of more than two words precedes another argument. Such a
// union is passed in memory, but pahole counts a register for it, so the next arguments seem to be
// in the wrong registers (function__analyze_parameter_locations). pahole accepts that only if they
// follow a struct (param__is_struct).
func hasLargeUnion(arguments []dwarf.Type) bool {
	const word = 8
	for _, t := range arguments[:max(0, len(arguments)-1)] {
		if s, ok := plain(t).(*dwarf.StructType); ok && s.Kind == "union" && s.ByteSize > 2*word {
			return true
		}
	}
	return false
}

// sameRegistersARM reports whether the arguments are where pahole expects them: in r0 to r7 without
// gaps. AAPCS32 uses only r0 to r3, then the stack, and an 8-byte number begins at a register with
// an even number (rule C.3).
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

// hasUnalignedStruct reports whether one of the arguments is a struct that has an 8-byte member,
// but whose size is not a multiple of 8.
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

// plain returns the type to which a chain of typedefs and qualifiers leads.
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
