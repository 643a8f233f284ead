package dwarf

import (
	std "debug/dwarf"
	"math/bits"
	"slices"
)

// plan is what the fast paths need to know of an abbreviation declaration, in half a cache line.
// Plans are kept for codes of one byte, which compilers give to what is frequent.
type plan struct {
	// hash of the tag, the list of attributes with their classes, and any value that the declaration
	// itself holds (DW_FORM_implicit_const, DW_FORM_flag_present): mixed into every fingerprint of
	// such an entry
	print     uint64
	valueMask uint64 // in the upper half: which bits at valueAt are the constant
	nameMask  uint32 // which bits at nameAt are the name: all of an offset, fewer of an index
	tag       uint16
	flags     planFlags
	nameAt    uint8 // distances from the code's last byte, or from the end of the leading string
	valueAt   uint8
	refAt     uint8    // of a reference within the unit
	sibling   uint8    // of DW_AT_sibling; 0 where there is none
	size      uint8    // distance of what follows the attributes, or of the first varying one
	tails     [2]uint8 // bytes after the first and after the second of these; see tailLEB
	varying   varying
}

// varying says how many attributes of a declaration vary in size, but for the leading string:
// blocks, expressions and LEB128 numbers.
type varying uint8

const (
	varyingCount varying = 3
	varyingValue varying = 4 // the only one is a number and the entry's constant

	// tailLEB marks what comes after a LEB128 number.
	tailLEB = 0x80
)

// indexed reports whether the name is an index into .debug_str_offsets of less than 4 bytes.
func (p *plan) indexed() bool { return p.nameMask+1 > 1 }

type planFlags uint16

const (
	planSized planFlags = 1 << iota // its size is in the plan
	planUsual                       // all wanted attributes are in the plan
	planLeaf                        // planUsual, without children, and no type definition
	// planLeaf, with a reference, and not planLead or planOdd; the name, if any, is in front and
	// the constant after the reference
	planMember
	planLead // an inline string stands first
	planOdd  // the name is an index, or an attribute varies in size
	planRef  // refAt is valid
	// a struct, union or enum with a name, which references count as that
	planNamed
	planTag   // planNamed, with its name in the plan
	planChild // has children
	// a definition of a tag, an enum or a typedef, which may be a root
	planComplete
	// a parameter of a function, the end of a varying list of them, or an annotation
	planParam
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
	// indexed: one of the plans has an indexed name
	indexed bool
}

// set makes p the plan of a code.
func (t *plans) set(code uint64, p *plan) {
	t.of[code] = *p
	t.indexed = t.indexed || p.indexed()
	if p.flags&planNothing != 0 && p.flags&(planChild|planLead) == 0 && p.varying == 0 {
		t.steps[code] = p.size
	}
}

// makePlan plans a declaration. Where it has no plan, flags is 0.
func makePlan(a *Abbrev, l layout) plan {
	if l.varying < 0 || a.Tag > 1<<16-1 {
		return plan{}
	}
	p := plan{tag: uint16(a.Tag), varying: varying(l.varying), flags: planSized | idle(a)}
	for i, n := range l.sizes[:l.varying+1] {
		if n > planSize {
			return plan{}
		}
		if i == 0 {
			p.size = uint8(1 + n)
		} else {
			p.tails[i-1] = uint8(n) | l.leb[i-1]
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
	switch a.Tag {
	case std.TagFormalParameter, std.TagUnspecifiedParameters, TagLLVMAnnotation:
		p.flags |= planParam
	}
	p.sibling = uint8(l.sibling)
	if ops := l.ops(a); ops != nil || l.varying == 0 {
		p.print = printSchema(a.Tag, ops)
		p.read(a, ops)
	}
	return p
}

// layout is where the attributes of an entry lie.
type layout struct {
	lead bool // an inline string stands first
	// bytes of the attributes after it up to the first that varies in size, between that and the
	// second, and after that
	sizes   [3]int
	varying int      // how many vary in size; -1: too many, or in another way
	leb     [2]uint8 // tailLEB for those of them that are LEB128 numbers
	sibling int      // distance of DW_AT_sibling in the first part + 1; 0: none of 4 bytes is there
}

// add adds an attribute; size is -1 where it varies.
func (l *layout) add(attr Attr, form uint64, size int, first bool) {
	switch {
	case l.varying < 0:
	case first && form == formString:
		l.lead = true
	case form == formExprloc || form == formBlock || isLEB(form):
		if l.varying == len(l.leb) {
			l.varying = -1
			return
		}
		if isLEB(form) {
			l.leb[l.varying] = tailLEB
		}
		l.varying++
	case size < 0:
		l.varying = -1
	default:
		if attr == Sibling && form == formRef4 && l.varying == 0 {
			l.sibling = 1 + l.sizes[0]
		}
		l.sizes[l.varying] += size
	}
}

// ops are the wanted attributes of a, if no other varies in size than one LEB128 number, which is
// taken for one of a single byte.
func (l *layout) ops(a *Abbrev) []op {
	if l.varying == 0 {
		return a.ops
	}
	if l.varying != 1 || l.leb[0] == 0 || l.sizes[0]+1+l.sizes[1] > planSize {
		return nil
	}
	first, second := &a.parts[0], &a.parts[1]
	ops := slices.Clone(first.ops)
	number := first.varying
	number.off = uint32(first.size)
	ops = append(ops, number)
	for _, o := range second.ops {
		o.off += uint32(first.size) + 1
		ops = append(ops, o)
	}
	return ops
}

// read plans how the attributes are read, where that is as usual.
func (p *plan) read(a *Abbrev, ops []op) {
	usual, constants := true, 0
	for i := range ops {
		if ops[i].class == ClassConst && ops[i].attr != numAttrs {
			constants++
		}
	}
	for i := range ops {
		o := &ops[i]
		switch {
		case o.attr == Sibling:
		case o.form != 0: // the number that varies in size
			switch {
			case o.attr == numAttrs:
			case o.class == ClassConst && constants == 1 && p.tails[0] == tailLEB:
				p.varying |= varyingValue
			default:
				usual = false
			}
		case o.attr == Name && p.varying != 0 && 1+o.off > uint32(p.size): // after that
			usual = false
		case o.attr == Name && o.load == loadLead:
		case o.attr == Name && o.class == ClassStrp && o.load == 4:
			p.nameAt, p.nameMask = uint8(1+o.off), 1<<32-1
		case o.attr == Name && o.class == ClassStrx && o.load < 4:
			p.nameAt, p.nameMask = uint8(1+o.off), 1<<(8*o.load)-1
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
	if p.varying != 0 || p.indexed() {
		p.flags |= planOdd
		usual = usual && !a.lead
	}
	if usual {
		p.flags |= planUsual
		if !a.Children && !a.definition {
			p.flags |= planLeaf
		}
		if p.flags&(planLeaf|planRef|planLead|planOdd) == planLeaf|planRef &&
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

// isComplete reports whether entries of the declaration are definitions of tags, enums or typedefs
// in a single entry.
func isComplete(a *Abbrev) bool {
	if !a.definition || a.has(Declaration) || a.has(Signature) {
		return false
	}
	return a.has(Name) || a.Tag == std.TagEnumerationType
}

// idle reports whether entries of the declaration declare nothing that is encoded, but for what
// they enclose: planNothing, or planLocal if that is so inside functions. It is what a walk over
// the unit need not look at.
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
