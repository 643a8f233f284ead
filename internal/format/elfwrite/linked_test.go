package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"testing"
)

// TestLinked reads a linked file with functions with Go's debug/elf.
func TestLinked(t *testing.T) {
	for _, addrSize := range []int{4, 8} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			o := Object{AddrSize: addrSize, Order: order, Machine: uint16(stdelf.EM_S390), Linked: true,
				Sections: []Section{
					{Name: ".text", Alloc: true, Exec: true, Addr: 0x10000, Memory: 8},
					{Name: ".debug_info", Data: []byte("data")}},
				Functions: []Function{
					{Name: "local", Bind: uint8(stdelf.STB_LOCAL), Value: 0x10000},
					{Name: "weak", Bind: uint8(stdelf.STB_WEAK), Value: 0x10004}}}
			data, err := o.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			f, err := stdelf.NewFile(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			text := f.Section(".text")
			if f.Type != stdelf.ET_EXEC || text.Type != stdelf.SHT_NOBITS || text.Size != 8 ||
				text.Addr != 0x10000 || text.Flags != stdelf.SHF_ALLOC|stdelf.SHF_EXECINSTR {
				t.Errorf("%v with %+v", f.Type, text.SectionHeader)
			}
			if info, err := f.Section(".debug_info").Data(); err != nil || string(info) != "data" {
				t.Errorf("data %q, %v", info, err)
			}
			symbols, err := f.Symbols()
			if err != nil || len(symbols) != 2 {
				t.Fatalf("%d symbols, %v", len(symbols), err)
			}
			for i, want := range o.Functions {
				s := symbols[i]
				if s.Name != want.Name || s.Value != want.Value || s.Section != 1 ||
					s.Info != stdelf.ST_INFO(stdelf.SymBind(want.Bind), stdelf.STT_FUNC) {
					t.Errorf("symbol %+v, want %+v", s, want)
				}
			}
			if n := f.SectionByType(stdelf.SHT_SYMTAB).Info; n != 2 {
				t.Errorf("%d symbols are local, with the null symbol; want 2", n)
			}
		}
	}
}
