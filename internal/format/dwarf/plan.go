package dwarf

import (
	std "debug/dwarf"
	"math/bits"
)

// plan is what the fast paths need of an abbreviation declaration, in half a cache line: how to
// skip its entries (skip.go), and how to fingerprint them (fastprint.go). If a declaration doesn't
// fit, it has the zero plan, and its entries are read by its runs.
//
// Distances are from the last byte of an entry's code, or from the end of the leading string.
type plan struct {
	// hash of the tag, the list of attributes with their classes, and any value that the declaration
	// itself holds (DW_FORM_implicit_const, DW_FORM_flag_present): mixed into every fingerprint of
	// such an entry
	print     uint64
	valueMask uint32 // which bits at valueAt are the constant
	nameMask  uint32 // which bits at nameAt are the name: all of an offset, fewer of an index
	tag       uint16
	walk      walkFlags
	prints    printFlags
	nameAt    uint8
	valueAt   uint8
	refAt     uint8    // of a reference within the unit; 0: none
	sibling   uint8    // of DW_AT_sibling; 0: none
	size      uint8    // of what follows the attributes, or of the first that varies in size
	tails     [2]uint8 // bytes after the first and after the second of these; see tailLEB
	varying   varying
}

// walkFlags say how to skip an entry.
type walkFlags uint8

const (
	planSized    walkFlags = 1 << iota // its size is in the plan
	planLead                           // an inline string stands first
	planChildren                       // it has children
	planIdle                           // it declares nothing that is encoded itself
	planLocal                          // planIdle inside functions
	planEnter                          // definitions may be nested in it; it is no struct or union
	planStruct                         // definitions may be nested in it; it is a struct or union
	// a parameter of a function, the end of a varying list of them, or an annotation
	planParam
)

// printFlags say how to fingerprint an entry.
type printFlags uint8

const (
	printWhole printFlags = 1 << iota // all wanted attributes are in the plan
	printRoot                         // printWhole, a definition of a tag, an enum or a typedef
	// a struct, union or enum with a name, which references count as that
	printTag
	printTagName // printTag, with its name in the plan
	printLeaf    // printWhole, without children, and no type definition
	printMember  // printLeaf with a reference; nothing in it varies in size
)

// varying says how many attributes of a declaration vary in size, but for the leading string:
// blocks, expressions and LEB128 numbers.
type varying uint8

const (
	varyingCount varying = 3
	varyingValue varying = 4 // the only one is a number and the entry's constant

	// tailLEB marks what comes after a LEB128 number.
	tailLEB = 0x80
)

const (
	planReach = 72 // how far a planned entry may be read, from its code on
	// of the attributes of a planned entry, at most; its code, a leading string of 8 bytes and wide
	// reads are added
	planSize = 40
	// codes of more than one byte, which compilers give to what is rare, are not in plans
	plannedCodes = 0x80
)

// plans are those of a unit, by code, or the first byte of a longer code.
type plans struct {
	of [256]plan
	// steps are the sizes of entries that are planIdle, without children, and all of one size; 0:
	// others.
	steps [256]uint8
}

// set makes p the plan of a code.
func (t *plans) set(code uint64, p *plan) {
	t.of[code] = *p
	if p.walk&planIdle != 0 && p.walk&(planChildren|planLead) == 0 && p.varying == 0 {
		t.steps[code] = p.size
	}
}

// indexed reports whether the name is an index into .debug_str_offsets of less than 4 bytes.
func (p *plan) indexed() bool { return p.nameMask+1 > 1 }

// makePlan plans a declaration.
func makePlan(a *Abbrev) plan {
	p := plan{tag: uint16(a.Tag), walk: planSized | idle(a)}
	runs := a.runs
	var wanted []attribute // at their distances, for which a LEB128 number is a single byte
	if a.leads() {
		p.walk |= planLead
		wanted, runs = append(wanted, runs[0].last), runs[1:]
	}
	if len(runs)-1 > len(p.tails) || std.Tag(p.tag) != a.Tag {
		return plan{}
	}
	p.varying = varying(len(runs) - 1)
	whole, size := p.varying <= 1, uint32(0)
	for i := range runs {
		r := &runs[i]
		if r.size > planSize {
			return plan{}
		}
		if i == 0 {
			p.size = uint8(1 + r.size)
		} else {
			p.tails[i-1] |= uint8(r.size)
		}
		for _, to := range r.wanted {
			to.off += size
			wanted = append(wanted, to)
			if i == 0 && to.attr == Sibling && to.form == formRef4 {
				p.sibling = uint8(1 + to.off)
			}
		}
		if size += uint32(r.size); i+1 == len(runs) {
			break
		}
		switch {
		case isLEB(r.last.form):
			number := r.last
			number.off = size
			wanted = append(wanted, number)
			p.tails[i] = tailLEB
		case isBlock(r.last.form):
			whole = false
		default:
			return plan{}
		}
		size++
	}
	if a.Children {
		p.walk |= planChildren
	}
	switch {
	case !a.Encloses:
	case a.definition:
		p.walk |= planStruct
	default:
		p.walk |= planEnter
	}
	switch a.Tag {
	case std.TagFormalParameter, std.TagUnspecifiedParameters, TagLLVMAnnotation:
		p.walk |= planParam
	}
	if whole && size <= planSize {
		p.planPrint(a, wanted)
	}
	return p
}

