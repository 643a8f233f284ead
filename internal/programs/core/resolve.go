package core

import (
	"fmt"
	"strings"
)

// Answer is the answer to a relocation in one kernel, and what we know about it.
type Answer struct {
	Value uint64
	// Size is the number of bytes that the load or store accesses: the size of the field in the first
	// of Matches. It is 0 if the instruction is neither a load nor a store.
	Size uint64
	// Matches are the candidates that have what the relocation refers to, in the kernel's order. They
	// all have the same Value, unless Refused says otherwise.
	Matches []*Spec
	// Poison says that libbpf makes the instruction invalid: the verifier refuses the program if
	// that instruction can be reached.
	Poison bool
	// Refused says why libbpf refuses the program, whether the instruction is reached or not.
	Refused error
	// Missing says what the kernel lacks, if nothing matches; or why the load or store is invalid.
	Missing string
}

// Resolve returns the answer to a relocation: see bpf_core_calc_relo_insn. The parameter memory is
// Relocation.Memory. The answer to a TypeIDLocal doesn't depend on the kernel.
// Rule: CO-RE: several candidates must agree. Source: relo_core.c bpf_core_calc_relo_insn.
func (k *Index) Resolve(local *Spec, memory uint8) Answer {
	if local.Kind == TypeIDLocal {
		return Answer{Value: uint64(local.Root)}
	}
	own, err := local.value()
	if err != nil {
		return Answer{Refused: err}
	}
	root, _ := local.BTF.ByID(local.Root)
	candidates := k.candidates(Essential(local.BTF.TypeName(root)), root.Kind)
	var a Answer
	var first answer
	var whys []string
	work := budget(maxWork)
	for _, c := range candidates {
		s, why, err := k.match(local, c, &work)
		if err != nil {
			if a.Refused == nil {
				a.Refused = err
			}
			return a
		}
		if s == nil {
			whys = append(whys, why)
			continue
		}
		a.Matches = append(a.Matches, s)
		got, err := s.value()
		switch {
		case a.Refused != nil:
		case err != nil:
			a.Refused = err
		case len(a.Matches) == 1:
			first = got
		case a.Matches[0].Bit != s.Bit || first.value != got.value:
			a.Refused = fmt.Errorf("%s is ambiguous: the kernel has several types of this name, "+
				"and they disagree (%d and %d)", local, first.value, got.value)
		}
	}
	if a.Refused != nil {
		return a
	}
	if len(a.Matches) == 0 {
		m := missing(local.Kind)
		a.Poison = m.poison
		switch {
		case len(candidates) == 0:
			a.Missing = fmt.Sprintf("%s%s doesn't exist", keyword(root), local.BTF.TypeName(root))
		default:
			a.Missing = whys[0]
			if !strings.Contains(a.Missing, local.BTF.TypeName(root)) {
				a.Missing = keyword(root) + local.BTF.TypeName(root) + ": " + a.Missing
			}
		}
		return a
	}
	a.Value = first.value
	if memory > 0 && local.Kind == FieldByteOffset {
		a.Size = first.size
		poison, err := checkAccess(own, first, uint64(memory))
		if a.Refused, a.Poison = err, poison; poison {
			a.Missing = fmt.Sprintf("%s has %d bytes, but the program reads %d", local, first.size, own.size)
		}
	}
	return a
}
