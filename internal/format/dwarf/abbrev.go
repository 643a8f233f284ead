package dwarf

import (
	"bytes"
	std "debug/dwarf"
	"encoding/binary"
	"math/bits"
)

// Abbrev is a compiled abbreviation declaration (7.5.3).
type Abbrev struct {
	plan     plan // for the fast paths
	Tag      std.Tag
	Children bool
	// Encloses reports whether type definitions may be nested in the entries, at any level.
	Encloses   bool
	definition bool   // entries define a type
	refersOut  bool   // entries have an attribute that may refer to another unit
	annotated  bool   // entries are annotations, or may have one
	typed      bool   // see Reader.Untyped
	prototyped bool   // entries have DW_AT_prototyped
	refers     refers // what entries refer to
	size       uint32 // bytes of an entry with a code of one byte, without attributes that vary in size
	declaring  uint32 // size, if entries declare something, or else the largest number
	mask       uint64 // the attributes that are present
	runs       []run  // how the entries are read
}

// abbrevTable holds the declarations of one unit by code. Its memory is reused for the next unit.
type abbrevTable struct {
	off       uint64
	f         format
	valid     bool
	dense     []*Abbrev // by code
	plans     *plans
	sparse    map[uint64]*Abbrev
	size      uint64 // bytes of .debug_abbrev
	annotated bool   // entries may have annotations
	refersOut bool   // entries may refer to other units

	declaring uint32 // the smallest size of an entry that declares something, in bytes

	// compiled is kept for the next unit, because most units have the same declarations.
	compiled *compiledAbbrevs
	spelling []byte
	specs    []attrSpec
}

// compiledAbbrevs are compiled declarations for units of one format.
type compiledAbbrevs struct {
	// recent finds most declarations faster, by all their bytes, without a look at each attribute.
	recent     [recentSets]recentAbbrevs
	bySpelling map[string]*Abbrev
}

// recentAbbrevs are two declarations with the same hash. The first was used last.
type recentAbbrevs [2]recentAbbrev

// recentAbbrev fills a line of the processor's cache.
type recentAbbrev struct {
	abbrev *Abbrev
	size   uint8
	text   [recentSize]byte // the declaration's bytes in the section, without the code: size bytes
}

// is reports whether b begins with the declaration.
func (r *recentAbbrev) is(b []byte) bool {
	return r.size > 0 && bytes.HasPrefix(b, r.text[:min(int(r.size), len(r.text))])
}

// find returns the declaration with which b begins, or nil if it isn't one of the two.
func (r *recentAbbrevs) find(b []byte) *recentAbbrev {
	if r[1].is(b) {
		r[0], r[1] = r[1], r[0]
	}
	if r[0].is(b) {
		return &r[0]
	}
	return nil
}

// add remembers the declaration a with these bytes, unless there are too many.
func (r *recentAbbrevs) add(text []byte, a *Abbrev) {
	if len(text) <= recentSize {
		r[1] = r[0]
		r[0].abbrev, r[0].size = a, uint8(copy(r[0].text[:], text))
	}
}

func newCompiledAbbrevs() *compiledAbbrevs {
	return &compiledAbbrevs{bySpelling: make(map[string]*Abbrev)}
}

type attrSpec struct {
	attr, form uint64
	imm        int64
}

const (
	// maxDenseCode limits the indexes of the slice dense. Compilers number declarations from 1.
	maxDenseCode = 1 << 16
	// maxCompiled limits the entries of compiledAbbrevs.bySpelling; maxCompiledSize limits the bytes
	// of a declaration there.
	maxCompiled     = 1 << 13
	maxCompiledSize = 1 << 8
	recentSets      = 1 << 11 // a power of two, because it divides a hash
	recentSize      = 55      // most declarations have fewer bytes
)

// lookup returns the declaration with the given code, or nil if there is none.
func (t *abbrevTable) lookup(code uint64) *Abbrev {
	if code < uint64(len(t.dense)) && t.dense[code] != nil {
		return t.dense[code]
	}
	return t.sparse[code]
}

