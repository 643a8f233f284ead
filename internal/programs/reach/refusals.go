package reach

import (
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
)

// Helpers that take the address of a variable of each CPU: BPF_FUNC_per_cpu_ptr and
// BPF_FUNC_this_cpu_ptr in include/uapi/linux/bpf.h.
const (
	helperPerCPU  = 153
	helperThisCPU = 154
)

// refusals returns, for each weak symbol, the condition under which the verifier reaches an
// instruction that it refuses if the symbol doesn't exist. Then libbpf replaces a call of the
// symbol with an invalid one (poison_kfunc_call), and the symbol's address with 0. The verifier
// refuses instructions that access memory at a number, and helpers that get a number as an address.
// Rule: weak symbols that a kernel lacks. Source: libbpf.c poison_kfunc_call,
// bpf_object__relocate_data; kernel/bpf/verifier.c check_mem_access.
func (w *walk) refusals() map[string]ref {
	d, all := w.diagram, map[string]ref{}
	for name := range w.symbols {
		all[name] = none
	}
	for _, f := range w.functions {
		for at, i := range f.Insns {
			s := &f.states[at]
			if name := f.Uses[at]; i.Op == opCall {
				if reach, ok := all[name]; ok {
					all[name] = d.apply(join, reach, s.reach)
					continue
				}
			}
			reg, ok := addressed(i)
			if !ok || s.reach == none {
				continue
			}
			bad := d.apply(numbers, s.regs[reg], s.regs[reg])
			for _, guard := range d.guardsOf(bad) {
				if name := w.facts[w.guards[guard]].Symbol; name != "" {
					without := d.apply(within, bad, d.branch(guard, anything, none))
					all[name] = d.apply(join, all[name], without)
				}
			}
		}
	}
	return all
}

// addressed returns the register with the address that an instruction or helper accesses.
func addressed(i bpfobj.Insn) (reg uint8, ok bool) {
	switch class := i.Class(); {
	case class == bpfobj.ClassLDX:
		reg = i.Src
	case class == bpfobj.ClassST, class == bpfobj.ClassSTX:
		reg = i.Dst
	case i.Op == opCall && i.Src == 0 && (i.Imm == helperPerCPU || i.Imm == helperThisCPU):
		reg = 1
	default:
		return 0, false
	}
	return reg, reg < numRegisters
}

// guardsOf returns the guards on which a node depends.
func (d *diagram) guardsOf(r ref) []int32 {
	found, seen := map[int32]bool{}, map[ref]bool{}
	for todo := []ref{r}; len(todo) > 0; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := d.nodes[r]
		if n.guard == noGuard || seen[r] {
			continue
		}
		seen[r] = true
		todo = append(todo, n.missing, n.found)
		if n.guard < d.settings.first {
			found[n.guard] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
