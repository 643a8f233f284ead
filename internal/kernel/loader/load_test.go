package loader

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/btfids"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestLoad makes modules wrong in many ways.
func TestLoad(t *testing.T) {
	b := newBuilder(t)
	k, _, types := b.kernel()
	good := b.module(k, "IDS")
	plain := b.module(k)
	split := b.section(good, btf.SectionTypes)
	ids := b.section(good, btfids.SectionName)

	const more = `FIRST=struct more { struct more *next; int number; short list[9]; } more;`
	other, _, otherTypes := b.kernel(more)
	distilled, onDistilled, err := distill.Encode(split, k.types)
	b.check(err)
	onDistilledBase, err := btf.Parse(distilled, nil)
	b.check(err)
	relocatable := b.with(plain, map[string][]byte{btf.SectionTypes: onDistilled,
		btf.SectionBase: distilled})
	larger, _, _ := b.kernel(`SIZE=long more[4];`)
	v5, _, _ := b.kernel(`RELEASE="5.15.1"`)
	v510, _, _ := b.kernel(`RELEASE="5.10.1"`)
	drops, _, _ := b.kernel("DROPS")
	dropsOther, _, _ := b.kernel("DROPS", more)
	ignores, _, _ := b.kernel("IGNORES")
	bigModule, _, _ := b.kernel("EXTRA=long more;")
	v63, _, _ := b.kernel(`RELEASE="6.3.0"`)
	anyOther, err := NewKernel("vmlinux.btf", otherTypes, nil, nil)
	b.check(err)
	_, image, _ := b.kernel()
	probe := "FIRST=int probe(void) { return 0; }"
	sameName, _, _ := b.kernel(probe)
	sameName71, _, _ := b.kernel(probe, `RELEASE="7.1.0"`)
	bare, err := NewKernel("vmlinux", nil, image, nil)
	b.check(err)
	invalid, err := NewKernel("vmlinux", patchKind(t, types, nil, btf.KindInt, 0, 4, 0xff), image, nil)
	b.check(err)

	set := func(name string, data []byte) []byte {
		return b.with(good, map[string][]byte{name: data})
	}
	for _, c := range []struct {
		what    string
		kernel  *Kernel
		module  []byte
		outcome Outcome
		why     string
	}{
		{"right", k, good, Loads, ""},
		{"without .BTF_ids", k, plain, Loads, ""},
		{"without BTF", k, set(btf.SectionTypes, nil), Loads, "it has no BTF"},
		{"another base", other, plain, Refused, "it was built against another vmlinux"},
		{"another base, allowed", dropsOther, plain, WithoutBTF, "built against another vmlinux"},
		{"a raw base", anyOther, plain, Refused, "built against another vmlinux"},
		{"another release", k, b.module(k, `RELEASE="7.2.2"`), Refused,
			`its vermagic is "7.2.2 SMP mod_unload ", but the kernel's is "7.2.1 SMP mod_unload "`},
		{"another release, with CRCs", k, b.module(k, `RELEASE="7.2.2"`, "CRCS"), Loads, ""},
		{"another configuration, with CRCs", k, b.module(k, `MAGIC=" mod_unload "`, "CRCS"), Refused,
			"its vermagic is"},
		{"without vermagic", k, b.module(k, "NO_MAGIC"), Refused, "it has no vermagic"},
		{"another struct module", bigModule, good, Refused, "its struct module has 64 bytes, but the " +
			"kernel's has 72"},
		{"another struct module, unchecked", v63, b.module(v63, `RELEASE="6.3.0"`,
			"EXTRA=long more;"), WrongBTF, "its struct module has 72 bytes"},
		{"truncated BTF", k, set(btf.SectionTypes, split[:len(split)-5]), Refused, "BTF at offset"},
		{"truncated types", k, set(btf.SectionTypes, split[:40]), Refused, "BTF at offset"},
		{"a truncated file", k, good[:len(good)-100], Refused, "truncated: 24 section"},
		{"BTF after the BTF", k, set(btf.SectionTypes, append(split[:len(split):len(split)], split...)),
			Refused, "BTF at offset"},
		{"BTF of another module", k, b.with(plain, map[string][]byte{btf.SectionTypes: b.section(
			b.module(k, "FUNCTION=other"), btf.SectionTypes)}), WrongBTF, "that of another module"},
		{"big-endian BTF", k, set(btf.SectionTypes, bigEndian(t, split, k.types)), Refused,
			"its BTF is big-endian, unlike the kernel's"},
		{"an unknown kind", k, set(btf.SectionTypes, patchKind(t, split, k.types, btf.KindStruct, 0, 7,
			30)), Refused, "kind"},
		{"an id beyond the end", k, set(btf.SectionTypes, patchKind(t, split, k.types, btf.KindPtr, 0, 8,
			0xf0)), WrongBTF, "but the last type is"},
		{"an id above the limit", k, set(btf.SectionTypes, patchKind(t, split, k.types, btf.KindPtr, 0,
			11, 0xf0)), Refused, "above the maximum"},
		{"BTF without a base", k, set(btf.SectionTypes, types), Refused,
			"its BTF has no base, but the kernel reads it as if it were based on the BTF of vmlinux"},
		{"BTF without a base, in which the kernel sees no mistake", k, b.with(plain, map[string][]byte{
			btf.SectionTypes: distilled}), WrongBTF, "its BTF has no base"},
		{"strings before types", k, set(btf.SectionTypes, stringsFirst(t, split, k.types)), Refused,
			"the strings come before the types"},
		{"no BTF in the kernel", bare, good, Refused, "no base: the kernel has no BTF"},
		{"bad BTF in the kernel", invalid, good, Refused, "no base: the kernel rejects its own BTF"},
		{"a kernel that doesn't read BTF", ignores, good, WithoutBTF, "CONFIG_DEBUG_INFO_BTF_MODULES"},
		{"an old kernel", v510, b.module(v510, `RELEASE="5.10.1"`), WithoutBTF, "Linux 5.10 doesn't"},
		{"a kind that is too new", v5, b.module(v5, `RELEASE="5.15.1"`,
			"FUNCTION=probe(enum { LONG = 1LL << 40 } e) {}; size_type other"), Refused,
			"ENUM64 is of a kind that Linux 5.15 doesn't know (6.0 does)"},
		{"sites of inlined functions", k, set(btf.SectionTypes, withSites(t, split, k.types)), Refused,
			"LOC_PROTO is of a kind that Linux 7.2 doesn't know (7.4 does)"},
		{"an id of another type", k, set(btfids.SectionName, patchWord(ids, 0, 1)), WrongBTF,
			`"__BTF_ID__struct__device__1" at offset 0x0: its id 1 is`},
		{"an id of a kfunc", k, set(btfids.SectionName, patchWord(ids, 3, 1)), Refused,
			"its kfuncs can't be registered"},
		{"a kfunc with the name of a function in vmlinux", sameName, b.module(sameName, "IDS"), Refused,
			`vmlinux also has a function "probe"`},
		{"the same, Linux 7.1", sameName71, b.module(sameName71, "IDS", `RELEASE="7.1.0"`), Loads, ""},
		{"an id of a kfunc, 6.3", v63, b.with(b.module(v63, "IDS", `RELEASE="6.3.0"`),
			map[string][]byte{btfids.SectionName: patchWord(ids, 3, 1)}), WrongBTF, "its id 1 is"},
		{"unresolved ids", k, set(btfids.SectionName, patchWord(patchWord(patchWord(ids, 0, 0), 1, 0), 3,
			0)), WrongBTF, "the section is not resolved"},
		{"a distilled base", k, relocatable, Loads, ""},
		{"a distilled base, another kernel", other, relocatable, Loads, ""},
		{"an id beyond the end, on a distilled base", k, b.with(relocatable, map[string][]byte{
			btf.SectionTypes: patchKind(t, onDistilled, onDistilledBase, btf.KindPtr, 0, 8, 0xf0)}),
			WrongBTF, "but the last type is"},
		{"a distilled base, another size", larger, relocatable, Refused,
			"its distilled base doesn't match the kernel: type"},
		{"an empty distilled base", k, set(btf.SectionBase, []byte{}), Refused, "section .BTF.base"},
		{"allowed, but right", drops, good, Loads, ""},
	} {
		v := b.load(c.kernel, c.module)
		if v.Outcome != c.outcome || !strings.Contains(v.Why, c.why) ||
			c.outcome == Loads && v.Why != c.why {
			t.Errorf("%s: %v: %s\nwant %v: %s", c.what, v.Outcome, v.Why, c.outcome, c.why)
		}
		if v.OK() != (c.outcome == Loads || c.outcome == WithoutBTF && !v.Rejected) {
			t.Errorf("%s: OK is %v", c.what, v.OK())
		}
	}
}

