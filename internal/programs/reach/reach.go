// Package reach finds out under which conditions the kernel's verifier reaches the CO-RE
// relocations of a program, and uses of weak symbols.
//
// If the kernel lacks what a relocation refers to, libbpf replaces the relocation's instruction
// with an invalid one. The kernel refuses the program only if its verifier reaches this
// instruction. A program prevents this with a guard: a relocation whose answer is 0 if the kernel
// lacks something (core.Kind.IsGuard), or the address of a weak symbol.
//
//	if (bpf_core_field_exists(task->__state))
//		state = task->__state;
//
// If the verifier knows the values that a jump compares, it follows the jump only one way. So in a
// kernel without the field, it never reaches the read. This package does the same for all outcomes
// of all guards together: its values are decision diagrams over the guards, and over comparisons of
// other numbers that are known for each kernel, such as the size of a type. For given outcomes of
// these, this is constant propagation: if two paths lead to an instruction, a value that
// differs between these paths is unknown at the instruction. The verifier follows each path
// separately. So it may skip instructions that this package considers reachable, but it never
// reaches an instruction that this package considers unreachable.
//
//	reach.go      the conditions of all relocations of a program
//	walk.go       instructions and the edges between them
//	state.go      what is known before an instruction: registers and the stack
//	value.go      what instructions do with values
//	settings.go   values that only the verifier knows, and numbers that are known for each kernel
//	choice.go     comparisons of such values
//	test.go       comparisons in conditions
//	refusals.go   instructions that the verifier refuses if a weak symbol doesn't exist
//	diagram.go    decision diagrams
//	cover.go      conditions from diagrams
//
// Values that old verifiers don't track count as unknown: the results of neg, div and mod,
// immediates that are stored to the stack, and parts of stack slots that aren't zero. This package
// does track the results of xor, as verifiers do since Linux 5.10, and numbers in stack slots
// (since 5.3).
package reach

import (
	"iter"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// Site is an instruction with a relocation.
type Site struct {
	Function *bpfobj.Function
	Insn     int
}

// Asked is where a program asks for a fact about a kernel: the first relocation that requests the
// fact, or the name of the weak symbol whose existence is the fact.
type Asked struct {
	Site   Site
	Symbol string
}

// Literal is the outcome of a guard or of another test: whether it found what it refers to.
type Literal struct {
	Test  Test // about Analysis.Facts
	Found bool
}

// Weak has the weak symbols whose existence the kernel's BTF shows, by name. The value says whether
// the verifier knows that the address of such a symbol isn't 0: it does for functions, but not for
// variables of each CPU or for structs (see reg_not_null in kernel/bpf/verifier.c).
type Weak map[string]bool

// Condition is a disjunction of conjunctions of literals. An empty disjunction never holds. A
// disjunction with an empty conjunction means that the condition always holds or isn't known.
type Condition [][]Literal

// always is the condition that holds for all outcomes.
func always() Condition { return Condition{{}} }

const (
	maxGuards  = 64
	maxNodes   = 1 << 16
	maxResults = 1 << 20
	maxWork    = 1 << 23 // operations on values
	maxCubes   = 64      // in one condition
)

// Analysis is what was found out about a program and the functions that it calls.
type Analysis struct {
	// Facts are the facts about a kernel on which conditions depend.
	Facts []Asked
	// Conditions has, for each relocation, the condition under which the verifier reaches it for some
	// settings.
	Conditions map[Site]Condition
	// Certain has, for each relocation, the condition under which the verifier reaches, for all
	// settings, this relocation or another one with the same question.
	Certain map[Site]Condition
	// Symbols has, for each weak symbol, the conditions under which the verifier reaches, for some
	// settings and for all settings, an instruction that it refuses if the symbol doesn't exist.
	Symbols map[string]struct{ Some, All Condition }
	// Slots is how many 8-byte slots of its context the program reads for all settings and all
	// outcomes of guards; for some of these, it may read more slots.
	Slots int
}

// Analyze analyzes a program. If a program exceeds the limits, all its conditions are "always".
// Rule: conditions under which a program reaches an instruction. Source: kernel/bpf/verifier.c
// check_cond_jmp_op, is_branch_taken.
func Analyze(entry *bpfobj.Function, weak Weak) Analysis {
	var w *walk
	for off := allKnown; off <= noneKnown; off++ {
		w = newWalk(entry, weak)
		w.diagram.off = off
		if w.run(); !w.diagram.full && !w.diagram.settings.full {
			break
		}
	}
	type both = struct{ Some, All Condition }
	a := Analysis{w.facts, map[Site]Condition{}, map[Site]Condition{}, map[string]both{}, w.slots()}
	covers := map[ref]Condition{}
	cover := func(r ref) Condition {
		c, ok := covers[r]
		if !ok {
			c = w.condition(r)
			covers[r] = c
		}
		return c
	}
	reached := map[question]ref{}
	for site, reach := range w.relocations() {
		q := questionOf(site.Function.Relocations[site.Insn])
		reached[q] = w.diagram.apply(join, reached[q], reach)
	}
	for site, reach := range w.relocations() {
		q := questionOf(site.Function.Relocations[site.Insn])
		a.Conditions[site] = cover(w.diagram.possible(reach))
		a.Certain[site] = cover(w.diagram.certain(reached[q]))
	}
	refusals := w.refusals()
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		reach := refusals[name]
		a.Symbols[name] = both{cover(w.diagram.possible(reach)), cover(w.diagram.certain(reach))}
	}
	if w.diagram.full {
		for site := range a.Conditions {
			a.Conditions[site], a.Certain[site] = always(), always()
		}
		for name := range a.Symbols {
			a.Symbols[name] = both{always(), always()}
		}
		a.Slots = 0
	}
	return a
}

