package verify

import (
	"strconv"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// form checks one record by itself: kernel/bpf/btf.c, the check_meta function of its kind.
func (c *checker) form(i uint32) {
	t := &c.b.Types[i]
	if t.Vlen > btf.MaxVlen {
		c.report(Reader, i, "vlen-wide", "%d elements; kernels before 7.2 and most tools read up to %d",
			t.Vlen, btf.MaxVlen)
	}
	switch t.Kind {
	case btf.KindInt:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, anyOrNone)
		c.intForm(i)
	case btf.KindFloat:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, anyOrNone)
		switch t.SizeOrType {
		case 2, 4, 8, 12, 16:
		default:
			c.report(Boot, i, "float-size", "size is %d bytes, it must be 2, 4, 8, 12 or 16", t.SizeOrType)
		}
	case btf.KindPtr, btf.KindVolatile, btf.KindConst, btf.KindRestrict:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, forbidden)
		c.idForm(i, t.SizeOrType, "it refers to", true)
	case btf.KindTypedef:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, required)
		c.idForm(i, t.SizeOrType, "it refers to", true)
	case btf.KindTypeTag:
		c.noVlen(i)
		c.typeName(i, anyText)
		c.idForm(i, t.SizeOrType, "it refers to", true)
	case btf.KindArray:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, forbidden)
		if t.SizeOrType != 0 {
			c.report(Boot, i, "size-unexpected", "an ARRAY's size field is 0, here it is %d", t.SizeOrType)
		}
		a := c.b.ArrayOf(t)
		c.idForm(i, a.Elem, "its elements have", false)
		c.idForm(i, a.Index, "its index has", false)
	case btf.KindStruct, btf.KindUnion:
		c.typeName(i, optional)
		c.memberForm(i)
	case btf.KindEnum, btf.KindEnum64:
		c.typeName(i, optional)
		c.enumForm(i)
	case btf.KindFwd:
		c.noVlen(i)
		c.typeName(i, required)
		if t.SizeOrType != 0 {
			c.report(Boot, i, "size-unexpected", "a FWD's size field is 0, here it is %d", t.SizeOrType)
		}
	case btf.KindFunc:
		c.noKFlag(i)
		c.typeName(i, required)
		if t.Vlen > btf.LinkageGlobal {
			c.report(Boot, i, "func-linkage", "linkage %d is neither static (0) nor global (1)", t.Vlen)
		}
	case btf.KindFuncProto:
		c.noKFlag(i)
		c.typeName(i, forbidden)
	case btf.KindVar:
		c.noVlen(i)
		c.noKFlag(i)
		c.typeName(i, required)
		c.idForm(i, t.SizeOrType, "it has", false)
		if t.Extra > btf.LinkageGlobal {
			c.report(Boot, i, "var-linkage", "linkage %d is neither static (0) nor global (1)", t.Extra)
		}
	case btf.KindDatasec:
		c.noKFlag(i)
		c.typeName(i, section)
		c.datasecForm(i)
	case btf.KindDeclTag:
		c.noVlen(i)
		c.typeName(i, anyText)
		if idx := int32(t.Extra); idx < -1 {
			c.report(Boot, i, "component-index", "component index %d is below -1", idx)
		}
	}
}

func (c *checker) noVlen(i uint32) {
	if n := c.b.Types[i].Vlen; n != 0 {
		c.report(Boot, i, "vlen-unexpected", "a %v has no elements, here there are %d", c.b.Types[i].Kind,
			n)
	}
}

func (c *checker) noKFlag(i uint32) {
	if c.b.Types[i].KFlag {
		c.report(Boot, i, "kind-flag", "the kind flag has no meaning for a %v", c.b.Types[i].Kind)
	}
}

// idForm checks that an id can be written, and is not void where void is no type. Whether the type
// exists is checked with the references.
func (c *checker) idForm(i, id uint32, what string, void bool) {
	switch {
	case id > btf.MaxTypeID:
		c.report(Boot, i, "type-id", "%s type id %d, ids end at %d", what, id, btf.MaxTypeID)
	case id == 0 && !void:
		c.report(Boot, i, "void", "%s type void", what)
	}
}

