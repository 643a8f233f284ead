package dwarf

import (
	std "debug/dwarf"
	"math/bits"
)

// plan has, in half a cache line, all that the fast paths need to know about an abbreviation
// declaration: how to skip entries (skip.go), and how to fingerprint them (fastprint.go). A
// declaration that can't be expressed in this way has the zero plan, and its entries are read run
// by run.
//
// Distances are from the last byte of an entry's code, or from the end of a leading inline string.
type plan struct {
	// to be mixed into every fingerprint: a hash of the tag, of the attributes with their classes, and
	// of the values in the declaration itself (DW_FORM_implicit_const, DW_FORM_flag_present)
	print     uint64
	valueMask uint32 // which bits at valueAt are the constant
	nameMask  uint32 // which bits at nameAt are the name: all for an offset, fewer for an index
	tag       uint16
	walk      walkFlags
	prints    printFlags
	nameAt    uint8
	valueAt   uint8
	refAt     uint8    // place of a reference; 0: none
	sibling   uint8    // place of DW_AT_sibling; 0: none
	size      uint8    // distance of the entry's end, or of the first attribute that varies in size
	tails     [2]uint8 // bytes after the first and second varying attribute; see tailLEB
	varying   varying
	refers    refers
	sweep     sweepStep
	step      uint8 // see plans.steps
}

// walkFlags say how to skip an entry.
type walkFlags uint8

const (
	planSized    walkFlags = 1 << iota // its size is in the plan
	planLead                           // its first attribute is an inline string
	planChildren                       // it has children
	planIdle                           // it does not itself declare anything that is encoded
	planLocal                          // like planIdle, but only inside functions
	planEnter                          // definitions may be nested in it; it is no struct or union
	planStruct                         // definitions may be nested in it; it is a struct or union
	// it is a parameter of a function, "...", an annotation, or an inlined call
	planStop
)

// printFlags say how to fingerprint an entry.
type printFlags uint8

const (
	printWhole printFlags = 1 << iota // all wanted attributes are in the plan
	printRoot                         // printWhole, and defines a struct, union, enum or typedef
	// a struct, union or enum with a name: a reference to it contributes kind and name
	printTag
	printTagName // printTag, with its name in the plan
	printLeaf    // printWhole, without children, and not a type definition
	printMember  // printLeaf; nothing in it varies in size, and it doesn't refer to another unit
	printFar     // its reference is a DW_AT_type that may lead to another unit
	// printRoot; nothing in it varies in size, its name is an offset, and there is no reference in it,
	// except in a typedef, which has no children
	printSimple
)

// varying is the number of attributes of a declaration that vary in size (blocks, expressions and
// LEB128 numbers), not counting an inline string at its start.
type varying uint8

const (
	varyingCount varying = 3
	varyingValue varying = 4 // only one attribute varies: a number, which is the entry's constant

	// tailLEB is set in an element of plan.tails if the bytes follow a LEB128 number.
	tailLEB = 0x80
)

const (
	planReach = 72 // how many bytes of an entry with a plan may be read, starting at its code
	// how many bytes the attributes of an entry with a plan may have; planReach also covers the
	// code, a leading string of 8 bytes, and wide reads
	planSize = 40
	// codes below this one have one byte
	shortCodes = 0x80
	// codes from this one on, which compilers use only for rare declarations, have no plans
	plannedCodes = 0x400
)

// plans are the plans of a unit, by code. The first byte of a longer code has the zero plan.
type plans struct {
	of [256]plan
	// steps has the size of entries that are planIdle, of fixed size, and either childless or
	// planEnter, and of the end of a list. For others, it has 0.
	steps [256]uint8
	// deeper has the level of what follows the entry, relative to the entry: -1, 0 or 1.
	deeper [256]int8
	long   []plan // of codes with two bytes, from shortCodes on
}

func (t *plans) reset() {
	*t = plans{long: t.long[:0]}
	t.steps[0], t.deeper[0] = 1, -1 // the end of a list
}

func (t *plans) set(code uint64, p *plan) {
	if code >= shortCodes {
		for code >= shortCodes+uint64(len(t.long)) {
			t.long = append(t.long, plan{})
		}
		t.long[code-shortCodes] = *p
		return
	}
	t.of[code] = *p
	t.steps[code] = p.step
	t.deeper[code] = int8(p.walk / planChildren & 1)
}

// at returns the plan for a code.
func (t *plans) at(code int) *plan {
	if code < shortCodes {
		return &t.of[code]
	}
	return &t.long[code-shortCodes]
}

// ofTwo returns the plan for the code whose two bytes are a and b. It returns the zero plan if the
// code has other bytes.
func (t *plans) ofTwo(a, b byte) *plan {
	if i := uint32(a) + uint32(b)<<7 - 2*shortCodes; int(i) < len(t.long) {
		return &t.long[i]
	}
	return &noPlan
}

// indexed reports whether the name is an index of less than 4 bytes into .debug_str_offsets.
func (p *plan) indexed() bool { return p.nameMask+1 > 1 }

