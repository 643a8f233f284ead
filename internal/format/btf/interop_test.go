package btf

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestCiliumReadsWhatWeWrite writes types of every kind, and lets cilium/ebpf read them.
func TestCiliumReadsWhatWeWrite(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := olderKinds(order).Finish()
		spec, err := cilium.LoadSpecFromReader(bytes.NewReader(encoded(t, b, EncodeOptions{})))
		if err != nil {
			t.Fatal(order, err)
		}
		compareWithCilium(t, b, spec)
		var e *cilium.Enum
		if err := spec.TypeByName("big", &e); err != nil || e.Values[0].Value != 0x123456789abcdef0 {
			t.Errorf("%v: enum64 read as %+v, %v", order, e, err)
		}
		var s *cilium.Struct
		if err := spec.TypeByName("s", &s); err != nil || s.Members[0].BitfieldSize != 3 ||
			s.Members[1].Offset != 32 {
			t.Errorf("%v: struct read as %+v, %v", order, s, err)
		}
	}
}

// TestCiliumReadsTheSame reads the running kernel's BTF with this package and with cilium/ebpf.
func TestCiliumReadsTheSame(t *testing.T) {
	data := kernelBTF(t)
	spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(data)))(t)
	b := must.Get(Parse(data, nil))(t)
	compareWithCilium(t, b, spec)
}

func compareWithCilium(t *testing.T, b *Blob, spec *cilium.Spec) {
	t.Helper()
	for i := range b.Types {
		id := b.StartID + uint32(i)
		x := &b.Types[i]
		c, err := spec.TypeByID(cilium.TypeID(id))
		if err != nil {
			t.Fatal(id, err)
		}
		// for tags, cilium/ebpf's name is the value
		if c.TypeName() != b.TypeName(x) && x.Kind != KindDeclTag && x.Kind != KindTypeTag {
			t.Fatalf("[%d] %v: name %q, cilium/ebpf reads %q", id, x.Kind, b.TypeName(x), c.TypeName())
		}
		switch c := c.(type) {
		case *cilium.Struct:
			checkMembers(t, b, x, spec, c.Size, c.Members)
		case *cilium.Union:
			checkMembers(t, b, x, spec, c.Size, c.Members)
		case *cilium.Enum:
			if x.SizeOrType != c.Size || int(x.Vlen) != len(c.Values) || x.KFlag != c.Signed {
				t.Fatalf("[%d] %+v, cilium/ebpf reads %+v", id, x, c)
			}
			for j, e := range b.EnumsOf(x) {
				if name, _ := b.Name(e.NameOff); name != c.Values[j].Name || e.Value != c.Values[j].Value {
					t.Fatalf("[%d] value %s = %#x, cilium/ebpf reads %+v", id, name, e.Value, c.Values[j])
				}
			}
		case *cilium.FuncProto:
			for j, p := range b.ParamsOf(x) {
				if name, _ := b.Name(p.NameOff); name != c.Params[j].Name {
					t.Fatalf("[%d] parameter %d is %q, cilium/ebpf reads %q", id, j, name, c.Params[j].Name)
				}
			}
		case *cilium.Array:
			if a := b.ArrayOf(x); a.Nelems != c.Nelems {
				t.Fatalf("[%d] %d elements, cilium/ebpf reads %d", id, a.Nelems, c.Nelems)
			}
		case *cilium.Datasec:
			for j, s := range b.SecinfosOf(x) {
				if s.Offset != c.Vars[j].Offset || s.Size != c.Vars[j].Size {
					t.Fatalf("[%d] entry %+v, cilium/ebpf reads %+v", id, s, c.Vars[j])
				}
			}
		}
	}
}

func checkMembers(t *testing.T, b *Blob, x *Type, spec *cilium.Spec, size uint32,
	want []cilium.Member) {
	t.Helper()
	ms := b.MembersOf(x)
	if x.SizeOrType != size || len(ms) != len(want) {
		t.Fatalf("%s: size %d and %d members, cilium/ebpf reads %d and %d", b.TypeName(x), x.SizeOrType,
			len(ms), size, len(want))
	}
	for j, m := range ms {
		name, _ := b.Name(m.NameOff)
		off, bits := m.Bits(x.KFlag)
		id, err := spec.TypeID(want[j].Type)
		if err != nil || name != want[j].Name || off != uint32(want[j].Offset) ||
			bits != uint32(want[j].BitfieldSize) || m.Type != uint32(id) {
			t.Fatalf("%s.%s: %+v, cilium/ebpf reads %+v (%v)", b.TypeName(x), name, m, want[j], err)
		}
	}
}

