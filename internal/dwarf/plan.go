package dwarf

import (
	std "debug/dwarf"
	"math/bits"
)

// plan is what the fast paths need to know of an abbreviation declaration, in half a cache line.
// Plans are kept for codes of one byte, which compilers give to what is frequent.
type plan struct {
	// hash of the tag, the list of attributes with their classes, and any value that the declaration
	// itself holds (DW_FORM_implicit_const, DW_FORM_flag_present): mixed into every fingerprint of
	// such an entry
	print     uint64
	valueMask uint64 // in the upper half: which bits at valueAt are the constant
	nameMask  uint32 // all bits if a .debug_str offset is at nameAt
	tag       uint16
	flags     planFlags
	nameAt    uint8 // distances from the code's last byte, or from the end of the leading string
	valueAt   uint8
	refAt     uint8    // of a reference within the unit
	sibling   uint8    // of DW_AT_sibling; 0 where there is none
	size      uint8    // distance of what follows the attributes, or of the first block
	tails     [2]uint8 // bytes after the first and after the second block
	blocks    uint8    // how many blocks and expressions there are
}

type planFlags uint16

const (
	planSized planFlags = 1 << iota // its size is in the plan
	planUsual                       // all wanted attributes are in the plan, which has no blocks
	planLeaf                        // planUsual, without children, and no type definition
	// planLeaf, with a reference and without a leading string; the name, if any, is in front and
	// the constant after the reference
	planMember
	planLead // an inline string stands first
	planRef  // refAt is valid
	// a struct, union or enum with a name, which references count as that
	planNamed
	planTag   // planNamed, with its name in the plan
	planChild // has children
	// a definition of a tag, an enum or a typedef, which may be a root
	planComplete
	// a parameter of a function, or the end of a varying list of them
	planParam
	planBlock   // a lexical block with children; its size is in the plan
	planNothing // declares nothing that is encoded itself
	planLocal   // planNothing inside functions
	planEnter   // definitions may be nested in it; it is no struct or union
	planStruct  // definitions may be nested in it; it is a struct or union
)

const (
	plannedCodes = 128
	planReach    = 72 // how far a planned entry may be read, from its code on
	// of the attributes of a planned entry, at most; its code, a leading string of 8 bytes and wide
	// reads are added
	planSize = 40
)

// plans are those of a unit, by code.
type plans struct {
	of [plannedCodes]plan
	// steps are the sizes of entries that are planNothing, without children, and all of one size;
	// 0: others.
	steps [256]uint8
}

// set makes p the plan of a code.
func (t *plans) set(code uint64, p *plan) {
	t.of[code] = *p
	if p.flags&planNothing != 0 && p.flags&(planChild|planLead) == 0 && p.blocks == 0 {
		t.steps[code] = p.size
	}
}

// makePlan plans a declaration. Where it has no plan, flags is 0.
func makePlan(a *Abbrev, l layout) plan {
	if l.blocks < 0 || a.Tag > 1<<16-1 {
		return plan{}
	}
	p := plan{print: a.print, tag: uint16(a.Tag), blocks: uint8(l.blocks), flags: planSized | idle(a)}
	for i, n := range l.sizes[:l.blocks+1] {
		if n > planSize {
			return plan{}
		}
		if i == 0 {
			p.size = uint8(1 + n)
		} else {
			p.tails[i-1] = uint8(n)
		}
	}
	if l.lead {
		p.flags |= planLead
	}
	if a.Children {
		p.flags |= planChild
	}
	switch {
	case !a.Encloses:
	case a.definition:
		p.flags |= planStruct
	default:
		p.flags |= planEnter
	}
	if a.Tag == std.TagFormalParameter || a.Tag == std.TagUnspecifiedParameters {
		p.flags |= planParam
	}
	if a.Tag == std.TagLexDwarfBlock && a.Children && l.blocks == 0 && !l.lead {
		p.flags |= planBlock
	}
	p.sibling = uint8(l.sibling)
	if l.blocks == 0 {
		p.read(a)
	}
	return p
}

// layout is where the attributes of an entry lie.
type layout struct {
	lead bool // an inline string stands first
	// bytes of the attributes after it up to the first block, between that and the second, and
	// after that
	sizes   [3]int
	blocks  int // -1: the sizes of other attributes vary
	sibling int // distance of DW_AT_sibling in the first part + 1; 0: none of 4 bytes is there
}