// TestGuessed: in images of these versions, nothing shows if the kernel drops rejected BTF.
func TestGuessed(t *testing.T) {
	b := newBuilder(t)
	for release, guessed := range map[string]bool{"5.17.0": false, "6.1.0": true, "6.3.0": false} {
		define := `RELEASE="` + release + `"`
		k, _, _ := b.kernel(define)
		module := b.module(k, define)
		module = b.with(module, map[string][]byte{btf.SectionTypes: []byte("no BTF")})
		if v := b.load(k, module); v.Outcome != Refused || v.Guessed != guessed {
			t.Errorf("%s: %v, want guessed %v", release, v, guessed)
		}
	}
}

// TestMachine loads a module that was compiled for another machine.
func TestMachine(t *testing.T) {
	b := newBuilder(t)
	k, _, _ := b.kernel()
	module := b.module(k)
	module[18] = 183 // e_machine: AArch64
	if v := b.load(k, module); v.Outcome != Refused || v.Why !=
		"it was built for aarch64 (little-endian), but the kernel is for x86_64 (little-endian)" {
		t.Error(v)
	}
}

// TestMachineOfImage: the flat images of arm64 say for which machine they are.
func TestMachineOfImage(t *testing.T) {
	b := newBuilder(t)
	k, _, types := b.kernel()
	image := make([]byte, 64)
	copy(image[56:], "ARM\x64")
	arm, err := NewKernel("Image", types, image, nil)
	b.check(err)
	if v := b.load(arm, b.module(k)); v.Outcome != Refused || v.Why !=
		"it was built for x86_64 (little-endian), but the kernel is for aarch64 (little-endian)" {
		t.Error(v)
	}
}

