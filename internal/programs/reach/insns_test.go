package reach

import (
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// Instructions for the tests below. The instruction site has a relocation that isn't a guard, so it
// may be poisoned.
type insns = []bpfobj.Insn

var (
	site       = bpfobj.Insn{Op: 0xb7, Imm: 0x5173}
	exit       = bpfobj.Insn{Op: 0x95}
	random     = bpfobj.Insn{Op: opCall, Imm: 7}
	readKernel = bpfobj.Insn{Op: opCall, Imm: 113}
	callStatic = bpfobj.Insn{Op: opCall, Src: 1}
)

func guard(reg uint8) bpfobj.Insn            { return bpfobj.Insn{Op: 0xb7, Dst: reg, Imm: 0x9a4d} }
func imm(op, reg uint8, v int32) bpfobj.Insn { return bpfobj.Insn{Op: op, Dst: reg, Imm: v} }
func reg(op, dst, src uint8) bpfobj.Insn     { return bpfobj.Insn{Op: op, Dst: dst, Src: src} }
func set(reg uint8, v int32) bpfobj.Insn     { return imm(0xb7, reg, v) }
func add(reg uint8, v int32) bpfobj.Insn     { return imm(0x07, reg, v) }
func move(dst, src uint8) bpfobj.Insn        { return reg(0xbf, dst, src) }
func load(dst, src uint8, off int16) bpfobj.Insn {
	return bpfobj.Insn{Op: 0x79, Dst: dst, Src: src, Off: off}
}
func store(dst uint8, off int16, src uint8) bpfobj.Insn {
	return bpfobj.Insn{Op: 0x7b, Dst: dst, Src: src, Off: off}
}
func jump(op, reg uint8, off int16) bpfobj.Insn { return bpfobj.Insn{Op: op, Dst: reg, Off: off} }

// unless(op, reg) returns the end of a function: a jump with the opcode op, which compares a
// register with 0, and then the instruction called site, which is skipped if the jump is taken.
func unless(op, reg uint8) insns { return insns{jump(op, reg, 1), site, set(0, 0), exit} }

const ifZero, ifNot = 0x15, 0x55

var sequences = []struct {
	name         string
	code, callee insns
	end          insns // of the code, or of the callee
	want         string
}{
	{name: "a spilled guard", code: insns{guard(6), store(10, -16, 6), random, load(7, 10, -16)},
		end: unless(ifZero, 7), want: "found"},
	{name: "a helper writes above the guard", code: insns{guard(6), store(10, -16, 6), move(1, 10),
		add(1, -8), set(2, 8), set(3, 0), readKernel, load(7, 10, -16)}, end: unless(ifZero, 7),
		want: "found"},
	{name: "a helper writes from below", code: insns{guard(6), store(10, -16, 6), move(1, 10),
		add(1, -24), set(2, 16), set(3, 0), readKernel, load(7, 10, -16)}, end: unless(ifZero, 7),
		want: "always"},
	{name: "a static function writes below an address",
		code: insns{guard(6), store(10, -8, 6), store(10, -16, 6), move(1, 10), add(1, -8), callStatic,
			load(7, 10, -16)}, end: unless(ifZero, 7),
		callee: insns{add(1, -8), set(2, 1), store(1, 0, 2), set(0, 0), exit}, want: "always"},
	{name: "a variable address", code: insns{guard(6), store(10, -8, 6), store(10, -16, 6), random,
		imm(0x57, 0, 8), move(1, 10), add(1, -16), reg(0x0f, 1, 0), set(2, 1), store(1, 0, 2),
		load(7, 10, -16)}, end: unless(ifZero, 7), want: "always"},
	{name: "a variable address below", code: insns{guard(6), store(10, -8, 6), store(10, -16, 6),
		random, imm(0x57, 0, 8), add(0, -8), move(1, 10), add(1, -8), reg(0x0f, 1, 0), set(2, 1),
		store(1, 0, 2), load(7, 10, -16)}, end: unless(ifZero, 7), want: "always"},
	{name: "one of two addresses", code: insns{guard(6), store(10, -16, 6), store(10, -24, 6), random,
		move(1, 10), add(1, -8), jump(ifZero, 0, 2), move(1, 10), add(1, -16), set(2, 1),
		store(1, -8, 2), load(7, 10, -24)}, end: unless(ifZero, 7), want: "always"},
	{name: "an address on one path", code: insns{guard(6), store(10, -16, 6), random, set(7, 0),
		jump(ifZero, 0, 2), move(7, 10), add(7, -16), jump(ifZero, 7, 4), move(1, 7), set(2, 8),
		set(3, 0), readKernel, load(7, 10, -16)}, end: unless(ifZero, 7), want: "always"},
	{name: "an address on one path, then below", code: insns{guard(6), store(10, -16, 6), random,
		set(7, 0), jump(ifZero, 0, 2), move(7, 10), add(7, -8), jump(ifZero, 7, 5), add(7, -8),
		move(1, 7), set(2, 8), set(3, 0), readKernel, load(7, 10, -16)}, end: unless(ifZero, 7),
		want: "always"},
	{name: "the stack of the caller", code: insns{store(10, -8, 10), move(1, 10), add(1, -8),
		callStatic, exit}, callee: insns{guard(6), store(10, -8, 6), set(2, 1), store(1, 0, 2),
		load(7, 10, -8)}, end: unless(ifZero, 7), want: "found"},
	{name: "two returns", code: insns{callStatic}, callee: insns{random, jump(ifZero, 0, 2),
		guard(0), exit, set(0, 0), exit}, end: unless(ifZero, 0), want: "found"},
	{name: "a 32-bit comparison", code: insns{guard(6), imm(0x67, 6, 32)}, end: unless(0x16, 6),
		want: "never"},
	{name: "a 32-bit addition", code: insns{guard(6), imm(0x04, 6, -1)}, end: unless(0x65, 6),
		want: "found"}, // s> 0
	{name: "a shift that is too wide", code: insns{set(7, 64), set(8, 1), reg(0x6f, 8, 7)},
		end: unless(ifZero, 8), want: "always"},
	{name: "and with an unknown value", code: insns{random, guard(6), reg(0x5f, 0, 6)},
		end: unless(ifZero, 0), want: "found"},
	{name: "half a slot", code: insns{guard(6), {Op: 0x63, Dst: 10, Src: 6, Off: -4},
		{Op: 0x61, Dst: 7, Src: 10, Off: -4}}, end: unless(ifZero, 7), want: "found"},
	{name: "half a slot that isn't zero", code: insns{guard(6), imm(0xa7, 6, 1),
		{Op: 0x63, Dst: 10, Src: 6, Off: -4}, {Op: 0x61, Dst: 7, Src: 10, Off: -4}},
		end: unless(ifNot, 7), want: "always"},
	{name: "an atomic exchange", code: insns{guard(6), store(10, -8, 6),
		{Op: 0xdb, Dst: 10, Src: 6, Off: -8, Imm: 0xe1}, random, load(7, 10, -8)},
		end: unless(ifZero, 7), want: "always"},
	{name: "may_goto", code: insns{guard(6), {Op: 0xe5, Off: 1}, set(6, 0)}, end: unless(ifZero, 6),
		want: "found"},
}

// makeFunctions makes functions from instructions, with their relocations and calls.
func makeFunctions(code, callee insns) []*bpfobj.Function {
	functions := []*bpfobj.Function{{Insns: code}, {Insns: callee}}
	for _, f := range functions {
		f.Relocations, f.Calls = map[int]core.Relocation{}, map[int]*bpfobj.Function{}
		for at, i := range f.Insns {
			switch {
			case i == site:
				f.Relocations[at] = core.Relocation{Kind: core.FieldByteOffset}
			case i == guard(i.Dst):
				f.Relocations[at] = core.Relocation{Kind: core.FieldExists}
			case i == callStatic:
				f.Calls[at] = functions[1]
			}
		}
	}
	if len(callee) == 0 {
		functions = functions[:1]
	}
	return functions
}

// TestSequences analyzes instructions that clang rarely writes. If programs can be loaded here, the
// running kernel's verifier must agree with the conditions.
func TestSequences(t *testing.T) {
	for _, s := range sequences {
		t.Run(s.name, func(t *testing.T) {
			code, callee := append(s.code[:len(s.code):len(s.code)], s.end...), s.callee
			if n := len(s.code); s.code[n-1] == exit {
				code, callee = s.code, append(callee[:len(callee):len(callee)], s.end...)
			}
			functions := makeFunctions(code, callee)
			asked := question{kind: core.FieldExists}
			analysis := Analyze(functions[0], nil)
			for place, c := range analysis.Conditions {
				if place.Function.Insns[place.Insn] != site {
					continue
				}
				missing, found := holds(analysis, c, nil), holds(analysis, c, map[question]bool{asked: true})
				got := map[[2]bool]string{{true, true}: "always", {false, true}: "found",
					{true, false}: "!found", {false, false}: "never"}[[2]bool{missing, found}]
				if got != s.want {
					t.Errorf("got %s, want %s", got, s.want)
				}
				if needKernel() != nil || binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
					continue
				}
				for _, outcome := range []bool{false, true} {
					answers := map[question]bool{asked: outcome}
					program, err := ebpf.NewProgram(patched(t, functions, answers, Site{}))
					if err != nil {
						t.Fatalf("%+v", err)
					}
					program.Close()
					if refused := !accepts(t, patched(t, functions, answers, place)); refused !=
						holds(analysis, c, answers) {
						t.Errorf("if the guard's outcome is %t, the verifier refuses: %t", outcome, refused)
					}
				}
			}
		})
	}
}