func (c *checker) intForm(i uint32) {
	t := &c.b.Types[i]
	enc, off, n := t.Extra>>24, t.Extra>>16&0xff, t.Extra&0xff
	if t.Extra>>28 != 0 || t.Extra&0xff00 != 0 {
		// The kernel masks the word with 0x0fffffff and so lets bits 8 to 15 be anything.
		if t.Extra>>28 != 0 {
			c.report(Boot, i, "int-encoding", "the encoding word %#x has unknown bits", t.Extra)
			return
		}
		c.report(Reader, i, "int-encoding-bits", "the encoding word %#x has bits that mean nothing",
			t.Extra)
	}
	switch enc {
	case 0, btf.IntSigned, btf.IntChar, btf.IntBool:
	default:
		c.report(Boot, i, "int-encoding", "encoding %d is none of 0, SIGNED (1), CHAR (2) and BOOL (4)",
			enc)
	}
	if bits := off + n; bits > 128 {
		c.report(Boot, i, "int-bits", "bit offset %d and %d bits exceed 128 bits", off, n)
	} else if (bits+7)/8 > t.SizeOrType {
		c.report(Boot, i, "int-bits", "bit offset %d and %d bits exceed the size of %d bytes", off, n,
			t.SizeOrType)
	}
}

func (c *checker) memberForm(i uint32) {
	t := &c.b.Types[i]
	last := uint32(0)
	for n, m := range c.b.MembersOf(t) {
		what := func() string { return "name of member " + strconv.Itoa(n) }
		name, ok := c.name(Boot, i, m.NameOff, what)
		if ok && m.NameOff != 0 && !btf.ValidIdentifier([]byte(name)) {
			c.report(Boot, i, "name-invalid", "member %d: %s", n, badName(name, optional))
		}
		if m.Type == 0 || m.Type > btf.MaxTypeID {
			c.report(Boot, i, "type-id", "member %s has type id %d", label(name, n), m.Type)
		}
		off, _ := m.Bits(t.KFlag)
		switch {
		case t.Kind == btf.KindUnion && off != 0:
			c.report(Boot, i, "member-offset", "member %s of a union has bit offset %d, not 0",
				label(name, n), off)
		case off < last:
			c.report(Boot, i, "member-offset", "member %s has bit offset %d, the one before it %d",
				label(name, n), off, last)
		case (uint64(off)+7)/8 > uint64(t.SizeOrType):
			c.report(Boot, i, "member-offset", "member %s begins at bit %d, the size is %d bytes",
				label(name, n), off, t.SizeOrType)
		}
		last = off
	}
}

func (c *checker) enumForm(i uint32) {
	t := &c.b.Types[i]
	switch t.SizeOrType {
	case 1, 2, 4, 8:
	default:
		c.report(Boot, i, "enum-size", "size is %d bytes, it must be 1, 2, 4 or 8", t.SizeOrType)
	}
	for n, e := range c.b.EnumsOf(t) {
		name, ok := c.name(Boot, i, e.NameOff, func() string {
			return "name of value " +
				strconv.Itoa(n)
		})
		if ok && (e.NameOff == 0 || !btf.ValidIdentifier([]byte(name))) {
			c.report(Boot, i, "name-invalid", "value %d: %s", n, badName(name, required))
		}
	}
}

func (c *checker) datasecForm(i uint32) {
	t := &c.b.Types[i]
	if t.SizeOrType == 0 {
		c.report(Boot, i, "datasec-size", "size is 0")
		return
	}
	end := uint64(0)
	for n, s := range c.b.SecinfosOf(t) {
		from, to := uint64(s.Offset), uint64(s.Offset)+uint64(s.Size)
		switch {
		case s.Type == 0 || s.Type > btf.MaxTypeID:
			c.report(Boot, i, "type-id", "entry %d has type id %d", n, s.Type)
		case from < end:
			c.report(Boot, i, "datasec-overlap", "entry %d begins at byte %d, the one before it ends at %d",
				n, from, end)
		case s.Size == 0:
			c.report(Boot, i, "datasec-entry", "entry %d has size 0", n)
		case to > uint64(t.SizeOrType):
			c.report(Boot, i, "datasec-entry", "entry %d ends at byte %d, the section at %d", n, to,
				t.SizeOrType)
		}
		end = to
	}
}