// leads reports whether an inline string stands first.
func (a *Abbrev) leads() bool {
	first := &a.runs[0]
	return first.last.form == formString && first.size == 0 && len(first.wanted) == 0
}

// planPrint plans how an entry is fingerprinted, if there is room for its wanted attributes.
func (p *plan) planPrint(a *Abbrev, wanted []attribute) {
	p.print = printSchema(a.Tag, wanted)
	whole, constants := true, 0
	for i := range wanted {
		if wanted[i].class == ClassConst && wanted[i].attr != numAttrs {
			constants++
		}
	}
	for i := range wanted {
		to := &wanted[i]
		at, imm := uint8(1+to.off), uint64(to.imm)
		switch {
		case to.attr == Sibling:
		case to.size == varies:
			switch {
			case to.attr == numAttrs, to.attr == Name && to.form == formString && i == 0:
			case to.class == ClassConst && constants == 1 && isLEB(to.form):
				p.varying |= varyingValue
			default:
				whole = false
			}
		case to.attr == Name && p.varying != 0 && at > p.size: // after what varies
			whole = false
		case to.attr == Name && to.class == ClassStrp && to.size == 4:
			p.nameAt, p.nameMask = at, 1<<32-1
		case to.attr == Name && to.class == ClassStrx && to.size < 4:
			p.nameAt, p.nameMask = at, 1<<(8*to.size)-1
		case to.class == ClassRef && to.size == 4 && p.refAt == 0 && p.varying&varyingValue == 0:
			p.refAt = at
		case to.class == ClassConst && to.size == 0 && constants == 1 && imm < 1<<32:
			p.print ^= imm << 32 // the same as if it lay in the entry
		case to.class == ClassConst && to.size == 0:
			p.mix(imm)
			p.mix(uint64(to.attr))
		case to.class == ClassConst && (to.size == 1 || to.size == 2 || to.size == 4):
			whole = p.addValue(at, uint8(to.size)) && whole
		default:
			whole = false
		}
	}
	lead := p.walk&planLead != 0
	if lead && (p.varying != 0 || p.indexed()) {
		whole = false
	}
	if whole {
		p.prints |= printWhole
		if !a.Children && !a.definition {
			p.prints |= printLeaf
		}
		if a.isRoot() {
			p.prints |= printRoot
		}
	}
	if p.prints&printLeaf != 0 && p.refAt != 0 && !lead && p.varying == 0 {
		p.prints |= printMember
	}
	if a.named() {
		p.prints |= printTag
		if p.nameMask != 0 && !lead {
			p.prints |= printTagName
		}
	}
}

// mix makes v a part of what fingerprints take for the declaration.
func (p *plan) mix(v uint64) {
	fp := Fingerprint{p.print, printSeedB}
	fp.mix(v)
	p.print = fp.A
}

// addValue plans a constant of so many bytes in the entry. There is room for one of 4 bytes, or for
// adjacent ones of 4 bytes together.
func (p *plan) addValue(at, size uint8) bool {
	before := uint8(bits.Len32(p.valueMask) / 8)
	if before == 0 {
		p.valueAt = at
	}
	if p.valueAt+before != at || before+size > 4 {
		return false
	}
	if before > 0 { // where one ends and the other begins counts
		p.mix(uint64(before))
	}
	p.valueMask = 1<<(8*(before+size)) - 1
	return true
}

// printSchema stands for a tag and wanted attributes and their classes.
func printSchema(tag std.Tag, wanted []attribute) uint64 {
	fp := Fingerprint{printSeedA, printSeedB}
	fp.mix(uint64(tag))
	for i := range wanted {
		a := &wanted[i]
		form := uint64(0) // one size or another, it is the same value
		if isLEB(a.form) {
			form = uint64(a.form)
		}
		if a.attr != Sibling {
			fp.mix(form<<16 | uint64(a.attr)<<8 | uint64(a.class))
		}
	}
	return fp.A
}

// isRoot reports whether entries of the declaration are definitions of tags, enums or typedefs in a
// single entry.
func (a *Abbrev) isRoot() bool {
	if !a.definition || a.has(Declaration) || a.has(Signature) {
		return false
	}
	return a.has(Name) || a.Tag == std.TagEnumerationType
}

// idle reports whether entries of the declaration declare nothing that is encoded, apart from their
// children: planIdle, or planLocal if that holds inside functions only. A walk over the unit skips
// them.
func idle(a *Abbrev) walkFlags {
	d := a.find(Declaration)
	declaration := d != nil && d.size == 0 && d.imm != 0
	switch a.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		anonymous := !a.has(Name) && a.Tag != std.TagEnumerationType // reached through what holds it
		if (declaration || anonymous) && !a.has(Signature) {
			return planIdle
		}
	case std.TagSubprogram:
		if declaration {
			return planIdle
		}
	case std.TagVariable:
		if !a.has(Location) {
			return planIdle
		}
		return planLocal
	case std.TagTypedef, std.TagLexDwarfBlock, std.TagNamespace, std.TagModule, std.TagImportedUnit:
	default:
		return planIdle
	}
	return 0
}