// relocations iterates over all relocations, in order. It yields each relocation with the node of
// the condition under which the relocation is reached.
func (w *walk) relocations() iter.Seq2[Site, ref] {
	return func(yield func(Site, ref) bool) {
		for _, f := range w.functions {
			for _, at := range slices.Sorted(maps.Keys(f.Relocations)) {
				if at >= 0 && at < len(f.Insns) && !yield(Site{f.Function, at}, f.states[at].reach) {
					return
				}
			}
		}
	}
}

// slots is Analysis.Slots.
func (w *walk) slots() int {
	d, slots := w.diagram, 0
	for _, f := range w.functions {
		for at, i := range f.Insns {
			if i.Class() != bpfobj.ClassLDX || i.Src >= numRegisters {
				continue
			}
			s := &f.states[at]
			from := d.nodes[d.traits[s.regs[i.Src]].one].term
			offset := int64(from.value) + int64(i.Off)
			if slot := offset/8 + 1; from.kind == isContext && offset >= 0 && slot <= maxSlots &&
				int(slot) > slots && d.certain(s.reach) == anything {
				slots = int(slot)
			}
		}
	}
	return slots
}

// maxSlots is more than the number of slots in a context: MAX_BPF_FUNC_ARGS and a result.
const maxSlots = 64

// question is the fact that a relocation requests. Guards with equal questions have equal outcomes.
type question struct {
	kind   core.Kind
	typ    uint32
	access string
}

func questionOf(r core.Relocation) question { return question{r.Kind, r.Type, r.Access} }

// newWalk finds all functions of a program, and numbers the facts for which they ask.
func newWalk(entry *bpfobj.Function, weak Weak) *walk {
	w := &walk{diagram: newDiagram(), index: map[*bpfobj.Function]*function{},
		questions: map[question]int{}, symbols: map[string]int{}, pointers: weak}
	add := func(a Asked, guard bool) int {
		if guard {
			w.guards = append(w.guards, len(w.facts))
		}
		w.facts = append(w.facts, a)
		return len(w.facts) - 1
	}
	w.add(entry)
	for i := 0; i < len(w.functions); i++ {
		f := w.functions[i]
		for _, at := range slices.Sorted(maps.Keys(f.Relocations)) {
			q := questionOf(f.Relocations[at])
			if _, ok := w.questions[q]; !ok && q.kind != core.TypeIDLocal {
				guard := q.kind.IsGuard() && q.kind != core.TypeSize
				w.questions[q] = add(Asked{Site: Site{f.Function, at}}, guard)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(f.Uses)) {
			name := f.Uses[at]
			if _, ok := weak[name]; !ok {
				continue
			}
			if _, known := w.symbols[name]; !known {
				w.symbols[name] = add(Asked{Symbol: name}, true)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(f.Calls)) {
			w.add(f.Calls[at])
		}
	}
	w.diagram.full = len(w.guards) > maxGuards
	w.diagram.settings.first = int32(len(w.guards))
	return w
}

// add adds a function, unless it has already been added.
func (w *walk) add(f *bpfobj.Function) {
	if w.index[f] != nil {
		return
	}
	added := &function{Function: f, number: len(w.functions), states: make([]state, len(f.Insns))}
	for at := range f.Calls {
		added.shares = added.shares || at >= 0 && at < len(f.Insns) && f.Insns[at].Op != opCall
	}
	w.index[f] = added
	w.functions = append(w.functions, added)
}
