package reach

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math/rand"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var randomPrograms = flag.Int("programs", 200, "how many random programs TestVerifierRandom makes")

// generator writes random functions whose registers r0 and r6 to r9 always hold numbers.
type generator struct {
	*rand.Rand
	*bpfobj.Function
	callee *bpfobj.Function
	starts []int       // the first instructions of statements
	jumps  map[int]int // by jump instruction: the index of the statement to which it jumps
	loops  bool        // there may be jumps backwards, for which the verifier needs much time
}

func (g *generator) add(op, dst, src uint8, off int16, imm int32) {
	g.Insns = append(g.Insns, bpfobj.Insn{Op: op, Dst: dst, Src: src, Off: off, Imm: imm})
}

func (g *generator) reg() uint8 { return []uint8{0, 6, 7, 8, 9}[g.Intn(5)] }

// guard makes the next instruction a guard.
func (g *generator) guard() {
	n := g.Intn(4)
	kind := core.FieldExists
	if n >= 2 {
		kind = core.TypeSize
	}
	g.Relocations[len(g.Insns)] = core.Relocation{Kind: kind, Type: uint32(n), Access: "0"}
}

func (g *generator) imm() int32 { return []int32{0, 0, 0, 1, 1, 1, 2, 3, -1, 8, 255}[g.Intn(11)] }

// slot returns the offset and size of a random access to the stack.
func (g *generator) slot() (off int16, size uint8) {
	off = -8 * int16(1+g.Intn(4))
	switch g.Intn(5) {
	case 0:
		return off + 4*int16(g.Intn(2)), 0x00 // 4 bytes
	case 1:
		return off + int16(g.Intn(8)), 0x10 // 1 byte
	}
	return off, 0x18
}

// pointer sets a register to a random address in the stack.
func (g *generator) pointer(reg uint8) {
	g.add(0xbf, reg, 10, 0, 0)
	g.add(0x07, reg, 0, 0, -8*int32(1+g.Intn(4)))
	if g.Intn(10) == 0 {
		by := g.reg()
		g.guard()
		g.add(0xb7, by, 0, 0, 1)
		g.add(0x67, by, 0, 0, 3)
		g.add(0x0f, reg, by, 0, 0)
	}
	if g.Intn(6) == 0 {
		g.add(0x07, reg, 0, 0, 8*int32(g.Intn(3)-1))
	}
}

func (g *generator) statement() {
	alu := []uint8{0x00, 0x10, 0x20, 0x40, 0x50, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0x30, 0x80, 0x90}
	class := []uint8{4, 7, 7}[g.Intn(3)]
	op := alu[g.Intn(len(alu))]
	switch g.Intn(22) {
	case 0, 1, 20:
		g.guard()
		g.add(0xb0|class, g.reg(), 0, 0, 1)
	case 2:
		g.guard()
		g.add(alu[g.Intn(10)]|class, g.reg(), 0, 0, 1)
	case 3, 4:
		if op == 0x30 || op == 0x90 || op == 0x80 {
			op = 0xb0
		}
		imm := g.imm()
		if op == 0x60 || op == 0x70 || op == 0xc0 {
			imm &= 31
		}
		g.add(op|class, g.reg(), 0, 0, imm)
	case 5, 6:
		src := g.reg()
		if op == 0x80 { // neg
			g.add(op|class, g.reg(), 0, 0, 0)
		} else {
			g.add(op|class|sourceBit, g.reg(), src, 0, 0)
		}
	case 7, 8:
		off, size := g.slot()
		g.add(0x63|size, 10, g.reg(), off, 0)
	case 9, 10:
		off, size := g.slot()
		g.add(0x61|size, g.reg(), 10, off, 0)
	case 11:
		g.pointer(1)
		g.add(0x63|0x18, 1, g.reg(), int16(g.Intn(3)-1)*8, 0)
	case 12:
		g.pointer(1)
		g.add(0xb7, 2, 0, 0, 8)
		g.add(0xb7, 3, 0, 0, 0)
		g.add(opCall, 0, 0, 0, 113) // probe_read_kernel
	case 13:
		g.add(opCall, 0, 0, 0, 7) // get_prandom_u32
	case 14:
		if g.callee == nil {
			return
		}
		g.add(0xbf, 1, g.reg(), 0, 0)
		g.add(0xbf, 2, g.reg(), 0, 0)
		g.pointer(3)
		g.Calls[len(g.Insns)] = g.callee
		g.add(opCall, 0, 1, 0, 0)
	case 15, 16:
		g.Relocations[len(g.Insns)] = core.Relocation{Kind: core.FieldByteOffset,
			Type: uint32(len(g.Insns))}
		g.add(0xb7, g.reg(), 0, 0, 1)
	default:
		jumps := []uint8{0x10, 0x10, 0x20, 0x30, 0x40, 0x50, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0}
		op := jumps[g.Intn(len(jumps))] | uint8(5+g.Intn(2))
		if g.Intn(3) == 0 {
			op |= sourceBit
		}
		to := 1 + g.Intn(8)
		if g.loops && g.Intn(20) == 0 {
			to = -to
		}
		g.jumps[len(g.Insns)] = max(0, len(g.starts)-1+to)
		imm := g.imm()
		if op&sourceBit != 0 {
			imm = 0
		}
		src := uint8(0)
		if op&sourceBit != 0 {
			src = g.reg()
		}
		g.add(op, g.reg(), src, 0, imm)
	}
}

