package object_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// TestTargetOf: raw BTF of a kernel shows its machine by struct pt_regs, also if a member is in an
// anonymous union. An ELF file says it better.
func TestTargetOf(t *testing.T) {
	regs := func(long uint32, depth int, member string) func(b *btf.Builder) {
		return func(b *btf.Builder) {
			l := b.Int("long int", long, btf.IntSigned, 8*long)
			m := []btf.Member{{NameOff: b.Name("flags"), Type: l}, {NameOff: b.Name(member), Type: l}}
			for range depth {
				m = []btf.Member{m[0], {Type: b.Composite(btf.KindUnion, "", 64, false, m...)}}
			}
			b.Composite(btf.KindStruct, "pt_regs", 64, false, m...)
		}
	}
	for _, c := range []struct {
		what     string
		build    func(b *btf.Builder)
		origin   btf.Origin
		machine  elf.Machine
		addrSize int
	}{
		{"nothing", func(*btf.Builder) {}, btf.Origin{}, 0, 0},
		{"long", func(b *btf.Builder) { b.Int("long int", 4, 0, 32) }, btf.Origin{}, 0, 4},
		{"x86", regs(8, 0, "orig_ax"), btf.Origin{}, elf.EM_X86_64, 8},
		{"i386", regs(4, 0, "orig_ax"), btf.Origin{}, elf.EM_386, 4},
		{"arm64", regs(8, 0, "orig_x0"), btf.Origin{}, elf.EM_AARCH64, 8},
		{"powerpc", regs(8, 2, "orig_gpr3"), btf.Origin{}, elf.EM_PPC64, 8},
		{"32-bit powerpc", regs(4, 2, "orig_gpr3"), btf.Origin{}, elf.EM_PPC, 4},
		{"unknown", regs(8, 0, "r0"), btf.Origin{}, 0, 8},
		{"ELF", regs(8, 0, "orig_ax"), btf.Origin{Machine: 183, AddrSize: 4}, elf.EM_AARCH64, 4},
		{"no long", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "pt_regs", 0, false, btf.Member{NameOff: b.Name("orig_ax")})
		}, btf.Origin{}, 0, 0},
		{"in itself", func(b *btf.Builder) {
			b.Int("long int", 8, 0, 64)
			var m []btf.Member
			for range 100 {
				m = append(m, btf.Member{Type: 2})
			}
			b.Composite(btf.KindStruct, "pt_regs", 0, false, m...)
		}, btf.Origin{}, 0, 8},
	} {
		b := btf.NewBuilder(nil, nil, nil)
		c.build(b)
		blob := b.Finish()
		blob.Origin = c.origin
		want := object.Target{AddrSize: c.addrSize, Order: binary.LittleEndian,
			Machine: uint16(c.machine)}
		if got := object.TargetOf(blob); got != want {
			t.Errorf("%s: %v, want %v", c.what, got, want)
		}
	}
}

func TestTargetDiffers(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	x86, arm, bpf := uint16(elf.EM_X86_64), uint16(elf.EM_AARCH64), uint16(elf.EM_BPF)
	for _, c := range []struct {
		base, of object.Target
		want     string
	}{
		{object.Target{}, object.Target{AddrSize: 8, Order: le, Machine: x86}, ""},
		{object.Target{AddrSize: 8, Order: le, Machine: x86}, object.Target{Order: le}, ""},
		{object.Target{Order: be}, object.Target{Order: le}, "BigEndian"},
		{object.Target{Order: be}, object.Target{Order: le, Machine: bpf}, "BigEndian"},
		{object.Target{Machine: arm}, object.Target{Machine: x86}, "for EM_AARCH64"},
		{object.Target{AddrSize: 4}, object.Target{Machine: x86, AddrSize: 8}, "32-bit"},
		{object.Target{AddrSize: 4}, object.Target{Machine: bpf, AddrSize: 8}, ""},
	} {
		if got, other := c.base.Differs(c.of); got != c.want || (got == "") != (other == "") {
			t.Errorf("%v and %v: %q and %q, want %q", c.base, c.of, got, other, c.want)
		}
	}
}
