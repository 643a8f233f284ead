package verify

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// forms says, by kind, what the common part of a record may contain: whether vlen may be other than
// 0, whether the kind flag may be set, and which names are allowed.
var forms = [btf.NumKinds]struct {
	vlen, kflag bool
	name        needs
}{
	btf.KindInt:       {false, false, anyOrNone},
	btf.KindPtr:       {false, false, forbidden},
	btf.KindArray:     {false, false, forbidden},
	btf.KindStruct:    {true, true, optional},
	btf.KindUnion:     {true, true, optional},
	btf.KindEnum:      {true, true, optional},
	btf.KindFwd:       {false, true, required},
	btf.KindTypedef:   {false, false, required},
	btf.KindVolatile:  {false, false, forbidden},
	btf.KindConst:     {false, false, forbidden},
	btf.KindRestrict:  {false, false, forbidden},
	btf.KindFunc:      {true, false, required},
	btf.KindFuncProto: {true, false, forbidden},
	btf.KindVar:       {false, false, required},
	btf.KindDatasec:   {true, false, section},
	btf.KindFloat:     {false, false, anyOrNone},
	btf.KindDeclTag:   {false, true, anyText},
	btf.KindTypeTag:   {false, true, anyText},
	btf.KindEnum64:    {true, true, optional},
	btf.KindLocParam:  {true, false, forbidden},
	btf.KindLocProto:  {true, false, forbidden},
	btf.KindLocsec:    {true, false, section},
}

// form checks a record without its references, like the check_meta function of its kind in
// kernel/bpf/btf.c.
// Rule: verify: form of a record. Source: kernel btf_check_meta, and check_meta of each kind.
func (c *checker) form(i uint32) {
	t := &c.b.Types[i]
	may := forms[t.Kind]
	if t.Vlen > t.Kind.MaxVlen() {
		c.report(Reader, i, "vlen-wide",
			"it has %d elements; kernels before 7.2 and most tools read only %d", t.Vlen, btf.MaxVlen)
	}
	if t.Vlen != 0 && !may.vlen {
		c.report(Boot, i, "vlen-unexpected", "it has %d elements, but a %v has none", t.Vlen, t.Kind)
	}
	if t.KFlag && !may.kflag {
		c.report(Boot, i, "kind-flag", "the kind flag is set, but has no meaning for a %v", t.Kind)
	}
	c.typeName(i, may.name)
	switch t.Kind {
	case btf.KindInt:
		c.intForm(i)
	case btf.KindFloat:
		if !slices.Contains([]uint32{2, 4, 8, 12, 16}, t.SizeOrType) {
			c.report(Boot, i, "float-size", "the size is %s, but must be 2, 4, 8, 12 or 16",
				message.Count(t.SizeOrType, "byte"))
		}
	case btf.KindPtr, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindTypedef,
		btf.KindTypeTag:
		c.idForm(i, t.SizeOrType, "it refers to", true)
	case btf.KindArray:
		c.noSize(i, "an ARRAY")
		a := c.b.ArrayOf(t)
		c.idForm(i, a.Elem, "its elements have", false)
		c.idForm(i, a.Index, "its index has", false)
	case btf.KindStruct, btf.KindUnion:
		c.memberForm(i)
	case btf.KindEnum, btf.KindEnum64:
		c.enumForm(i)
	case btf.KindFwd:
		c.noSize(i, "a FWD")
	case btf.KindFunc:
		c.linkageForm(i, "func-linkage", t.Vlen)
	case btf.KindVar:
		c.idForm(i, t.SizeOrType, "it has", false)
		c.linkageForm(i, "var-linkage", t.Extra)
	case btf.KindDatasec:
		c.datasecForm(i)
	case btf.KindDeclTag:
		if idx := int32(t.Extra); idx < -1 {
			c.report(Boot, i, "component-index", "component index %d is below -1", idx)
		}
	case btf.KindLocParam:
		c.locParamForm(i)
	case btf.KindLocsec:
		c.locsecForm(i)
	}
}

func (c *checker) noSize(i uint32, what string) {
	if size := c.b.Types[i].SizeOrType; size != 0 {
		c.report(Boot, i, "size-unexpected", "the size is %d, but must be 0 for %s", size, what)
	}
}

func (c *checker) linkageForm(i uint32, rule string, linkage uint32) {
	if linkage > btf.LinkageGlobal {
		c.report(Boot, i, rule, "linkage %d is neither static (0) nor global (1)", linkage)
	}
}