// compile reads the table at offset off in .debug_abbrev, for units of format f.
func (t *abbrevTable) compile(d *Data, off uint64, f format) error {
	if t.valid && t.off == off && t.f == f {
		return nil
	}
	if t.f != f || t.compiled == nil || len(t.compiled.bySpelling) > maxCompiled {
		t.compiled = newCompiledAbbrevs()
	}
	t.valid, t.f, t.declaring = false, f, 1<<32-1
	t.dense, t.sparse, t.annotated, t.refersOut = t.dense[:0], nil, false, false
	if t.plans == nil {
		t.plans = new(plans)
	}
	t.plans.reset()
	if off > uint64(len(d.abbrev)) {
		return d.damaged(".debug_abbrev", off,
			"a unit's abbreviation table lies beyond the end of the section")
	}
	c := cursor{buf: d.abbrev, pos: int(off)}
	for n := 1; ; n++ {
		at := c.pos
		code := c.uleb()
		if c.bad {
			return d.damaged(".debug_abbrev", uint64(at), "the abbreviation table has no end")
		}
		if code == 0 {
			break
		}
		a := t.compileOne(&c)
		if a == nil {
			return d.damaged(".debug_abbrev", uint64(at), "the abbreviation is cut off")
		}
		t.annotated = t.annotated || a.annotated
		t.refersOut = t.refersOut || a.refersOut
		t.declaring = min(t.declaring, a.declaring)
		t.add(code, a, n)
	}
	if t.annotated {
		t.stopAtAnonymous()
	}
	t.off, t.valid, t.size = off, true, uint64(c.pos)-off
	return nil
}

// stopAtAnonymous makes the fast paths stop at structs and unions without a name. Otherwise the
// annotations on these types and on their members would be missed.
func (t *abbrevTable) stopAtAnonymous() {
	for code, a := range t.dense {
		if a != nil && a.anonymous() && a.Children && code < plannedCodes {
			t.plans.at(code).walk &^= planIdle
			t.declaring = min(t.declaring, a.size)
		}
	}
}

// add enters the declaration a under its code, unless the code already has a declaration. n counts
// the declarations read so far, including a.
func (t *abbrevTable) add(code uint64, a *Abbrev, n int) {
	if code >= maxDenseCode || code > uint64(4*n+64) || t.sparse[code] != nil {
		if t.sparse == nil {
			t.sparse = make(map[uint64]*Abbrev)
		}
		if t.sparse[code] == nil {
			t.sparse[code] = a
		}
		return
	}
	for uint64(len(t.dense)) <= code {
		t.dense = append(t.dense, nil)
	}
	if t.dense[code] == nil {
		t.dense[code] = a
		if code < plannedCodes {
			t.plans.set(code, &a.plan)
		}
	}
}

// compileOne compiles the declaration whose code ends at c, or returns an equal one that is
// already compiled. It returns nil if the declaration is cut off.
//
// It moves c by the size that it read from the section, not by the one in the table of recent
// declarations. So the processor can start with the next declaration while it waits for the table.
func (t *abbrevTable) compileOne(c *cursor) *Abbrev {
	rest := c.buf[c.pos:min(c.pos+recentSize, len(c.buf))]
	hash, size := hashHead(rest)
	recent := &t.compiled.recent[hash%recentSets]
	if r := &recent[0]; int(r.size) == size && string(r.text[:size]) == string(rest[:size]) {
		c.pos += size
		return r.abbrev
	}
	return t.compileOther(c, recent, rest)
}

// compileOther is compileOne for a declaration that isn't the first one in recent, or whose size is
// not the one that hashHead expects.
func (t *abbrevTable) compileOther(c *cursor, recent *recentAbbrevs, rest []byte) *Abbrev {
	if r := recent.find(rest); r != nil {
		c.pos += int(r.size)
		return r.abbrev
	}
	start, end := c.pos, t.spell(c.buf, c.pos)
	if end == 0 {
		return nil
	}
	a := t.compiled.bySpelling[string(t.spelling)]
	if a == nil {
		a = t.compileNew(c)
		if len(t.spelling) <= maxCompiledSize {
			t.compiled.bySpelling[string(t.spelling)] = a
		}
	}
	c.pos = end
	recent.add(c.buf[start:end], a)
	return a
}

// hashHead returns a hash of the declaration at the start of b, and its size. b must be short: at
// most all of it is read. A declaration ends with two bytes that are 0; hashHead covers the bytes
// up to the first such pair. The size is wrong if that pair is before the end, and -1 if there is
// none. Equal declarations have equal hashes, except perhaps near the end of b.
func hashHead(b []byte) (h uint64, size int) {
	const odd = 0x9e37_79b9_7f4a_7c15
	for at := 0; len(b)-at >= 8; at += 7 {
		w := binary.LittleEndian.Uint64(b[at:])
		const low = 0x7f7f_7f7f_7f7f_7f7f
		zero := ^(w&low + low | w | low) // the top bits of the bytes that are 0
		if pair := zero & (zero >> 8); pair != 0 {
			last := bits.TrailingZeros64(pair)
			return (h ^ w&(pair&-pair-1)) * odd >> 32, at + last/8 + 2
		}
		h = bits.RotateLeft64((h^w)*odd, 32)
	}
	return h, -1
}

