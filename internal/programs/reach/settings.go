package reach

import (
	"math"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// settings are values that the verifier knows when it checks a program, but that the object file
// doesn't show. Some are facts, which are known for each kernel: the answers to relocations. Others
// aren't: what is in .rodata, which a loader may set; what is in .kconfig, such as
// LINUX_KERNEL_VERSION; whether symbols exist that aren't in BTF; and whether the verifier checks
// global functions that it doesn't reach. If a jump compares such values, the verifier follows the
// jump only one way, but we don't know which. So the comparison is a choice, which is like a guard.
// If a choice compares only facts, it is a Test in conditions. Choices are numbered after all
// guards.
// Rule: values that only the verifier knows: .rodata, .kconfig, symbols. Source:
// kernel/bpf/verifier.c check_mem_access, bpf_map_is_rdonly.
type settings struct {
	off        level
	first      int32
	values     map[setting]uint64
	list       []known // by number
	choices    map[choice]int32
	choiceList []choice // by number, from first
	blocks     map[block]uint64
	full       bool
}

// level says which values count as unknown, like most others, because a program has too many.
type level uint8

const (
	allKnown level = iota
	onlyFacts
	noneKnown
)

// setting is a value that only the verifier knows: the result of a load, the address of a weak
// symbol, a fact, or the result of an operation with another setting.
type setting struct {
	op   operation // of a load or calculation, isFact, or 0 for an address
	x, y term
}

// known is a setting, and how it is calculated.
type known struct {
	setting
	facts  bool // only from facts and constants
	small  bool // less than 1<<31
	tokens int  // in a test with this setting
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
	case s.off > allKnown || int64(int32(a.Offset)) != a.Offset:
		return term{kind: isAnything}
	case a.ReadOnly():
		return term{isData, s.block(a)<<32 | uint64(uint32(a.Offset))}
	case a.IsWeak():
		return s.value(known{setting: setting{x: number(s.block(a))}})
	}
	return term{kind: isAnything}
}

// fact returns the value of a fact about the kernel: the answer to a relocation of this kind. Only
// the values of enumerators may be large or negative.
func (s *settings) fact(fact int, kind core.Kind) term {
	if s.off > onlyFacts {
		return term{kind: isAnything}
	}
	return s.value(known{setting{isFact, number(uint64(fact)), term{}}, true,
		kind != core.EnumvalValue, 1})
}

// value returns the term of a setting.
func (s *settings) value(v known) term {
	n, ok := s.values[v.setting]
	if !ok {
		if len(s.list) == maxSettings || v.tokens >= maxTest/2 {
			return term{kind: isAnything}
		}
		if s.values == nil {
			s.values = map[setting]uint64{}
		}
		n = uint64(len(s.list))
		s.values[v.setting] = n
		s.list = append(s.list, v)
	}
	return term{isSetting, n}
}

// known returns what is known about a term that is a number or a setting.
func (s *settings) known(t term) known {
	if t.kind == isNumber {
		return known{facts: true, small: t.value < 1<<31, tokens: 1}
	}
	return s.list[t.value]
}

// load returns the value that is loaded from an address.
func (s *settings) load(op uint8, x, y term) term {
	if x.kind != isData {
		return term{kind: isAnything}
	}
	return s.value(known{setting: setting{loads + operation(op), add32(x, y), term{}}})
}

// add32 adds y to the offset of x, an address in data.
func add32(x, y term) term {
	return term{isData, x.value&^(1<<32-1) | uint64(uint32(x.value)+uint32(y.value))}
}