// idForm checks that an id is in range. Unless the parameter void is set, the id must also not be
// 0. Whether the type exists is checked later, with the references.
func (c *checker) idForm(i, id uint32, what string, void bool) {
	switch {
	case id > btf.MaxTypeID:
		c.report(Boot, i, "type-id", "%s type id %d, above the maximum of %d", what, id, btf.MaxTypeID)
	case id == 0 && !void:
		c.report(Boot, i, "void", "%s type void", what)
	}
}

func (c *checker) intForm(i uint32) {
	t := &c.b.Types[i]
	enc, off, n := t.Extra>>24, t.Extra>>16&0xff, t.Extra&0xff
	if t.Extra>>28 != 0 {
		c.report(Boot, i, "int-encoding", "the encoding word %#x has unknown bits", t.Extra)
		return
	}
	if t.Extra&0xff00 != 0 { // the kernel allows the bits in 0x0fffffff
		c.report(Reader, i, "int-encoding-bits", "the encoding word %#x has bits without a meaning",
			t.Extra)
	}
	if !slices.Contains([]uint32{0, btf.IntSigned, btf.IntChar, btf.IntBool}, enc) {
		c.report(Boot, i, "int-encoding", "the encoding %d is not 0, SIGNED (1), CHAR (2) or BOOL (4)",
			enc)
	}
	if bits := off + n; bits > 128 {
		c.report(Boot, i, "int-bits", "the bit offset %d plus %s exceeds 128 bits", off,
			message.Count(n, "bit"))
	} else if (bits+7)/8 > t.SizeOrType {
		c.report(Boot, i, "int-bits", "the bit offset %d plus %s exceeds the size of %s", off,
			message.Count(n, "bit"), message.Count(t.SizeOrType, "byte"))
	}
}

// Rule: verify: members that begin outside their struct, or before the previous one. Source: kernel
// btf_struct_check_meta.
func (c *checker) memberForm(i uint32) {
	t := &c.b.Types[i]
	last := uint32(0)
	for n, m := range c.b.MembersOf(t) {
		name := c.elementName(i, m.NameOff, "member", n, optional)
		if m.Type == 0 || m.Type > btf.MaxTypeID {
			c.report(Boot, i, "type-id", "member %s has type id %d", label(name, n), m.Type)
		}
		off, _ := m.Bits(t.KFlag)
		switch {
		case t.Kind == btf.KindUnion && off != 0:
			c.report(Boot, i, "member-offset", "member %s of a union has bit offset %d, not 0",
				label(name, n), off)
		case off < last:
			c.report(Boot, i, "member-offset",
				"member %s has bit offset %d, but the one before it has %d", label(name, n), off, last)
		case (uint64(off)+7)/8 > uint64(t.SizeOrType):
			c.report(Boot, i, "member-offset", "member %s begins at bit %d, but the size is %s",
				label(name, n), off, message.Count(t.SizeOrType, "byte"))
		}
		last = off
	}
}

// Rule: enums that are only declared. verify checks them like other enums.
func (c *checker) enumForm(i uint32) {
	t := &c.b.Types[i]
	if !slices.Contains([]uint32{1, 2, 4, 8}, t.SizeOrType) {
		c.report(Boot, i, "enum-size", "the size is %d bytes, but must be 1, 2, 4 or 8", t.SizeOrType)
	}
	for n, e := range c.b.EnumsOf(t) {
		c.elementName(i, e.NameOff, "value", n, required)
	}
}

// Rule: verify: DATASECs. Source: kernel btf_datasec_check_meta, btf_datasec_resolve.
func (c *checker) datasecForm(i uint32) {
	t := &c.b.Types[i]
	if t.SizeOrType == 0 {
		c.report(Boot, i, "datasec-size", "the size is 0")
		return
	}
	end := uint64(0)
	for n, s := range c.b.SecinfosOf(t) {
		from, to := uint64(s.Offset), uint64(s.Offset)+uint64(s.Size)
		switch {
		case s.Type == 0 || s.Type > btf.MaxTypeID:
			c.report(Boot, i, "type-id", "entry %d has type id %d", n, s.Type)
		case from < end:
			c.report(Boot, i, "datasec-overlap",
				"entry %d begins at byte %d, but the one before it ends at %d", n, from, end)
		case s.Size == 0:
			c.report(Boot, i, "datasec-entry", "entry %d has size 0", n)
		case to > uint64(t.SizeOrType):
			c.report(Boot, i, "datasec-entry", "entry %d ends at byte %d, but the section ends at %d", n,
				to, t.SizeOrType)
		}
		end = to
	}
}
