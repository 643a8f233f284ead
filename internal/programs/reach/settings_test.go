package reach

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// settingsCases have code that runs after r1 has been set to an address, and r2 to the four bytes
// at that address.
var settingsCases = []struct {
	name      string
	in        bpfobj.Address
	code      insns
	possible  string
	certainly string
}{
	{"read-only data", rodata, insns{jump(ifZero, 2, 1), site, set(0, 0), exit}, "always", "never"},
	{"data of the loader", bpfobj.Address{Map: ".rodata.late", Offset: 8},
		insns{jump(ifNot, 2, 1), site, set(0, 0), exit}, "always", "never"},
	{"kconfig", bpfobj.Address{Map: ".kconfig", Symbol: "LINUX_KERNEL_VERSION"},
		insns{jump(0x25, 2, 1), site, set(0, 0), exit}, "always", "never"},
	{"data that programs change", bpfobj.Address{Map: ".data"},
		insns{jump(ifZero, 2, 1), site, set(0, 0), exit}, "always", "always"},
	{"both ways", rodata, insns{jump(ifZero, 2, 1), site, jump(ifNot, 2, 1), site, set(0, 0), exit},
		"always", "always"},
	{"neither way", rodata, insns{jump(ifZero, 2, 2), jump(ifNot, 2, 1), site, set(0, 0), exit},
		"never", "never"},
	{"opposite jumps", rodata, insns{jump(0x25, 2, 2), jump(0xb5, 2, 1), site, set(0, 0), exit},
		"never", "never"},
	{"a part of the data", rodata, insns{imm(0x57, 2, 4), jump(ifZero, 2, 1), site, set(0, 0), exit},
		"always", "never"},
	{"through the stack", rodata, insns{store(10, -8, 2), load(3, 10, -8), jump(ifZero, 2, 2),
		jump(ifNot, 3, 1), site, set(0, 0), exit}, "never", "never"},
	{"or something else", rodata, insns{random, jump(ifNot, 0, 1), jump(ifZero, 2, 1), site, set(0, 0),
		exit}, "always", "always"},
	{"and a guard", rodata, insns{guard(3), jump(ifZero, 3, 2), jump(ifZero, 2, 1), site, set(0, 0),
		exit}, "found", "never"},
	{"or a guard", rodata, insns{guard(3), jump(ifNot, 3, 1), jump(ifZero, 2, 1), site, set(0, 0),
		exit}, "always", "found"},
	{"the address of a weak symbol", bpfobj.Address{Map: ".ksyms", Symbol: "f"},
		insns{jump(ifZero, 1, 1), site, set(0, 0), exit}, "always", "never"},
}

var rodata = bpfobj.Address{Map: ".rodata", Offset: 4}

// settingsFunction returns the program for a test case.
func settingsFunction(in bpfobj.Address, code insns) *bpfobj.Function {
	f := &bpfobj.Function{Name: "p", Program: true, Relocations: map[int]core.Relocation{},
		Data: map[int]bpfobj.Address{0: in}}
	f.Insns = slices.Concat(insns{{Op: 0x18, Dst: 1}, {}, {Op: 0x61, Dst: 2, Src: 1}}, code)
	for at, i := range f.Insns {
		switch {
		case i == site:
			f.Relocations[at] = core.Relocation{Kind: core.FieldByteOffset}
		case i.Op == 0xb7 && i.Imm == guard(0).Imm:
			f.Relocations[at] = core.Relocation{Kind: core.FieldExists}
		}
	}
	return f
}

// TestSettings checks the conditions of instructions that are reached only for some values that the
// verifier knows.
func TestSettings(t *testing.T) {
	for _, c := range settingsCases {
		f := settingsFunction(c.in, c.code)
		a := Analyze(f, nil)
		var possible, certainly []string
		for at, i := range f.Insns {
			if i == site {
				possible = append(possible, word(a.Conditions[Site{f, at}]))
				certainly = append(certainly, word(a.Certain[Site{f, at}]))
			}
		}
		if !slices.Contains(possible, c.possible) || !slices.Contains(certainly, c.certainly) {
			t.Errorf("%s: %v, for all settings %v; want %s, %s", c.name, possible, certainly, c.possible,
				c.certainly)
		}
	}
}

// word returns one word for a condition that has at most one guard.
func word(c Condition) string {
	switch {
	case len(c) == 0:
		return "never"
	case len(c[0]) == 0:
		return "always"
	case c[0][0].Found:
		return "found"
	}
	return "missing"
}

// TestManySettings checks that values count as unknown if there are too many settings.
func TestManySettings(t *testing.T) {
	var code insns
	for n := range int16(100) {
		code = append(code, bpfobj.Insn{Op: 0x61, Dst: 2, Src: 1, Off: 4 * n}, jump(ifNot, 2, 0))
	}
	f := settingsFunction(rodata, append(code, guard(3), jump(ifZero, 3, 1), site, set(0, 0), exit))
	a := Analyze(f, nil)
	at := Site{f, slices.Index(f.Insns, site)}
	if got := word(a.Conditions[at]) + word(a.Certain[at]); got != "foundfound" {
		t.Errorf("%s", got)
	}
}

// TestSlots checks how many arguments a program reads at least, whatever the settings and the
// outcomes of guards.
func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name string
		code insns
		want int
	}{
		{"none", insns{set(0, 0), exit}, 0},
		{"some", insns{load(2, 1, 8), load(2, 1, 24), load(2, 1, 0), set(0, 0), exit}, 4},
		{"with a copy", insns{move(6, 1), add(6, 16), load(2, 6, 8), set(0, 0), exit}, 4},
		{"through the stack", insns{store(10, -8, 1), load(3, 10, -8), load(2, 3, 8), set(0, 0), exit},
			2},
		{"a part of one", insns{{Op: 0x61, Dst: 2, Src: 1, Off: 12}, set(0, 0), exit}, 2},
		{"after a call", insns{random, load(2, 1, 8), set(0, 0), exit}, 0},
		{"on one of two paths", insns{load(2, 1, 8), jump(ifZero, 2, 1), load(2, 1, 16), set(0, 0),
			exit}, 3},
		{"after the end", insns{set(0, 0), exit, load(2, 1, 8)}, 0},
		{"with a guard", insns{guard(3), jump(ifZero, 3, 1), load(2, 1, 8), set(0, 0), exit}, 0},
		{"before the context", insns{load(2, 1, -8), set(0, 0), exit}, 0},
	} {
		f := settingsFunction(rodata, nil)
		f.Insns, f.Data = c.code, nil
		for at, i := range f.Insns {
			if i.Op == 0xb7 && i.Imm == guard(0).Imm {
				f.Relocations[at] = core.Relocation{Kind: core.FieldExists}
			}
		}
		if got := Analyze(f, nil).Slots; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