// compileNew compiles the declaration whose code ends at c.
func (t *abbrevTable) compileNew(c *cursor) *Abbrev {
	tag := c.uleb()
	children := c.u8()
	t.specs = t.specs[:0]
	for {
		a := attrSpec{attr: c.uleb(), form: c.uleb()}
		if a.form == formImplicit {
			a.imm = c.sleb()
		}
		if a.attr == 0 && a.form == 0 {
			return t.build(std.Tag(tag), children != 0, t.f)
		}
		t.specs = append(t.specs, a)
	}
}

// spell copies the declaration whose code ends at b[pos] to t.spelling, without unwanted constants
// (mostly lines and columns). It returns the declaration's end, or 0 if the declaration is cut off.
func (t *abbrevTable) spell(b []byte, pos int) (end int) {
	c := cursor{buf: b, pos: pos}
	c.uleb()
	c.u8()
	text := append(t.spelling[:0], b[pos:c.pos]...)
	for !c.bad {
		start := c.pos
		for c.pos+2 <= len(b) && b[c.pos]|b[c.pos+1] < 0x80 && b[c.pos]|b[c.pos+1] != 0 &&
			b[c.pos+1] != formImplicit {
			c.pos += 2 // nearly all attributes and forms have one byte each
		}
		attr, form := c.uleb(), c.uleb()
		text = append(text, b[start:c.pos]...)
		if form == formImplicit {
			start = c.pos
			c.sleb()
			if attrFor(attr) != numAttrs {
				text = append(text, b[start:c.pos]...)
			}
		}
		if attr|form == 0 && !c.bad {
			t.spelling = text
			return c.pos
		}
	}
	return 0
}

func (t *abbrevTable) build(tag std.Tag, children bool, f format) *Abbrev {
	a := &Abbrev{Tag: tag, Children: children, Encloses: children && encloses(tag),
		definition: IsDefinition(tag), runs: splitRuns(t.specs, f)}
	for _, spec := range t.specs {
		_, class := f.fixedForm(spec.form)
		indirect := spec.form == formIndirect // each entry has the form
		if attr := attrFor(spec.attr); attr != numAttrs && (class != ClassNone || indirect) {
			a.mask |= 1 << attr
		}
		a.refersOut = a.refersOut || class == ClassRefAddr || class == ClassRefSup ||
			class == ClassSig || indirect
		a.prototyped = a.prototyped || spec.attr == uint64(std.AttrPrototyped)
	}
	a.size = 1
	for i := range a.runs {
		a.size += uint32(a.runs[i].size)
	}
	a.typed = a.prototyped && !a.has(Declaration) || a.has(Type) || !lacksTypes(tag)
	a.annotated = tag == TagLLVMAnnotation || a.has(Annotation)
	a.refers = a.refersTo()
	a.plan = makePlan(a)
	a.declaring = 1<<32 - 1
	if a.Declares() && a.plan.walk&planIdle == 0 {
		a.declaring = a.size
	}
	return a
}

func (a *Abbrev) find(s Attr) *attribute {
	for i := range a.runs {
		r := &a.runs[i]
		for j := range r.wanted {
			if r.wanted[j].attr == s {
				return &r.wanted[j]
			}
		}
		if r.last.attr == s && i+1 < len(a.runs) {
			return &r.last
		}
	}
	return nil
}

// encloses reports whether type definitions may be nested in entries with the tag, at any level.
// Only enums and calls enclose none: the entries in an inlined call repeat those of the function's
// abstract instance. gcc even moves a block's local type into the prototype, declaration or struct
// that is the first to refer to the type.
func encloses(t std.Tag) bool {
	switch t {
	case std.TagEnumerationType, std.TagInlinedSubroutine, std.TagCallSite, tagGNUCallSite:
		return false
	}
	return true
}

// IsTagged reports whether entries with the tag are structs, unions or enums.
func IsTagged(t std.Tag) bool {
	switch t {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		return true
	}
	return false
}

// IsDefinition reports whether entries with the tag are structs, unions, enums or typedefs.
func IsDefinition(t std.Tag) bool {
	return IsTagged(t) || t == std.TagTypedef
}

func (a *Abbrev) has(s Attr) bool { return a.mask>>s&1 != 0 }

// anonymous reports whether the entries are structs or unions that have no name and do not complete
// a named declaration.
func (a *Abbrev) anonymous() bool {
	return a.mask&(1<<Name|1<<Signature|1<<Specification) == 0 && IsTagged(a.Tag) &&
		a.Tag != std.TagEnumerationType
}

// named reports whether the entries are structs, unions or enums with a name.
func (a *Abbrev) named() bool {
	return IsTagged(a.Tag) && a.has(Name) && !a.has(Signature)
}