// Rule: plans: how entries are skipped without reading them. docs/how/fast-paths.md explains them.
func makePlan(a *Abbrev) plan {
	p := plan{tag: uint16(a.Tag), walk: planSized | idle(a), refers: a.refers}
	runs := a.runs
	var wanted []attribute // distances in it assume that each LEB128 number has one byte
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
	case std.TagFormalParameter, std.TagUnspecifiedParameters, TagLLVMAnnotation,
		std.TagInlinedSubroutine:
		p.walk |= planStop
	}
	if whole && size <= planSize {
		p.planPrint(a, wanted)
	}
	p.sweep = p.sweepStep()
	p.step = p.fixedStep()
	typedef := a.Tag == std.TagTypedef && !a.Children
	if p.prints&printRoot != 0 && p.walk&planLead == 0 && p.varying == 0 && !p.indexed() &&
		(p.refAt == 0 || typedef) {
		p.prints |= printSimple
	}
	return p
}

// fixedStep returns the element for the entry in plans.steps.
func (p *plan) fixedStep() uint8 {
	if p.walk&planSized == 0 || p.walk&planLead != 0 || p.varying != 0 {
		return 0
	}
	switch p.walk &^ planSized {
	case planIdle, planIdle | planStop, planIdle | planChildren | planEnter:
		return p.size
	}
	return 0
}

// leads reports whether the first attribute is an inline string.
func (a *Abbrev) leads() bool {
	first := &a.runs[0]
	return first.last.form == formString && first.size == 0 && len(first.wanted) == 0
}

// planPrint plans how entries are fingerprinted, if the plan has room for their wanted attributes.
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
		case to.attr == Name && p.varying != 0 && at > p.size: // after an attribute that varies
			whole = false
		case to.attr == Name && to.class == ClassStrp && to.size == 4:
			p.nameAt, p.nameMask = at, 1<<32-1
		case to.attr == Name && to.class == ClassStrx && to.size < 4:
			p.nameAt, p.nameMask = at, 1<<(8*to.size)-1
		case to.class == ClassRef && to.size == 4 && p.refAt == 0 && p.varying&varyingValue == 0:
			p.refAt = at
		case to.class == ClassRefAddr && to.attr == Type && to.size == 4 && p.refAt == 0 &&
			p.varying&varyingValue == 0:
			p.refAt = at
			p.prints |= printFar
		case to.class == ClassConst && to.size == 0 && constants == 1 && imm < 1<<32:
			p.print ^= imm << 32 // the same as for a value in the entry
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
	if whole && p.refAt != 0 && !lead && p.varying == 0 && p.refers&leads != 0 {
		p.refers |= leadsSimply // in a plan, there is only one reference
	}
	if p.prints&(printLeaf|printFar) == printLeaf && !lead && p.varying == 0 {
		p.prints |= printMember
	}
	if a.named() {
		p.prints |= printTag
		if p.nameMask != 0 && !lead {
			p.prints |= printTagName
		}
	}
}

func (p *plan) mix(v uint64) {
	fp := Fingerprint{p.print, printSeedB}
	fp.mix(v)
	p.print = fp.A
}

// addValue plans a constant of size bytes at the distance off. It returns false if the plan has no
// room for it: a plan holds adjacent constants of at most 4 bytes in total.
func (p *plan) addValue(off, size uint8) bool {
	before := uint8(bits.Len32(p.valueMask) / 8)
	if before == 0 {
		p.valueAt = off
	}
	if p.valueAt+before != off || before+size > 4 {
		return false
	}
	if before > 0 { // the boundary between the constants matters
		p.mix(uint64(before))
	}
	p.valueMask = 1<<(8*(before+size)) - 1
	return true
}

// printSchema is a hash of a tag and of wanted attributes with their classes.
func printSchema(tag std.Tag, wanted []attribute) uint64 {
	fp := Fingerprint{printSeedA, printSeedB}
	fp.mix(uint64(tag))
	for i := range wanted {
		a := &wanted[i]
		form := uint64(0) // for fixed sizes, because the same value may be stored in several of them
		if isLEB(a.form) {
			form = uint64(a.form)
		}
		class := a.class
		if a.attr == Type && class == ClassRefAddr { // see printFar
			class = ClassRef
		}
		if a.attr != Sibling {
			fp.mix(form<<16 | uint64(a.attr)<<8 | uint64(class))
		}
	}
	return fp.A
}

// isRoot reports whether each entry is a complete definition of a struct, union, enum or typedef.
func (a *Abbrev) isRoot() bool {
	if !a.definition || a.has(Declaration) || a.has(Signature) {
		return false
	}
	return a.has(Name) || a.Tag == std.TagEnumerationType
}

// idle returns planIdle if entries, apart from their children, declare nothing that is encoded, or
// planLocal if that is so only inside functions. A walk over the unit skips such entries.
func idle(a *Abbrev) walkFlags {
	d := a.find(Declaration)
	declaration := d != nil && d.size == 0 && d.imm != 0
	switch a.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		anonymous := !a.has(Name) && a.Tag != std.TagEnumerationType // reached through its container
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
	case std.TagLexDwarfBlock:
		if a.Encloses {
			return planLocal
		}
	case std.TagTypedef, std.TagNamespace, std.TagModule, std.TagImportedUnit:
	default:
		return planIdle
	}
	return 0
}