// TestLimits analyzes programs that exceed the limits, because their conditions would be too large.
func TestLimits(t *testing.T) {
	many := &bpfobj.Function{Relocations: map[int]core.Relocation{}}
	add := func(n int, insn bpfobj.Insn) {
		many.Relocations[len(many.Insns)] = core.Relocation{Kind: core.FieldExists, Type: uint32(n)}
		many.Insns = append(many.Insns, insn)
	}
	for n := range maxGuards { // all sums of powers of two
		add(n, guard(6))
		many.Insns = append(many.Insns, imm(0x67, 6, int32(n)), reg(0x0f, 7, 6))
	}
	many.Insns = append(insns{set(7, 0)}, many.Insns...)
	shifted := map[int]core.Relocation{}
	for at, r := range many.Relocations {
		shifted[at+1] = r
	}
	many.Relocations = shifted
	many.Insns = append(many.Insns, unless(ifZero, 7)...)
	at := len(many.Insns) - 3
	many.Relocations[at] = core.Relocation{Kind: core.FieldByteOffset}
	c := Analyze(many, nil).Conditions[Site{many, at}]
	if len(c) != 1 || len(c[0]) != 0 {
		t.Errorf("got %v, want always", c)
	}
	few := makeFunctions(append(insns{guard(6)}, unless(ifZero, 6)...), nil)[0]
	for n := range maxGuards + 1 {
		few.Relocations[len(few.Insns)+n] = core.Relocation{Kind: core.FieldExists, Type: uint32(n)}
	}
	if c := Analyze(few, nil).Conditions[Site{few, 2}]; len(c) != 1 || len(c[0]) != 0 {
		t.Errorf("got %v, want always", c)
	}
}
