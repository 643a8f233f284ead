package reach

import (
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
)

// settings are values that the verifier knows when it checks a program, but that the object file
// doesn't show: what is in .rodata, which a loader may set; what is in .kconfig, such as
// LINUX_KERNEL_VERSION; and whether weak symbols exist. If a jump compares such values, the
// verifier follows the jump only one way, but we don't know which. So the comparison is a choice,
// which is like a guard, but without a relocation. Choices are numbered after all guards.
type settings struct {
	off     bool // such values count as unknown, like most others
	first   int32
	values  map[setting]uint64
	choices map[choice]int32
	blocks  map[block]uint64
	full    bool
}

// setting is a value that only the verifier knows: the result of a load, the address of a weak
// symbol, or the result of an operation with another setting.
type setting struct {
	op   operation // of a load or calculation, 0 for an address
	x, y term
}

// block is a data section, or an external symbol.
type block struct{ section, symbol string }

// choice is a comparison.
type choice struct {
	op   uint8
	x, y term
}

const (
	maxChoices  = 64
	maxSettings = 1 << 12
)

// block returns the number of a block.
func (s *settings) block(a bpfobj.Address) uint64 {
	b := block{a.Map, a.Symbol}
	n, ok := s.blocks[b]
	if !ok {
		if s.blocks == nil {
			s.blocks = map[block]uint64{}
		}
		n = uint64(len(s.blocks))
		s.blocks[b] = n
	}
	return n
}

// address returns the value of an instruction that loads an address.
func (s *settings) address(a bpfobj.Address) term {
	switch {
	case s.off || int64(int32(a.Offset)) != a.Offset:
		return term{kind: isAnything}
	case a.ReadOnly():
		return term{isData, s.block(a)<<32 | uint64(uint32(a.Offset))}
	case a.IsWeak():
		return s.value(setting{x: number(s.block(a))})
	}
	return term{kind: isAnything}
}

// value returns the term of a setting.
func (s *settings) value(v setting) term {
	n, ok := s.values[v]
	if !ok {
		if len(s.values) == maxSettings {
			return term{kind: isAnything}
		}
		if s.values == nil {
			s.values = map[setting]uint64{}
		}
		n = uint64(len(s.values))
		s.values[v] = n
	}
	return term{isSetting, n}
}

// load returns the value that is loaded from an address.
func (s *settings) load(op uint8, x, y term) term {
	if x.kind != isData {
		return term{kind: isAnything}
	}
	return s.value(setting{loads + operation(op), add32(x, y), term{}})
}

// add32 adds y to the offset of x, an address in data.
func add32(x, y term) term {
	return term{isData, x.value&^(1<<32-1) | uint64(uint32(x.value)+uint32(y.value))}
}

// calculate evaluates an ALU instruction if its result is a setting or an address in data.
func (s *settings) calculate(code uint8, wide bool, x, y term) (t term, ok bool) {
	op := operation(code)
	if wide {
		op |= bpfobj.ClassALU64
	} else {
		op |= bpfobj.ClassALU
	}
	known := func(t term) bool { return t.kind == isSetting || t.kind == isNumber }
	switch {
	case code == aluMov:
		if y.kind != isSetting || wide {
			return term{}, false
		}
		return s.value(setting{op, y, term{}}), true
	case code == aluAdd && wide && x.kind == isData && y.kind == isNumber:
		return add32(x, y), int64(int32(y.value)) == int64(y.value)
	case known(x) && known(y) && (x.kind == isSetting || y.kind == isSetting):
		return s.value(setting{op, x, y}), true
	}
	return term{}, false
}

// opposites maps some conditional jumps to the jump with the opposite condition.
var opposites = map[uint8]uint8{jumpNe: jumpEq, jumpLe: jumpGt, jumpLt: jumpGe, jumpSle: jumpSgt,
	jumpSlt: jumpSge}

// compare returns the number of the choice for a conditional jump that compares a setting. The jump
// is taken if the choice has the outcome sense.
func (s *settings) compare(op uint8, x, y term) (guard int32, sense, ok bool) {
	known := func(t term) bool { return t.kind == isSetting || t.kind == isNumber }
	if !known(x) || !known(y) || x.kind != isSetting && y.kind != isSetting {
		return 0, false, false
	}
	sense = true
	if opposite, ok := opposites[op&0xf0]; ok {
		op, sense = op&^0xf0|opposite, false
	}
	c := choice{op, x, y}
	n, found := s.choices[c]
	if !found {
		if len(s.choices) == maxChoices {
			s.full = true
			return 0, false, false
		}
		if s.choices == nil {
			s.choices = map[choice]int32{}
		}
		n = s.first + int32(len(s.choices))
		s.choices[c] = n
	}
	return n, sense, true
}

// possible returns the condition under which a node is reached for some settings.
func (d *diagram) possible(r ref) ref { return d.quantify(r, join, map[ref]ref{}) }

// certain returns the condition under which a node is reached for all settings.
func (d *diagram) certain(r ref) ref { return d.quantify(r, within, map[ref]ref{}) }

func (d *diagram) quantify(r ref, op operation, done map[ref]ref) ref {
	n := d.nodes[r]
	if n.guard == noGuard {
		return r
	}
	if q, ok := done[r]; ok {
		return q
	}
	missing, found := d.quantify(n.missing, op, done), d.quantify(n.found, op, done)
	q := d.branch(n.guard, missing, found)
	if n.guard >= d.settings.first {
		q = d.apply(op, missing, found)
	}
	done[r] = q
	return q
}