// add adds an attribute; size is -1 where it varies.
func (l *layout) add(attr Attr, form uint64, size int, first bool) {
	switch {
	case l.blocks < 0:
	case first && form == formString:
		l.lead = true
	case form == formExprloc || form == formBlock:
		if l.blocks++; l.blocks == len(l.sizes) {
			l.blocks = -1
		}
	case size < 0:
		l.blocks = -1
	default:
		if attr == Sibling && form == formRef4 && l.blocks == 0 {
			l.sibling = 1 + l.sizes[0]
		}
		l.sizes[l.blocks] += size
	}
}

// read plans how the attributes are read, where that is as usual.
func (p *plan) read(a *Abbrev) {
	usual, constants := true, 0
	for i := range a.ops {
		if a.ops[i].class == ClassConst {
			constants++
		}
	}
	for i := range a.ops {
		o := &a.ops[i]
		switch {
		case o.attr == Sibling:
		case o.attr == Name && o.load == loadLead:
		case o.attr == Name && o.class == ClassStrp && o.load == 4:
			p.nameAt, p.nameMask = uint8(1+o.off), 1<<32-1
		case o.class == ClassRef && o.load == 4 && p.flags&planRef == 0:
			p.refAt = uint8(1 + o.off)
			p.flags |= planRef
		case o.class == ClassConst && o.load == loadImm && constants == 1 && uint64(o.imm) < 1<<32:
			p.print ^= uint64(o.imm) << 32 // the same as if it lay in the entry
		case o.class == ClassConst && o.load == loadImm:
			p.mix(uint64(o.imm))
			p.mix(uint64(o.attr))
		case o.class == ClassConst && (o.load == 1 || o.load == 2 || o.load == 4):
			usual = p.addValue(o) && usual
		default:
			usual = false
		}
	}
	if usual {
		p.flags |= planUsual
		if !a.Children && !a.definition {
			p.flags |= planLeaf
		}
		if p.flags&(planLeaf|planRef|planLead) == planLeaf|planRef &&
			(p.nameMask == 0 || p.nameAt == 1) && (p.valueMask == 0 || p.valueAt == p.refAt+4) {
			p.flags |= planMember
		}
		if isComplete(a) {
			p.flags |= planComplete
		}
	}
	if a.named() {
		p.flags |= planNamed
		if p.nameMask != 0 && !a.lead {
			p.flags |= planTag
		}
	}
}

// mix makes v a part of what fingerprints take for the declaration.
func (p *plan) mix(v uint64) {
	fp := Fingerprint{p.print, printSeedB}
	fp.mix(v)
	p.print = fp.A
}

// addValue plans a constant that lies in the entry. There is room for one of 4 bytes, or for
// neighbours that are no larger together.
func (p *plan) addValue(o *op) bool {
	size := uint8(bits.Len32(uint32(p.valueMask>>32)) / 8)
	if size == 0 {
		p.valueAt = uint8(1 + o.off)
	}
	if p.valueAt+size != uint8(1+o.off) || size+uint8(o.load) > 4 {
		return false
	}
	if size > 0 { // where one ends and the other begins counts
		p.mix(uint64(size))
	}
	p.valueMask = (1<<(8*(size+uint8(o.load))) - 1) << 32
	return true
}

// isComplete tells whether entries of the declaration are definitions of tags, enums or typedefs in
// a single entry.
func isComplete(a *Abbrev) bool {
	if !a.definition || a.has(Declaration) || a.has(Signature) {
		return false
	}
	return a.has(Name) || a.Tag == std.TagEnumerationType
}

// idle tells whether entries of the declaration declare nothing that is encoded, but for what they
// enclose: planNothing, or planLocal if that is so inside functions. It is what a walk over the
// unit need not look at.
func idle(a *Abbrev) planFlags {
	declaration := false
	for i := range a.ops {
		o := &a.ops[i]
		declaration = declaration || o.attr == Declaration && o.load == loadImm && o.imm != 0
	}
	switch a.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		held := !a.has(Name) && a.Tag != std.TagEnumerationType // reached through what holds it
		if (declaration || held) && !a.has(Signature) {
			return planNothing
		}
	case std.TagSubprogram:
		if declaration {
			return planNothing
		}
	case std.TagVariable:
		if !a.has(Location) {
			return planNothing
		}
		return planLocal
	case std.TagTypedef, std.TagLexDwarfBlock, std.TagNamespace, std.TagModule, std.TagImportedUnit:
	default:
		return planNothing
	}
	return 0
}