// FuzzLoad loads any file as a module.
func FuzzLoad(f *testing.F) {
	k := btf.NewBuilder(nil, nil, nil)
	k.Int("int", 4, btf.IntSigned, 0)
	types := must.Get(k.Encode(btf.EncodeOptions{}))(f)
	image := []byte("Linux version 7.2.1 (gcc)\x00" + dropsText)
	kernel := must.Get(NewKernel("vmlinux", types, image, nil))(f)
	m := btf.NewBuilder(nil, kernel.types, nil)
	m.Func("f", m.FuncProto(1), btf.LinkageGlobal)
	split := must.Get(m.Encode(btf.EncodeOptions{}))(f)
	for _, base := range [][]byte{nil, types} {
		f.Add(filetest.ELF(f, []elfwrite.Section{
			{Name: structSection, Data: make([]byte, 64), Alloc: true},
			{Name: ".modinfo", Data: []byte("vermagic=7.2.1 SMP \x00")},
			{Name: btf.SectionTypes, Data: split}, {Name: btf.SectionBase, Data: base},
			{Name: btfids.SectionName, Data: make([]byte, 16)},
		}...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := elf.Parse("m.ko", data)
		if err != nil {
			return
		}
		kernel.Load(NewModule("m.ko", "m.ko", e))
		must.Get(NewKernel("vmlinux", nil, data, e))(t)
	})
}

// withSites adds a LOC_PROTO to split BTF.
func withSites(t *testing.T, split []byte, base *btf.Blob) []byte {
	t.Helper()
	b := must.Get(btf.Parse(split, base))(t)
	b.Types = append(b.Types, btf.Type{Kind: btf.KindLocProto})
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	return data
}
