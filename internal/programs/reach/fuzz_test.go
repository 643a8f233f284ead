package reach

import (
	"encoding/binary"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// garbage makes functions from bytes. For each instruction it takes 8 bytes, and one more for the
// instruction's relocation or callee.
func garbage(data []byte) *bpfobj.Function {
	functions := []*bpfobj.Function{{Name: "entry"}, {Name: "static"}, {Name: "global", Global: true}}
	for _, f := range functions {
		f.Relocations, f.Calls = map[int]core.Relocation{}, map[int]*bpfobj.Function{}
	}
	for n := 0; len(data) >= 9; data, n = data[9:], n+1 {
		f := functions[min(n/40, 2)]
		switch b := data[8]; {
		case b < 4:
			f.Calls[len(f.Insns)] = functions[b%3]
		case b >= 128:
			f.Relocations[len(f.Insns)] = core.Relocation{Kind: core.Kind(b % 14), Type: uint32(b / 16)}
		}
		f.Insns = append(f.Insns, bpfobj.Insn{Op: data[0], Dst: data[1] & 15, Src: data[1] >> 4,
			Off: int16(binary.LittleEndian.Uint16(data[2:])),
			Imm: int32(binary.LittleEndian.Uint32(data[4:]))})
	}
	return functions[0]
}

// sensible makes instructions that rarely end the analysis: known opcodes, existing registers and
// short jumps.
func sensible(r *rand.Rand, n int) []byte {
	ops := []byte{0x05, 0x07, 0x0f, 0x15, 0x16, 0x1d, 0x55, 0x57, 0x5f, 0x61, 0x63, 0x79, 0x7b, 0x85,
		0x95, 0xa7, 0xb4, 0xb7, 0xbf, 0x18, 0xdb, 0xe5, 0x25, 0xb5}
	var data []byte
	for range n {
		off := uint16(int16(r.Intn(16) - 8))
		if r.Intn(2) == 0 {
			off = uint16(int16(-8 * (1 + r.Intn(4))))
		}
		data = append(data, ops[r.Intn(len(ops))], byte(r.Intn(11)|r.Intn(11)<<4), byte(off),
			byte(off>>8), byte(r.Intn(3)), 0, 0, 0, byte(r.Intn(256)))
	}
	return data
}

// FuzzAnalyze checks that, for any instructions, Analyze doesn't panic or take long, and that it
// returns the same conditions each time.
func FuzzAnalyze(f *testing.F) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		f.Add(sensible(r, 10+r.Intn(110)))
		data := make([]byte, 9*r.Intn(100))
		r.Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip()
		}
		entry := garbage(data)
		var first Analysis
		programtest.Bounded(t, len(data), 20*time.Second, 0, func() { first = Analyze(entry, nil) })
		if second := Analyze(entry, nil); !reflect.DeepEqual(first, second) {
			t.Errorf("two calls of Analyze differ:\n%v\n%v", first, second)
		}
		for site, c := range first.Conditions {
			if len(c) > maxCubes {
				t.Errorf("instruction %d: the condition has %d cubes", site.Insn, len(c))
			}
		}
	})
}
