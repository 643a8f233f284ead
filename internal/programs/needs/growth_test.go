package needs_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// reader returns an object with a program that reads n fields of one struct, and one field of each
// of n other structs. All structs have the same name, but they don't agree about the type of that
// field.
func reader(t testing.TB, n int) *bpfobj.Object {
	t.Helper()
	b := btf.NewBuilder(binary.LittleEndian, nil, nil)
	b.Int("int", 4, btf.IntSigned, 32)
	var members []btf.Member
	for i := range n {
		members = append(members, btf.Member{NameOff: b.Name(fmt.Sprint("m", i)), Type: 1,
			Offset: uint32(i) * 32})
	}
	s := b.Composite(btf.KindStruct, "s", uint32(4*n), false, members...)
	f := &bpfobj.Function{Name: "p", Section: "socket", Program: true,
		Relocations: map[int]core.Relocation{}}
	add := func(typ uint32, index int) {
		f.Relocations[len(f.Insns)] = core.Relocation{Kind: core.FieldByteOffset, Type: typ,
			Access: fmt.Sprint("0:", index)}
		f.Insns = append(f.Insns, bpfobj.Insn{Op: 0xb7, Dst: 1})
	}
	for i := range n {
		add(s, i)
		of := b.Int(fmt.Sprint("int", i), 4, 0, 32)
		add(b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("m0"), Type: of}), 0)
	}
	f.Insns = append(f.Insns, bpfobj.Insn{Op: 0x95})
	local := must.Get(core.NewBTF(b.Finish(), nil))(t)
	return &bpfobj.Object{BTF: local, Functions: []*bpfobj.Function{f}}
}

// allSteps extracts needs, writes them, reads them again, and checks the program on a kernel with
// the struct.
func allSteps(t testing.TB, o *bpfobj.Object) {
	t.Helper()
	n, err := needs.Extract(o)
	must.OK(t, err)
	data, err := needs.Write(n)
	must.OK(t, err)
	if n, err = needs.Read(data); err != nil {
		t.Fatal(err)
	}
	blob := *o.BTF.Blob
	blob.Types = blob.Types[:2]
	vmlinux, err := core.NewBTF(&blob, nil)
	must.OK(t, err)
	k := &core.Kernel{Vmlinux: vmlinux}
	must.Get(check.Kernel(k.Index(needs.Names(n)), n))(t)
}

// TestGrowth checks that for ten times as many relocations about one struct, the sum of all
// allocations is only about ten times as large.
func TestGrowth(t *testing.T) {
	allocated := func(n int) uint64 {
		o := reader(t, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		allSteps(t, o)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, more := allocated(100), allocated(1000)
	t.Logf("%d and %d bytes", few, more)
	if more > 15*few {
		t.Errorf("%d bytes for 100 fields, %d for 1000", few, more)
	}
}

// BenchmarkOneStruct measures the time for relocations about many fields of one struct.
func BenchmarkOneStruct(b *testing.B) {
	o := reader(b, 10000)
	for b.Loop() {
		allSteps(b, o)
	}
}
