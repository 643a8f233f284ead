package compiledtest

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Variables returns the variables of a BTF itself. A key has the section, offset and name, such as
// ".data..percpu+8 state", and the value has the size, linkage and type. A struct or union is its
// name with its members; a struct or union to which a member leads is only its name.
func (d Dir) Variables(b *btf.Blob) map[string]string {
	d.Helper()
	name := func(off uint32) string {
		s, err := b.Name(off)
		if err != nil {
			d.Fatal(err)
		}
		return s
	}
	var spell func(id uint32, deep bool) string
	spell = func(id uint32, deep bool) string {
		t, at := b.ByID(id)
		switch t.Kind {
		case btf.KindPtr:
			return "*" + spell(t.SizeOrType, deep)
		case btf.KindConst:
			return "const " + spell(t.SizeOrType, deep)
		case btf.KindArray:
			a := at.ArrayOf(t)
			return fmt.Sprintf("[%d]%s", a.Nelems, spell(a.Elem, deep))
		case btf.KindStruct, btf.KindUnion:
			if !deep {
				return name(t.NameOff)
			}
			text := name(t.NameOff) + "{"
			for _, m := range at.MembersOf(t) {
				text += " " + name(m.NameOff) + " " + spell(m.Type, false)
			}
			return text + " }"
		}
		return name(t.NameOff)
	}
	found := map[string]string{}
	for i := range b.Types {
		sec := &b.Types[i]
		if sec.Kind != btf.KindDatasec {
			continue
		}
		for _, s := range b.SecinfosOf(sec) {
			v, _ := b.ByID(s.Type)
			at := fmt.Sprintf("%s+%d %s", name(sec.NameOff), s.Offset, name(v.NameOff))
			found[at] = fmt.Sprintf("%d bytes, linkage %d: %s", s.Size, v.Extra,
				spell(v.SizeOrType, true))
		}
	}
	return found
}

// Oracle returns what Variables should return: the variables of file scope of a linked file that
// have a symbol, with the types that the standard library reads from the file's DWARF. The
// symbol may have a suffix, as link-time optimization adds to static variables.
func (d Dir) Oracle(file string) map[string]string {
	d.Helper()
	f, err := elf.Open(d.Path(file))
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		d.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		d.Fatal(err)
	}
	var addresses []byte
	if s := f.Section(".debug_addr"); s != nil {
		if addresses, err = s.Data(); err != nil {
			d.Fatal(err)
		}
	}
	found := map[string]string{}
	base := int64(0)
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			d.Fatal(err)
		}
		if e == nil {
			return found
		}
		if e.Tag == dwarf.TagCompileUnit {
			base, _ = e.Val(dwarf.AttrAddrBase).(int64)
			continue
		}
		r.SkipChildren()
		location, _ := e.Val(dwarf.AttrLocation).([]byte)
		switch {
		case e.Tag != dwarf.TagVariable || len(location) == 0:
			continue
		case location[0] == 0xa1: // DW_OP_addrx
			location = addresses[base+8*int64(location[1]):][:8]
		case location[0] == 3 && len(location) == 9: // DW_OP_addr
			location = location[1:]
		default:
			continue
		}
		if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok { // gcc -flto
			other := data.Reader()
			other.Seek(origin)
			if e, err = other.Next(); err != nil {
				d.Fatal(err)
			}
		}
		t, err := data.Type(e.Val(dwarf.AttrType).(dwarf.Offset))
		if err != nil {
			d.Fatal(err)
		}
		name, linkage := e.Val(dwarf.AttrName).(string), 0
		if e.Val(dwarf.AttrExternal) == true {
			linkage = 1
		}
		for _, s := range symbols {
			base, _, _ := strings.Cut(s.Name, ".")
			if base == name && s.Value == f.ByteOrder.Uint64(location) {
				section := f.Sections[s.Section]
				at := fmt.Sprintf("%s+%d %s", section.Name, s.Value-section.Addr, name)
				found[at] = fmt.Sprintf("%d bytes, linkage %d: %s", s.Size, linkage, spellDWARF(t, true))
			}
		}
	}
}

// spellDWARF writes a type as Variables does.
func spellDWARF(t dwarf.Type, deep bool) string {
	switch t := t.(type) {
	case *dwarf.PtrType:
		return "*" + spellDWARF(t.Type, deep)
	case *dwarf.QualType:
		return t.Qual + " " + spellDWARF(t.Type, deep)
	case *dwarf.ArrayType:
		return fmt.Sprintf("[%d]%s", t.Count, spellDWARF(t.Type, deep))
	case *dwarf.StructType:
		if !deep {
			return t.StructName
		}
		text := t.StructName + "{"
		for _, m := range t.Field {
			text += " " + m.Name + " " + spellDWARF(m.Type, false)
		}
		return text + " }"
	}
	return t.Common().Name
}
