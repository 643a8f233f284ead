package dwarf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// wrap makes an ELF file from debug sections.
func wrap(t testing.TB, order binary.ByteOrder, info, abbrev, str, lists []byte) *elf.File {
	t.Helper()
	o := elfwrite.File{AddrSize: 8, Order: order, Machine: uint16(stdelf.EM_X86_64)}
	for name, data := range map[string][]byte{".debug_info": info, ".debug_abbrev": abbrev,
		".debug_str":      str,
		".debug_loclists": lists, ".debug_loc": lists, ".debug_rnglists": lists, ".debug_ranges": lists,
		".debug_str_offsets": lists, ".debug_addr": lists, ".debug_line_str": str} {
		o.Sections = append(o.Sections, elfwrite.Section{Name: name, Data: data})
	}
	f := must.Get(elf.Parse("input", filetest.Bytes(t, o)))(t)
	return f
}

// FuzzUnit reads all entries of all units in every way that the package offers. It must end without
// a panic, within limits for time and memory that depend on the size of the input.
func FuzzUnit(f *testing.F) {
	for path, data := range programtest.Seeds(f, "../../convert/testdata/objects/*.o") {
		file, err := elf.Parse(path, data)
		if err != nil {
			continue // bitcode
		}
		var parts [4][]byte
		for i, name := range []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_loclists"} {
			if s := file.Section(name); s != nil {
				data := must.Get(s.Data())(f)
				parts[i] = append([]byte(nil), data...)
			}
		}
		f.Add(file.Order == binary.ByteOrder(binary.BigEndian), parts[0], parts[1], parts[2], parts[3])
	}
	f.Fuzz(func(t *testing.T, big bool, info, abbrev, str, lists []byte) {
		size := len(info) + len(abbrev) + len(str) + len(lists)
		if size > 1<<16 {
			t.Skip()
		}
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		file := wrap(t, order, info, abbrev, str, lists)
		programtest.Bounded(t, size, 20*time.Second, 256<<20, func() { readAll(file) })
	})
}

// readAll reads each unit of the file up to its first error.
func readAll(f *elf.File) {
	d, err := New(f)
	if err != nil {
		return
	}
	var r Reader
	p := Prints{Merged: true}
	for i := range d.Units {
		if r.Load(d, &d.Units[i]) != nil {
			continue
		}
		p.Reset(&r)
		p.sweepUnit()
		if readUnit(&r, &p) != nil {
			continue
		}
	}
}

func readUnit(r *Reader, p *Prints) error {
	var e DIE
	for off := r.Unit.HeaderLen; uint64(off) < r.Unit.Len; off = e.Next {
		if err := r.Read(off, &e); err != nil {
			return err
		}
		if e.Null {
			continue
		}
		head, err := r.Peek(off)
		if err != nil {
			return err
		}
		after, err := r.After(head)
		if err != nil {
			return err
		}
		if skipped, err := r.afterDIE(&e); err != nil || skipped != after {
			return err
		}
		if _, err := r.Function(&e); err != nil {
			return err
		}
		if _, err := p.Type(off); err != nil {
			return err
		}
		for s := Attr(0); s < numAttrs; s++ {
			if !e.Has(s) {
				continue
			}
			switch e.Class[s] {
			case ClassInline, ClassStrp, ClassLineStr, ClassStrx:
				if _, err := r.String(&e, s); err != nil {
					return err
				}
			case ClassBlock:
				at := e
				at.Val[Location], at.Class[Location] = e.Val[s], ClassBlock
				at.mask |= 1 << Location
				r.VariableAddress(&at)
			case ClassRefAddr:
				r.D.UnitAt(r.Unit.Section, e.Val[s])
			case ClassSig:
				r.D.TypeUnit(e.Val[s])
			}
			if err := r.Locations(off, e.Value(s), func([]byte) bool { return true }); err != nil {
				return err
			}
			p := Place{e.Val[LowPC], e.Val[EntryView]}
			if _, _, err := r.LocationAt(off, e.Value(s), e.Value(Views), p); err != nil {
				return err
			}
		}
		r.FirstAddress(&e)
	}
	return nil
}
