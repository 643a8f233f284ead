package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
	"math/bits"
)

// plan is what the fast paths need to know of an abbreviation declaration, in half a cache line.
// Plans are kept for codes of one byte, which compilers give to what is frequent.
type plan struct {
	// what a fingerprint takes for the tag, for which attributes there are, and for a constant that
	// the declaration holds
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

// near are the bytes of an entry from the last byte of its code on.
type near = [planReach]byte

// at returns the entry at off and its plan, nil if it has none.
func (r *Reader) at(off uint32) (*near, *plan) {
	if r.plans == nil || int(off) > len(r.buf) {
		return nil, nil
	}
	rest := r.buf[off:]
	if len(rest) < planReach || rest[0] >= plannedCodes {
		return nil, nil
	}
	return (*near)(rest), &r.plans.of[rest[0]]
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
		case o.attr == Name && o.class == ClassStrp && o.load == load4:
			p.nameAt, p.nameMask = uint8(1+o.off), 1<<32-1
		case o.class == ClassRef && o.load == load4 && p.flags&planRef == 0:
			p.refAt = uint8(1 + o.off)
			p.flags |= planRef
		case o.class == ClassConst && o.load == loadImm && constants == 1 && uint64(o.imm) < 1<<32:
			p.print ^= uint64(o.imm) << 32 // the same as if it lay in the entry
		case o.class == ClassConst && o.load == loadImm:
			p.mix(uint64(o.imm))
			p.mix(uint64(o.attr))
		case o.class == ClassConst && (o.load == load1 || o.load == load2 || o.load == load4):
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
	if p.valueAt+size != uint8(1+o.off) || size+o.load.size() > 4 {
		return false
	}
	if size > 0 { // where one ends and the other begins counts
		p.mix(uint64(size))
	}
	p.valueMask = (1<<(8*uint(size+o.load.size())) - 1) << 32
	return true
}

// isComplete tells whether entries of the declaration are definitions of tags, enums or typedefs in
// a single entry.
func isComplete(a *Abbrev) bool {
	if !a.definition || a.mask>>Declaration&1 != 0 || a.mask>>Signature&1 != 0 {
		return false
	}
	return a.mask>>Name&1 != 0 || a.Tag == std.TagEnumerationType
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
		held := a.mask>>Name&1 == 0 && a.Tag != std.TagEnumerationType // reached through what holds it
		if (declaration || held) && a.mask>>Signature&1 == 0 {
			return planNothing
		}
	case std.TagSubprogram:
		if declaration {
			return planNothing
		}
	case std.TagVariable:
		if a.mask>>Location&1 == 0 {
			return planNothing
		}
		return planLocal
	case std.TagTypedef, std.TagLexDwarfBlock, std.TagNamespace, std.TagModule, std.TagImportedUnit:
	default:
		return planNothing
	}
	return 0
}

// SkipIdle moves from the entry at off over those that declare nothing that is encoded, and through
// what they enclose. It stops at the first that may declare something, at the end of the list in
// which it began, or where it can't tell; deeper is by how many levels that is nested deeper than
// the entry at off. local: the entries are in a function, where variables are not encoded.
func (r *Reader) SkipIdle(off uint32, local bool) (next uint32, deeper int) {
	switch {
	case local:
		return r.skip(off, planNothing|planLocal, 0, planEnter|planStruct)
	case r.isC:
		return r.skip(off, planNothing, 0, planEnter)
	}
	return r.skip(off, planNothing, 0, planEnter|planStruct)
}

// isC tells whether a DW_AT_language is C. C compilers write all definitions in a struct of file
// scope beside it.
func isC(language uint64) bool {
	switch language {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c: // C89, C, C99, C11, C17
		return true
	}
	return false
}

// skip moves over entries whose plans have one of the flags over, until there is one that has one
// of the flags stop, and is not nested deeper than the first. It moves through the children of
// those with one of the flags enter, on deeper levels of all that may enclose definitions, and over
// the children of others. It stops where it can't tell.
func (r *Reader) skip(off uint32, over, stop, enter planFlags) (next uint32, deeper int) {
	if r.plans == nil {
		return off, 0
	}
	start, buf, plans, level, into := off, r.buf, r.plans, stop, enter
	// as in r.at, but faster
	for int(off)+planReach <= len(buf) {
		code := buf[off]
		if step := plans.steps[code]; step != 0 && level == 0 {
			off += uint32(step)
			continue
		}
		if code >= plannedCodes {
			break
		}
		p := &plans.of[code]
		if p.flags&over == 0 {
			if code != 0 || deeper == 0 {
				break
			}
			off++
			if deeper--; deeper == 0 {
				level, into = stop, enter
			}
			continue
		}
		if p.flags&level != 0 {
			break
		}
		at := off
		if p.flags&planLead != 0 {
			_, lead := inline8((*near)(buf[off:]))
			if lead == 0 {
				break
			}
			at += lead
		}
		if p.flags&planChild != 0 {
			next := uint32(0)
			if p.sibling != 0 {
				next = binary.LittleEndian.Uint32(buf[at+uint32(p.sibling):])
				if next <= off || int(next) > len(buf) {
					break
				}
			}
			if p.flags&into == 0 || next-at-uint32(p.size) <= r.abbrevs.definition {
				if next == 0 {
					break
				}
				off = next
				continue
			}
		}
		at += uint32(p.size)
		if p.blocks != 0 {
			if at = r.overBlocks(p, at); at == 0 {
				break
			}
		}
		off = at
		if p.flags&planChild != 0 {
			deeper++
			level, into = 0, planEnter|planStruct
		}
	}
	r.work -= int64((off - start) / 4) // entries of a few bytes
	return off, deeper
}

// overBlocks moves over the blocks that begin at off, and what is after each. It returns 0 where
// that is not simple.
func (r *Reader) overBlocks(p *plan, off uint32) uint32 {
	for _, tail := range p.tails[:p.blocks&3] {
		if int(off) >= len(r.buf) || r.buf[off] >= 0x80 {
			return 0
		}
		off += 1 + uint32(r.buf[off]) + uint32(tail)
	}
	if int(off) > len(r.buf) {
		return 0
	}
	return off
}

// u32 reads a number at a distance of up to 63 bytes. It is spelled out such that the compiler
// needs no checks.
func u32(b *near, at uint8) uint32 {
	i := int(at & 63)
	return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
}

// u64 is u32 for 8 bytes.
func u64(b *near, at uint8) uint64 {
	i := int(at & 63)
	return binary.LittleEndian.Uint64(b[i : i+8])
}

// inline8 reads the string that leads an entry, if it has up to 7 bytes. n is its length with the
// end; 0: it is longer.
func inline8(b *near) (s uint64, n uint32) {
	return short(binary.LittleEndian.Uint64(b[1:9]))
}

// short splits a string of up to 7 bytes and its end off the 8 bytes in w. n is its length with the
// end; 0: it is longer.
func short(w uint64) (s uint64, n uint32) {
	zero := (w - 0x0101010101010101) & ^w & 0x8080808080808080
	if zero == 0 {
		return 0, 0
	}
	end := zero & -zero >> 7 // the lowest bit of the first byte that is 0
	return w & (end - 1), uint32(bits.TrailingZeros64(end))/8 + 1
}
