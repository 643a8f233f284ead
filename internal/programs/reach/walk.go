package reach

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// walk holds the state of the analysis of one program.
type walk struct {
	diagram   *diagram
	functions []*function
	index     map[*bpfobj.Function]*function
	facts     []Asked
	questions map[question]int // the facts that relocations request
	symbols   map[string]int   // the facts whether weak symbols exist
	pointers  map[string]bool  // Weak
	guards    []int            // the facts that are guards, by number

	queue []place // instructions still to analyze, in order
}

// function is a function in this program.
type function struct {
	*bpfobj.Function
	number  int     // in walk.functions
	shares  bool    // it takes a function's address; the function may get addresses in this frame
	states  []state // before each instruction
	returns ref     // the value of r0 when it returns
	callers []place
}

// place is an instruction of a function.
type place struct{ function, insn int }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.function, q.function), cmp.Compare(p.insn, q.insn))
}

func (w *walk) push(p place) {
	if i, queued := slices.BinarySearchFunc(w.queue, p, place.compare); !queued {
		w.queue = slices.Insert(w.queue, i, p)
	}
}

// run follows all instructions until states no longer change.
//
// It begins with the program, and with the global functions: before Linux 6.8, the verifier checks
// all global functions, even if it reaches no instruction that calls them. So the kernel's version
// is a setting here.
func (w *walk) run() {
	for i, f := range w.functions {
		switch {
		case i == 0:
			w.enter(f, anything, true)
		case f.Global:
			w.enter(f, w.diagram.branch(w.diagram.checksAll(), none, anything), false)
		}
	}
	for len(w.queue) > 0 && !w.diagram.full {
		w.diagram.spend(1)
		p := w.queue[0]
		w.queue = w.queue[1:]
		w.step(w.functions[p.function], p.insn)
	}
}

// enter enters a function whose arguments are unknown, except that the first argument of a program
// is its context.
func (w *walk) enter(f *function, reach ref, program bool) {
	args := [numRegisters]ref{1: reach, reach, reach, reach, reach}
	if program {
		args[1] = w.diagram.constant(term{kind: isContext})
	}
	w.flow(f, 0, w.diagram.entryState(reach, args))
}

// flow adds a path that reaches the instruction f.Insns[at] with the state s. A path that leaves
// the function ends there.
func (w *walk) flow(f *function, at int, s state) {
	if at >= 0 && at < len(f.states) && f.states[at].join(w.diagram, s) {
		w.push(place{f.number, at})
	}
}

// step analyzes one instruction. The verifier refuses instructions that write to r10 or have
// registers above r10, so a path ends at such an instruction.
func (w *walk) step(f *function, at int) {
	d, s, i := w.diagram, f.states[at], f.Insns[at]
	if i.Dst >= numRegisters || i.Src >= numRegisters {
		return
	}
	class := i.Class()
	writes := class == bpfobj.ClassALU || class == bpfobj.ClassALU64 || class == bpfobj.ClassLDX ||
		i.IsWide()
	if writes && i.Dst == framePointer {
		return
	}
	if to := f.Calls[at]; to != nil && i.Op != opCall {
		w.enter(w.index[to], s.reach, false)
	}
	next := at + 1
	switch class {
	case bpfobj.ClassLD:
		if !i.IsWide() {
			s.forget(0, 1, 2, 3, 4, 5) // loads from packets
			break
		}
		s.set(d, i.Dst, d.apply(within, w.immediate(f, at), s.reach))
		next++
	case bpfobj.ClassLDX:
		value := s.reach
		_, relocated := f.Relocations[at]
		mode := i.Op & 0xe0
		if !relocated && mode == modeMem {
			value = s.load(d, i.Src, i.Off, sizeOf(i.Op))
		}
		if !relocated && value == s.reach && (mode == modeMem || mode == modeMemSX) {
			offset := d.constant(number(uint64(int64(i.Off))))
			value = d.apply(loads+operation(i.Op), s.regs[i.Src], d.apply(within, offset, s.reach))
		}
		s.set(d, i.Dst, value)
	case bpfobj.ClassST, bpfobj.ClassSTX:
		w.store(f, at, &s)
	case bpfobj.ClassALU, bpfobj.ClassALU64:
		w.calculate(f, at, &s)
	default:
		w.jump(f, at, s)
		return
	}
	w.flow(f, next, s)
}

// Bits of the opcodes of loads and stores.
const (
	modeMem    = 0x60
	modeMemSX  = 0x80
	modeAtomic = 0xc0
	opCall     = 0x85
)

func sizeOf(op uint8) int32 { return [...]int32{4, 2, 1, 8}[op>>3&3] }