// TestCiliumBuilder reads what cilium/ebpf writes.
func TestCiliumBuilder(t *testing.T) {
	i := &cilium.Int{Name: "int", Size: 4, Encoding: cilium.Signed}
	s := &cilium.Struct{Name: "s", Size: 12, Members: []cilium.Member{{Name: "a", Type: i},
		{Name: "v", Type: &cilium.Array{Index: i, Type: i, Nelems: 2}, Offset: 32}}}
	cb := must.Get(cilium.NewBuilder([]cilium.Type{s, &cilium.Pointer{Target: s}}, nil))(t)
	data := must.Get(cb.Marshal(nil, &cilium.MarshalOptions{Order: binary.BigEndian}))(t)
	b := must.Get(Parse(data, nil))(t)
	spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(data)))(t)
	compareWithCilium(t, b, spec)
	if b.Order != binary.BigEndian || len(b.Types) != 4 {
		t.Errorf("%d types, order %v", len(b.Types), b.Order)
	}
}

// gccObject compiles a C source with BTF, or skips the test.
func gccObject(t *testing.T, dir, name, source string) string {
	t.Helper()
	programtest.Need(t, "gcc")
	src, obj := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".o")
	must.OK(t, os.WriteFile(src, []byte(source), 0o644))
	if exec.Command("gcc", "-gbtf", "-c", src, "-o", obj).Run() != nil {
		t.Skip("SKIPPED: gcc has no -gbtf")
	}
	return obj
}

// TestLinkedObjects reads the concatenated blobs that a linker writes. The first blob's strings
// have an odd length, which leaves the second blob unaligned.
func TestLinkedObjects(t *testing.T) {
	dir := t.TempDir()
	a := gccObject(t, dir, "a", "struct first { int x; } f;\n")
	b := gccObject(t, dir, "b", "struct second { long yy; struct second *next; } s;\n")
	linked := filepath.Join(dir, "ab.o")
	programtest.Run(t, dir, "ld", "-r", a, b, "-o", linked)
	blobs := must.Get(ReadFile(linked, nil))(t)
	if len(blobs) != 2 {
		t.Fatalf("%d blobs, want 2", len(blobs))
	}
	for i, name := range []string{"first", "second"} {
		if !hasNamed(blobs[i], KindStruct, name) {
			t.Errorf("blob %d has no struct %s", i, name)
		}
	}
	if _, err := ReadOne(linked, nil); err == nil ||
		!strings.Contains(err.Error(), "holds 2 BTF blobs") {
		t.Error("ReadOne of two blobs:", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "a.c"), nil); err == nil ||
		!strings.Contains(err.Error(), "a.c: BTF at offset 0x0: no BTF magic") {
		t.Error("a C source:", err)
	}
	plain := filepath.Join(dir, "plain.o")
	programtest.Run(t, dir, "gcc", "-g0", "-c", "a.c", "-o", plain)
	if _, err := ReadFile(plain, nil); err == nil ||
		!strings.Contains(err.Error(), "no section .BTF") {
		t.Error("an object without BTF:", err)
	}
}

func hasNamed(b *Blob, kind Kind, name string) bool {
	for i := range b.Types {
		if x := &b.Types[i]; x.Kind == kind && b.TypeName(x) == name {
			return true
		}
	}
	return false
}

// TestBpftoolReads lets bpftool dump a base and a split blob.
func TestBpftoolReads(t *testing.T) {
	dir := t.TempDir()
	base := olderKinds(binary.LittleEndian).Finish() // bpftool before Linux 7.4 knows no others
	split := NewBuilder(binary.LittleEndian, base, nil)
	split.Composite(KindStruct, "split", 4, false, Member{NameOff: split.Name("a"), Type: 1})
	for name, data := range map[string][]byte{
		"base.btf":  encoded(t, base, EncodeOptions{}),
		"split.btf": encoded(t, split.Finish(), EncodeOptions{}),
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	out := programtest.Run(t, dir, "bpftool", "btf", "dump", "file", "split.btf", "-B", "base.btf")
	if !strings.Contains(out, "STRUCT 'split' size=4 vlen=1") || !strings.Contains(out, "'a' type_id=1") {
		t.Error(out)
	}
}
