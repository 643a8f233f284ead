package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.o")
	must.OK(t, os.WriteFile(path, data, 0o666))
	return path
}

// readelf fails the test if readelf complains about a file.
func readelf(t *testing.T, path string) string {
	t.Helper()
	out := programtest.Run(t, "", "readelf", "-WaS", path)
	for _, word := range []string{"Warning", "Error", "corrupt"} {
		if strings.Contains(out, word) {
			t.Errorf("readelf complains:\n%s", out)
		}
	}
	return out
}

func TestObject(t *testing.T) {
	sections := []Section{{Name: ".BTF", Data: []byte("12345"), Align: 4, Alloc: true},
		{Name: ".odd", Data: []byte("abc")}, {Name: ".empty", Align: 1},
		{Name: ".BTF.base", Data: []byte("base"), Align: 8}}
	for _, size := range []int{4, 8} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(fmt.Sprint(size, order), func(t *testing.T) {
				machine := stdelf.EM_X86_64
				if order == binary.BigEndian {
					machine = stdelf.EM_S390
				}
				o := &File{AddrSize: size, Order: order, Machine: uint16(machine),
					Flags: 0x12345678, Sections: sections}
				data, err := o.Bytes()
				must.OK(t, err)
				again, err := o.Bytes()
				if err != nil || !bytes.Equal(data, again) {
					t.Error("two runs differ")
				}
				checkSections(t, data, sections)
				f, err := elf.Parse("x", data)
				if err != nil || f.Machine != machine || f.AddrSize != size || f.Order != order ||
					!f.Relocatable() {
					t.Errorf("%+v, %v", f, err)
				}
				if like := Like(f); like.Flags != o.Flags || like.Machine != o.Machine {
					t.Errorf("flags %#x of machine %d", like.Flags, like.Machine)
				}
				readelf(t, writeFile(t, data))
			})
		}
	}
}

// checkSections checks that debug/elf finds the sections in want in a file.
func checkSections(t *testing.T, data []byte, want []Section) {
	t.Helper()
	f := must.Get(stdelf.NewFile(bytes.NewReader(data)))(t)
	for _, w := range want {
		s := f.Section(w.Name)
		if s == nil {
			t.Errorf("%s: missing", w.Name)
			continue
		}
		got, err := s.Data()
		if err != nil || !bytes.Equal(got, w.Data) {
			t.Errorf("%s: %q, want %q (%v)", w.Name, got, w.Data, err)
		}
		if s.Type != stdelf.SHT_PROGBITS || (s.Flags&stdelf.SHF_ALLOC != 0) != w.Alloc ||
			s.Addralign != max(w.Align, 1) || s.Offset%s.Addralign != 0 {
			t.Errorf("%s: %+v", w.Name, s.SectionHeader)
		}
	}
}

func TestObjectErrors(t *testing.T) {
	good := File{AddrSize: 8, Order: binary.LittleEndian}
	for _, tt := range []struct {
		change func(*File)
		want   string
	}{
		{func(o *File) { o.AddrSize = 2 }, "address size 2"},
		{func(o *File) { o.Order = nil }, "byte order"},
		{func(o *File) { o.Sections = []Section{{Name: ""}} }, "section name"},
		{func(o *File) { o.Sections = []Section{{Name: "a\x00b"}} }, "section name"},
		{func(o *File) { o.Sections = []Section{{Name: "a", Align: 3}} }, "alignment 3"},
	} {
		o := good
		tt.change(&o)
		if _, err := o.Bytes(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

// TestManySections writes a file whose section numbers do not fit in 16 bits.
func TestManySections(t *testing.T) {
	o := &File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64)}
	for i := range 70_000 {
		o.Sections = append(o.Sections, Section{Name: fmt.Sprint(".s", i), Data: []byte{byte(i)}})
	}
	data := must.Get(o.Bytes())(t)
	f := must.Get(elf.Parse("x", data))(t)
	if s := f.Section(".s69999"); s == nil || len(f.Sections) != 70_003 ||
		s.Raw()[0] != byte(69999&255) {
		t.Errorf("%d sections, last %v", len(f.Sections), s)
	}
}

// someBTF encodes a struct and an int.
func someBTF(t *testing.T, order binary.ByteOrder) []byte {
	t.Helper()
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	b := must.Get(btf.NewBuilder([]btf.Type{&btf.Struct{Name: "embedded", Size: 4,
		Members: []btf.Member{{Name: "field", Type: number}}}}, nil))(t)
	data := must.Get(b.Marshal(nil, &btf.MarshalOptions{Order: order}))(t)
	return data
}

// TestBTFReaders reads the .BTF section of an object with other programs.
func TestBTFReaders(t *testing.T) {
	o := &File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []Section{{Name: ".BTF", Data: someBTF(t, binary.LittleEndian), Align: 4},
			{Name: ".other", Data: []byte("x")}}}
	data := must.Get(o.Bytes())(t)
	spec := must.Get(btf.LoadSpecFromReader(bytes.NewReader(data)))(t)
	var s *btf.Struct
	if err := spec.TypeByName("embedded", &s); err != nil {
		t.Error(err)
	}
	path := writeFile(t, data)
	t.Run("bpftool", func(t *testing.T) {
		if out := programtest.Run(t, "", "bpftool", "btf", "dump", "file", path); !strings.Contains(out,
			"STRUCT 'embedded' size=4 vlen=1") {
			t.Errorf("bpftool:\n%s", out)
		}
	})
	t.Run("pahole", func(t *testing.T) {
		out := programtest.Run(t, "", "pahole", "-F", "btf", path)
		if !strings.Contains(out, "struct embedded {") {
			t.Errorf("pahole:\n%s", out)
		}
	})
}
