package dwarf

import (
	std "debug/dwarf"
)

// Abbrev is a compiled abbreviation declaration (7.5.3).
type Abbrev struct {
	Tag      std.Tag
	Children bool
	// fixed is the size in bytes of all attributes together, behind the leading inline string if lead is set;
	// -1 when the entry must be walked form by form.
	fixed      int32
	lead       bool
	mask       uint64 // the slots that are present
	ops        []op   // fixed: only the attributes wanted; else all
	definition bool   // defines a type
	print      uint64 // fixed: what Fingerprint takes for the tag and for which attributes there are
	plan       plan   // fixed: for the fast paths
}

// op is one attribute: how to load it and where it goes.
type op struct {
	slot  Slot
	load  loader
	class Class
	form  uint16
	off   uint32 // fixed: distance from the first byte behind the leading string
	imm   int64  // DW_FORM_implicit_const
}

type loader uint8

const (
	loadWalk loader = iota // form by form
	load1
	load2
	load3
	load4
	load8
	loadImm
	loadLead // the leading inline string
	loadNone // no bytes and no value that is wanted
)

// format is what sizes forms: the unit's version, offset size and address size.
type format struct {
	version  uint16
	offSize  uint8
	addrSize uint8
}

// fixedForm returns the size of a form's value in bytes, -1 where it varies, and what it means.
func (f format) fixedForm(form uint64) (int, Class) {
	switch form {
	case formAddr:
		return int(f.addrSize), ClassAddr
	case formData1:
		return 1, ClassConst
	case formData2:
		return 2, ClassConst
	case formData4:
		return 4, ClassConst
	case formData8:
		return 8, ClassConst
	case formData16:
		return 16, ClassNone
	case formFlag:
		return 1, ClassConst
	case formFlagPresent, formImplicit:
		return 0, ClassConst
	case formStrp:
		return int(f.offSize), ClassStrp
	case formLineStrp:
		return int(f.offSize), ClassLineStr
	case formStrpSup, formGNUStrpAlt, formGNURefAlt:
		return int(f.offSize), ClassSup
	case formRefSup4:
		return 4, ClassSup
	case formRefSup8:
		return 8, ClassSup
	case formSecOffset:
		return int(f.offSize), ClassSec
	case formRefAddr:
		if f.version <= 2 {
			return int(f.addrSize), ClassRefAddr
		}
		return int(f.offSize), ClassRefAddr
	case formRef1:
		return 1, ClassRef
	case formRef2:
		return 2, ClassRef
	case formRef4:
		return 4, ClassRef
	case formRef8:
		return 8, ClassRef
	case formRefSig8:
		return 8, ClassSig
	case formStrx1:
		return 1, ClassStrx
	case formStrx2:
		return 2, ClassStrx
	case formStrx3:
		return 3, ClassStrx
	case formStrx4:
		return 4, ClassStrx
	case formAddrx1:
		return 1, ClassAddrx
	case formAddrx2:
		return 2, ClassAddrx
	case formAddrx3:
		return 3, ClassAddrx
	case formAddrx4:
		return 4, ClassAddrx
	}
	return -1, variableClass(form)
}

// classOf corrects the class of a form for an attribute: before DWARF 4, offsets of location lists had the forms of
// numbers, and a place in a structure in such a form is a list (version 3, 7.5.4).
func (f format) classOf(slot Slot, form uint64, class Class) Class {
	if f.version < 4 && slot == MemberLocation && (form == formData4 || form == formData8) {
		return ClassSec
	}
	return class
}

func variableClass(form uint64) Class {
	switch form {
	case formSdata, formUdata:
		return ClassConst
	case formString:
		return ClassInline
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return ClassBlock
	case formRefUdata:
		return ClassRef
	case formStrx, formGNUStrIndex:
		return ClassStrx
	case formAddrx, formGNUAddrIndex:
		return ClassAddrx
	case formLoclistx, formRnglistx:
		return ClassListx
	}
	return ClassNone
}

func fixedLoader(size int) loader {
	switch size {
	case 1:
		return load1
	case 2:
		return load2
	case 3:
		return load3
	case 4:
		return load4
	case 8:
		return load8
	}
	return loadNone
}

// abbrevTable holds the declarations of one unit by code. Its slices are reused from unit to unit.
type abbrevTable struct {
	off    uint64
	f      format
	valid  bool
	list   []Abbrev
	dense  []uint32 // code → index in list + 1
	plans  []plan   // by code, below plannedCodes
	sparse map[uint64]uint32
	ops    []op
	attrs  []attrSpec
	size   uint64 // bytes of .debug_abbrev
	notes  bool   // annotations are declared
	leaves bool   // entries may refer to other units
}