// immediate returns the value of the number in an instruction. In the object file, 64-bit loads of
// addresses look like loads of numbers. So a 64-bit load has a known result only if it loads a
// fact, or an address in f.Data, which is a setting.
func (w *walk) immediate(f *function, at int) ref {
	r, relocated := f.Relocations[at]
	i, d := f.Insns[at], w.diagram
	switch {
	case relocated && r.Kind == core.TypeIDLocal,
		relocated && r.Kind == core.EnumvalValue && !i.IsWide():
		return anything
	case relocated:
		fact := w.questions[questionOf(r)]
		guard, ok := slices.BinarySearch(w.guards, fact)
		if !ok {
			return d.constant(d.settings.fact(fact, r.Kind))
		}
		found := number(1)
		if r.Kind == core.TypeIDTarget {
			found = term{isNonzero, uint64(guard)}
		}
		return d.branch(int32(guard), d.constant(number(0)), d.constant(found))
	case i.IsWide():
		a, ok := f.Data[at]
		if fact, weak := w.symbols[a.Symbol]; weak && a.IsWeak() {
			guard, _ := slices.BinarySearch(w.guards, fact)
			found := anything
			if w.pointers[a.Symbol] {
				found = d.constant(term{isPointer, uint64(guard)})
			}
			return d.branch(int32(guard), d.constant(number(0)), found)
		}
		if ok {
			return d.constant(d.address(a))
		}
		return anything
	}
	return w.diagram.constant(number(uint64(int64(i.Imm))))
}

func (w *walk) store(f *function, at int, s *state) {
	i, value := f.Insns[at], s.reach
	if _, relocated := f.Relocations[at]; relocated {
		s.escape()
		return
	}
	if i.Class() == bpfobj.ClassSTX && i.Op&0xe0 == modeMem {
		value = s.regs[i.Src]
	}
	s.store(w.diagram, i.Dst, i.Off, sizeOf(i.Op), value)
	if i.Class() != bpfobj.ClassSTX || i.Op&0xe0 != modeAtomic {
		return
	}
	// Some atomic operations write the old value to r0 or to the source register; load_acquire writes
	// it to the destination register.
	for _, reg := range []uint8{0, i.Src, i.Dst} {
		if reg == i.Dst && i.Imm != loadAcquire || reg == framePointer {
			continue
		}
		s.forget(reg)
	}
}

// loadAcquire is the immediate of an atomic load: BPF_LOAD_ACQ.
const loadAcquire = 0x100

func (w *walk) calculate(f *function, at int, s *state) {
	d, i := w.diagram, f.Insns[at]
	x, y := s.regs[i.Dst], w.immediate(f, at)
	if i.Op&sourceBit != 0 {
		y = s.regs[i.Src]
		if _, relocated := f.Relocations[at]; relocated {
			y = s.reach
		}
	}
	y = d.apply(within, y, s.reach)
	op := operation(i.Op &^ sourceBit)
	if op&0xf0 == aluMov {
		x = y
	}
	value := d.apply(op, x, y)
	if i.Off != 0 { // mov with sign extension or to another address space, signed division
		value = s.reach
		op = 0
	}
	if op != mov64 && (d.traits[x].wild || d.traits[y].wild || d.traits[value].wild) {
		s.escape()
	}
	s.set(d, i.Dst, value)
}

// jump analyzes a jump, a call or an exit.
func (w *walk) jump(f *function, at int, s state) {
	d, i := w.diagram, f.Insns[at]
	op := operation(i.Op &^ sourceBit)
	narrow := i.Class() == bpfobj.ClassJMP32
	to := at + 1 + int(i.Off)
	switch code := i.Op & 0xf0; {
	case code == jumpAlways && i.Op&sourceBit != 0:
		d.full = true // a jump whose target is in a table
	case code == jumpAlways && narrow:
		w.flow(f, at+1+int(i.Imm), s)
	case code == jumpAlways:
		w.flow(f, to, s)
	case code == jumpCall && !narrow:
		w.call(f, at, s)
	case code == jumpExit && !narrow:
		if r := d.apply(join, f.returns, d.apply(foreign, s.regs[0], s.regs[0])); r != f.returns {
			f.returns = r
			for _, caller := range f.callers {
				w.push(caller)
			}
		}
	case code == jumpPerhaps:
		w.flow(f, to, s)
		w.flow(f, at+1, s)
	default:
		x, y := s.regs[i.Dst], s.regs[i.Src]
		if i.Op&sourceBit == 0 {
			y = w.immediate(f, at)
		}
		if _, relocated := f.Relocations[at]; relocated {
			y = anything
		}
		w.flow(f, to, s.restrict(d, d.apply(op, x, y)))
		w.flow(f, at+1, s.restrict(d, d.apply(op|notTaken, x, y)))
	}
}

// call analyzes a call. The verifier checks a static function at each call, so it knows the values
// of the arguments there. It checks a global function separately, with unknown arguments.
func (w *walk) call(f *function, at int, s state) {
	d, to := w.diagram, w.index[f.Calls[at]]
	if f.shares || to != nil && !to.Global {
		for _, reg := range s.regs[1:6] {
			if d.traits[reg].frame {
				s.escape()
			}
		}
	}
	s.clobber(d, s.low)
	if to != nil && to.Global {
		w.enter(to, s.reach, false)
	}
	if to == nil || to.Global {
		s.forget(0, 1, 2, 3, 4, 5)
		w.flow(f, at+1, s)
		return
	}
	if caller := (place{f.number, at}); !slices.Contains(to.callers, caller) {
		to.callers = append(to.callers, caller)
	}
	w.flow(to, 0, d.entryState(s.reach, s.regs))
	s = s.restrict(d, to.returns)
	s.forget(1, 2, 3, 4, 5)
	s.regs[0] = d.apply(within, to.returns, s.reach)
	w.flow(f, at+1, s)
}
