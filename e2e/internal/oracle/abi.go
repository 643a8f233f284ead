package oracle

import (
	"debug/dwarf"
	"debug/elf"
)

// byABI says what is wrong with the reason for which pahole leaves out a
// function that takes such arguments on that machine; "" if nothing is known to
// be. Where a function's parameters lie is up to the ABI, which pahole 1.32
// doesn't know well of these machines.
func byABI(machine elf.Machine, arguments []dwarf.Type) string {
	switch {
	case machine == elf.EM_ARM && !sameRegistersARM(arguments):
		return "pahole expects the parameters in other registers than AAPCS32 has"
	case machine == elf.EM_386 && hasUnalignedStruct(arguments):
		return "pahole takes a struct for packed in which an 8-byte number is aligned at 4 bytes, as i386 does"
	}
	return ""
}

// sameRegistersARM says whether the arguments are where pahole expects them:
// one word behind the other in r0 to r7. By AAPCS32 there are r0 to r3 (the
// rest is on the stack), and numbers of 8 bytes begin at an even one (C.3).
func sameRegistersARM(arguments []dwarf.Type) bool {
	const word, registers = 4, 4
	pahole, abi := 0, 0
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

// hasUnalignedStruct says whether one of the arguments is a struct with a
// member of 8 bytes, whose own size is no multiple of 8.
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

// plain is a type without typedefs and qualifiers.
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