// randomFunction returns a function that may call callee with two numbers and an address.
func randomFunction(r *rand.Rand, n int, callee *bpfobj.Function) *bpfobj.Function {
	g := &generator{r, &bpfobj.Function{Relocations: map[int]core.Relocation{},
		Calls: map[int]*bpfobj.Function{}, Program: callee != nil}, callee, nil, map[int]int{},
		r.Intn(40) == 0}
	if callee == nil {
		g.add(0xbf, 6, 1, 0, 0)
		g.add(0xbf, 7, 2, 0, 0)
		g.add(0x7b, 3, 6, 0, 0)
	} else {
		g.guard()
		g.add(0xb7, 6, 0, 0, 1)
		g.guard()
		g.add(0xb7, 7, 0, 0, 1)
	}
	g.guard()
	g.add(0xb7, 8, 0, 0, 1)
	g.add(0xb7, 9, 0, 0, 0)
	g.add(opCall, 0, 0, 0, 7)
	for at := int16(-32); at < 0; at += 8 {
		g.add(0x7b, 10, g.reg(), at, 0)
	}
	for range n {
		g.starts = append(g.starts, len(g.Insns))
		g.statement()
	}
	for at, to := range g.jumps {
		target := len(g.Insns)
		if to < n {
			target = g.starts[to]
		}
		g.Insns[at].Off = int16(target - at - 1)
	}
	for at, r := range g.Relocations {
		if r.Kind == core.TypeSize {
			g.Insns[at].Imm = map[uint32]int32{2: 40, 3: 3}[r.Type]
		}
	}
	g.add(0x95, 0, 0, 0, 0)
	return g.Function
}

// patched returns a program that consists of these functions, with these outcomes of the guards,
// and with poison at one site.
func patched(t *testing.T, functions []*bpfobj.Function, found map[question]bool,
	poisoned Site) *ebpf.ProgramSpec {
	var data []byte
	for _, f := range functions {
		for at, i := range f.Insns {
			if r, ok := f.Relocations[at]; ok && r.Kind.IsGuard() {
				i.Imm = int32(answer(f, at, found))
			}
			if f.Calls[at] != nil { // the last function
				i.Imm = int32(len(f.Insns) - at - 1)
			}
			if (Site{f, at}) == poisoned {
				i = bpfobj.Insn{Op: opCall, Imm: poison}
			}
			data = append(data, i.Op, i.Dst|i.Src<<4)
			data = binary.LittleEndian.AppendUint16(data, uint16(i.Off))
			data = binary.LittleEndian.AppendUint32(data, uint32(i.Imm))
		}
	}
	insns, err := asm.AppendInstructions(nil, bytes.NewReader(data), binary.LittleEndian, "linux")
	must.OK(t, err)
	return &ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: insns}
}

// TestVerifierRandom looks for random programs that the running kernel's verifier refuses although
// the condition of the poisoned relocation doesn't hold.
func TestVerifierRandom(t *testing.T) {
	if err := needKernel(); err != nil {
		t.Skip("SKIPPED: the kernel doesn't load BPF programs here: ", err)
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("SKIPPED: the instructions are little-endian, but this machine isn't")
	}
	guards := []question{{core.FieldExists, 0, "0"}, {core.FieldExists, 1, "0"},
		{core.TypeSize, 2, "0"}, {core.TypeSize, 3, "0"}}
	var others, agree, unreachable, cautious int
	for seed := range int64(*randomPrograms) {
		r := rand.New(rand.NewSource(seed))
		callee := randomFunction(r, 12, nil)
		functions := []*bpfobj.Function{randomFunction(r, 30, callee), callee}
		if f := functions[0]; seed%2 == 0 {
			functions = functions[:1]
			for at := range f.Calls {
				f.Insns[at] = bpfobj.Insn{Op: opCall, Imm: 7}
			}
			clear(f.Calls)
		} else if len(f.Calls) == 0 {
			continue
		}
		analysis := Analyze(functions[0], nil)
		conditions := analysis.Conditions
		outcomes(guards, func(found map[question]bool) {
			program, err := ebpf.NewProgram(patched(t, functions, found, Site{}))
			if err != nil {
				others++
				return
			}
			program.Close()
			for site, c := range conditions {
				if questionOf(site.Function.Relocations[site.Insn]).kind.IsGuard() {
					continue
				}
				refused := !accepts(t, patched(t, functions, found, site))
				switch expected := holds(analysis, c, found); {
				case refused && !expected:
					t.Errorf("seed %d, outcomes %v: the verifier reached the instruction %d\n%v", seed, found,
						site.Insn, patched(t, functions, found, site).Instructions)
				case expected && !refused:
					cautious++
				case !expected:
					unreachable++
				default:
					agree++
				}
			}
		})
	}
	t.Logf("sites: %d reached, %d not reached, %d not reached although the condition holds; "+
		"%d programs refused for other reasons", agree, unreachable, cautious, others)
}