// calculate evaluates an ALU instruction if its result is a setting or an address in data.
func (s *settings) calculate(code uint8, wide bool, x, y term) (t term, ok bool) {
	op := operation(code) | bpfobj.ClassALU
	if wide {
		op = operation(code) | bpfobj.ClassALU64
	}
	switch {
	case code == aluMov:
		if y.kind != isSetting || wide {
			return term{}, false
		}
		if s.known(y).small {
			return y, true
		}
		return s.calculate(aluAnd, true, y, number(math.MaxUint32))
	case code == aluAdd && wide && x.kind == isData && y.kind == isNumber:
		return add32(x, y), int64(int32(y.value)) == int64(y.value)
	case !areKnown(x, y) || aluSigns[operation(code)] == "":
		return term{}, false
	case x == number(0) && (code == aluAdd || code == aluOr || code == aluXor):
		t, ok := s.calculate(aluMov, wide, x, y)
		if !ok {
			t = y
		}
		return t, true
	case (code == aluLsh || code == aluRsh || code == aluSar) &&
		(y.kind != isNumber || y.value > 63 || y.value > 31 && !wide):
		return term{kind: isAnything}, true
	}
	a, b := s.known(x), s.known(y)
	if shifted := (setting{aluLsh | bpfobj.ClassALU64, a.x, y}); code == aluRsh && wide &&
		y == number(32) && a.setting == shifted { // without 32-bit instructions
		return s.calculate(aluMov, false, x, a.x)
	}
	small := a.small && b.small && (code == aluAnd || code == aluOr || code == aluXor)
	return s.value(known{setting{op, x, y}, a.facts && b.facts, small, a.tokens + b.tokens + 1}), true
}

// areKnown reports whether two terms are settings or numbers, and at least one is a setting.
func areKnown(x, y term) bool {
	known := func(t term) bool { return t.kind == isSetting || t.kind == isNumber }
	return known(x) && known(y) && (x.kind == isSetting || y.kind == isSetting)
}

// compare returns the number of the choice for a conditional jump that compares a setting. The jump
// is taken if the choice has the outcome sense.
func (s *settings) compare(op uint8, x, y term) (guard int32, sense, ok bool) {
	if !areKnown(x, y) {
		return 0, false, false
	}
	c, sense := choice{op, x, y}.normal(s.known(x).small && s.known(y).small)
	if _, found := s.choices[c]; !found && len(s.choices) >= maxChoices {
		s.full = true
		return 0, false, false
	}
	return s.choice(c), sense, true
}

// choice returns the number of a choice.
func (s *settings) choice(c choice) int32 {
	n, found := s.choices[c]
	if !found {
		if s.choices == nil {
			s.choices = map[choice]int32{}
		}
		n = s.first + int32(len(s.choices))
		s.choices[c] = n
		s.choiceList = append(s.choiceList, c)
	}
	return n
}

// checksAll returns the number of the choice whether the verifier checks all global functions.
func (s *settings) checksAll() int32 { return s.choice(choice{}) }

// test returns the test for a choice, and whether the choice compares only facts.
func (s *settings) test(guard int32) (Test, bool) {
	c := s.choiceList[guard-s.first]
	if c == (choice{}) {
		return nil, false
	}
	return append(append(s.tokens(c.x), s.tokens(c.y)...), token{op: operation(c.op)}),
		s.known(c.x).facts && s.known(c.y).facts
}

// tokens returns the tokens of a term that is a number or a setting.
func (s *settings) tokens(t term) Test {
	switch v := s.known(t); {
	case t.kind == isNumber:
		return Test{{isConstant, t.value}}
	case v.op == isFact:
		return Test{{isFact, v.x.value}}
	case v.facts:
		return append(append(s.tokens(v.x), s.tokens(v.y)...), token{op: v.op})
	}
	return nil
}

// possible returns the condition under which a node is reached for some settings.
func (d *diagram) possible(r ref) ref { return d.quantify(r, join, map[ref]ref{}) }

// certain returns the condition under which a node is reached for all settings.
func (d *diagram) certain(r ref) ref { return d.quantify(r, within, map[ref]ref{}) }

// quantify removes the choices that don't compare only facts.
func (d *diagram) quantify(r ref, op operation, done map[ref]ref) ref {
	n := d.nodes[r]
	if n.guard == noGuard {
		return r
	}
	if q, ok := done[r]; ok {
		return q
	}
	missing, found := d.quantify(n.missing, op, done), d.quantify(n.found, op, done)
	facts := n.guard < d.settings.first
	if !facts {
		_, facts = d.settings.test(n.guard)
	}
	q := d.branch(n.guard, missing, found)
	if !facts {
		q = d.apply(op, missing, found)
	}
	done[r] = q
	return q
}