type attrSpec struct {
	attr, form uint64
	imm        int64
}

// maxDenseCode bounds the codes that are indexed directly; compilers number them from 1 on without gaps.
const maxDenseCode = 1 << 16

// lookup returns the declaration of code, nil when there is none.
func (t *abbrevTable) lookup(code uint64) *Abbrev {
	if code < uint64(len(t.dense)) {
		if i := t.dense[code]; i != 0 {
			return &t.list[i-1]
		}
	}
	if i, ok := t.sparse[code]; ok {
		return &t.list[i-1]
	}
	return nil
}

// compile reads the table at off of .debug_abbrev for units of format f.
func (t *abbrevTable) compile(d *Data, off uint64, f format) error {
	if t.valid && t.off == off && t.f == f {
		return nil
	}
	t.valid = false
	t.list, t.dense, t.sparse, t.ops, t.notes = t.list[:0], t.dense[:0], nil, t.ops[:0], false
	t.leaves = false
	if t.plans == nil {
		t.plans = make([]plan, plannedCodes)
	}
	clear(t.plans)
	if off > uint64(len(d.abbrev)) {
		return d.errorf(".debug_abbrev", off, "a unit's abbreviation table lies behind the end of the section")
	}
	c := cursor{buf: d.abbrev, pos: int(off)}
	for {
		at := c.pos
		code := c.uleb()
		if c.bad {
			return d.errorf(".debug_abbrev", uint64(at), "the abbreviation table has no end")
		}
		if code == 0 {
			break
		}
		tag := c.uleb()
		children := c.u8()
		t.attrs = t.attrs[:0]
		for {
			a := attrSpec{attr: c.uleb(), form: c.uleb()}
			if a.form == formImplicit {
				a.imm = c.sleb()
			}
			if c.bad {
				return d.errorf(".debug_abbrev", uint64(at), "the abbreviation is cut off")
			}
			if a.attr == 0 && a.form == 0 {
				break
			}
			t.attrs = append(t.attrs, a)
			t.leaves = t.leaves || a.form == formRefAddr || a.form == formRefSig8 || a.form == formIndirect
		}
		t.notes = t.notes || std.Tag(tag) == TagLLVMAnnotation || std.Tag(tag) == TagGNUAnnotation
		t.list = append(t.list, t.build(std.Tag(tag), children != 0, f))
		index := uint32(len(t.list))
		if code < maxDenseCode && code <= uint64(4*len(t.list)+64) && t.sparse[code] == 0 {
			for uint64(len(t.dense)) <= code {
				t.dense = append(t.dense, 0)
			}
			if t.dense[code] == 0 {
				t.dense[code] = index
				if code < plannedCodes && code != 0 {
					t.plans[code] = t.list[index-1].plan
				}
			}
			continue
		}
		if t.sparse == nil {
			t.sparse = make(map[uint64]uint32)
		}
		if t.sparse[code] == 0 {
			t.sparse[code] = index
		}
	}
	t.off, t.f, t.valid, t.size = off, f, true, uint64(c.pos)-off
	return nil
}

// build compiles t.attrs.
func (t *abbrevTable) build(tag std.Tag, children bool, f format) Abbrev {
	a := Abbrev{Tag: tag, Children: children, definition: isDefinitionTag(tag)}
	first := len(t.ops)
	var off int64
	for i, spec := range t.attrs {
		slot := slotFor(spec.attr)
		size, class := f.fixedForm(spec.form)
		class = f.classOf(slot, spec.form, class)
		o := op{slot: slot, class: class, form: uint16(spec.form), imm: spec.imm}
		switch {
		case spec.form == formImplicit:
			o.load = loadImm
		case spec.form == formFlagPresent:
			o.load, o.imm = loadImm, 1
		case i == 0 && spec.form == formString:
			a.lead, o.load = true, loadLead
		case size < 0 || spec.form > 0xffff:
			a.fixed = -1
		default:
			o.load, o.off = fixedLoader(size), uint32(off)
			off += int64(size)
		}
		if slot != slots && class != ClassNone {
			a.mask |= 1 << slot
		}
		t.ops = append(t.ops, o)
	}
	if a.fixed < 0 {
		a.lead = false
		for i := first; i < len(t.ops); i++ {
			t.ops[i].load = loadWalk
		}
		a.ops = t.ops[first:len(t.ops):len(t.ops)]
		return a
	}
	a.fixed = int32(off)
	kept := first
	for _, o := range t.ops[first:] {
		if o.slot != slots && o.load != loadNone {
			t.ops[kept] = o
			kept++
		}
	}
	t.ops = t.ops[:kept]
	a.ops = t.ops[first:kept:kept]
	a.print = printSchema(&a)
	a.plan = makePlan(&a)
	return a
}
