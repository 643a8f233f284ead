package dwarf

import (
	std "debug/dwarf"
)

// Abbrev is a compiled abbreviation declaration (7.5.3).
type Abbrev struct {
	Tag      std.Tag
	Children bool
	// Encloses: it has children, among which there may be type definitions, on any level.
	Encloses   bool
	mask       uint64 // the attributes that are present
	runs       []run  // how its entries are read
	size       uint32 // an entry's in bytes, but for its code and what varies in size
	definition bool   // defines a type
	refersOut  bool   // has an attribute that may refer to another unit
	plan       plan   // for the fast paths
}

// abbrevTable holds the declarations of one unit by code. Its memory is reused from unit to unit.
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

	definition uint32 // no type definition is smaller, in bytes

	// compiled are declarations that were compiled before, by their bytes after the code. Most
	// units declare the same.
	compiled map[string]*Abbrev
	declared declared
	spelling []byte
	specs    []attrSpec
}

type attrSpec struct {
	attr, form uint64
	imm        int64
}

const (
	// maxDenseCode bounds the codes that are indexed directly; compilers number them from 1 on
	// without gaps.
	maxDenseCode = 1 << 16
	// maxCompiled and maxCompiledSize bound the number and the bytes of the declarations that are
	// remembered.
	maxCompiled     = 1 << 13
	maxCompiledSize = 1 << 8
)

// lookup returns the declaration of code, nil when there is none.
func (t *abbrevTable) lookup(code uint64) *Abbrev {
	if code < uint64(len(t.dense)) && t.dense[code] != nil {
		return t.dense[code]
	}
	return t.sparse[code]
}

// compile reads the table at off of .debug_abbrev for units of format f.
func (t *abbrevTable) compile(d *Data, off uint64, f format) error {
	if t.valid && t.off == off && t.f == f {
		return nil
	}
	if t.f != f || t.compiled == nil || len(t.compiled) > maxCompiled {
		t.compiled, t.declared = make(map[string]*Abbrev), nil
	} else if t.declared == nil {
		t.declared = make(declared, declaredSlots)
	}
	t.valid, t.f, t.definition = false, f, 1<<32-1
	t.dense, t.sparse, t.annotated, t.refersOut = t.dense[:0], nil, false, false
	if t.plans == nil {
		t.plans = new(plans)
	}
	*t.plans = plans{}
	if off > uint64(len(d.abbrev)) {
		return d.errorf(".debug_abbrev", off,
			"a unit's abbreviation table lies beyond the end of the section")
	}
	c := cursor{buf: d.abbrev, pos: int(off)}
	for n := 1; ; n++ {
		at := c.pos
		code := c.uleb()
		if c.bad {
			return d.errorf(".debug_abbrev", uint64(at), "the abbreviation table has no end")
		}
		if code == 0 {
			break
		}
		a := t.declaration(&c)
		if a == nil {
			return d.errorf(".debug_abbrev", uint64(at), "the abbreviation is cut off")
		}
		t.annotated = t.annotated || a.Tag == TagLLVMAnnotation || a.has(Annotation)
		t.refersOut = t.refersOut || a.refersOut
		if a.definition && a.plan.walk&planIdle == 0 {
			t.definition = min(t.definition, 1+a.size)
		}
		t.add(code, a, n)
	}
	if t.annotated {
		t.stopAtAnonymous()
	}
	t.off, t.valid, t.size = off, true, uint64(c.pos)-off
	return nil
}

// stopAtAnonymous makes the fast paths stop at structs and unions without a name, because their
// annotations, and those of their members, can't be reached from the entries around them.
func (t *abbrevTable) stopAtAnonymous() {
	for code, a := range t.dense {
		if a != nil && a.anonymous() && a.Children && code < plannedCodes {
			t.plans.of[code].walk &^= planIdle
			t.definition = min(t.definition, 1+a.size)
		}
	}
}

// add makes a the declaration of code, unless code has one; n is the number of declarations so far.
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

// declaration reads the declaration at c, after its code. It returns nil if it is cut off.
func (t *abbrevTable) declaration(c *cursor) *Abbrev {
	end, hash := endOfDeclaration(c.buf, c.pos)
	if end == 0 {
		return nil
	}
	if t.declared == nil {
		return t.spelled(c, end)
	}
	text, known := c.buf[c.pos:end], &t.declared[hash>>32%declaredSlots]
	if known.text == string(text) {
		c.pos = end
		return known.abbrev
	}
	a := t.spelled(c, end)
	if len(text) <= maxCompiledSize {
		*known = declaration{string(text), a}
	}
	return a
}

// spelled reads the declaration from c to end, or returns an equal one that was compiled before.
func (t *abbrevTable) spelled(c *cursor, end int) *Abbrev {
	t.spell(c.buf, c.pos)
	if a := t.compiled[string(t.spelling)]; a != nil {
		c.pos = end
		return a
	}
	tag := c.uleb()
	children := c.u8()
	t.specs = t.specs[:0]
	for {
		a := attrSpec{attr: c.uleb(), form: c.uleb()}
		if a.form == formImplicit {
			a.imm = c.sleb()
		}
		if a.attr == 0 && a.form == 0 {
			break
		}
		t.specs = append(t.specs, a)
	}
	a := t.build(std.Tag(tag), children != 0, t.f)
	if len(t.spelling) <= maxCompiledSize {
		t.compiled[string(t.spelling)] = a
	}
	return a
}

// spell sets t.spelling to the declaration at pos of b, after its code, without the constants in it
// that are not wanted, which are mostly lines and columns.
func (t *abbrevTable) spell(b []byte, pos int) {
	c := cursor{buf: b, pos: pos}
	c.uleb()
	c.u8()
	text := append(t.spelling[:0], b[pos:c.pos]...)
	for !c.bad {
		start := c.pos
		for c.pos+2 <= len(b) && b[c.pos]|b[c.pos+1] < 0x80 && b[c.pos]|b[c.pos+1] != 0 &&
			b[c.pos+1] != formImplicit {
			c.pos += 2 // as nearly all are
		}
		attr, form := c.uleb(), c.uleb()
		text = append(text, b[start:c.pos]...)
		if attr|form == 0 {
			t.spelling = text
			break
		}
		if form == formImplicit {
			start = c.pos
			c.sleb()
			if attrFor(attr) != numAttrs {
				text = append(text, b[start:c.pos]...)
			}
		}
	}
}

// build compiles t.specs.
func (t *abbrevTable) build(tag std.Tag, children bool, f format) *Abbrev {
	a := &Abbrev{Tag: tag, Children: children, Encloses: children && encloses(tag),
		definition: IsDefinition(tag), runs: splitRuns(t.specs, f)}
	for _, spec := range t.specs {
		_, class := f.fixedForm(spec.form)
		if attr := attrFor(spec.attr); attr != numAttrs && class != ClassNone {
			a.mask |= 1 << attr
		}
		a.refersOut = a.refersOut || class == ClassRefAddr || class == ClassRefSup ||
			class == ClassSig || spec.form == formIndirect
	}
	for i := range a.runs {
		a.size += uint32(a.runs[i].size)
	}
	a.plan = makePlan(a)
	return a
}

// find returns how the attribute is declared, nil if it isn't.
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

// encloses reports whether type definitions may be nested in entries of the tag, on any level: in
// all entries but enums and calls. What is inlined repeats the function's abstract instance. gcc
// puts types of a block even into the prototype, declaration or struct that refers to them first.
func encloses(t std.Tag) bool {
	switch t {
	case std.TagEnumerationType, std.TagInlinedSubroutine, std.TagCallSite, tagGNUCallSite:
		return false
	}
	return true
}

// IsTagged reports whether entries of the tag are structs, unions and enums.
func IsTagged(t std.Tag) bool {
	switch t {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		return true
	}
	return false
}

// IsDefinition reports whether entries of the tag are structs, unions, enums and typedefs.
func IsDefinition(t std.Tag) bool {
	return IsTagged(t) || t == std.TagTypedef
}

// has reports whether the attribute is declared.
func (a *Abbrev) has(s Attr) bool { return a.mask>>s&1 != 0 }

// anonymous reports whether the entry is a struct or union without a name, not even that of a
// declaration that it completes.
func (a *Abbrev) anonymous() bool {
	return a.mask&(1<<Name|1<<Signature|1<<Specification) == 0 && IsTagged(a.Tag) &&
		a.Tag != std.TagEnumerationType
}

// named reports whether the entry is a struct, union or enum with a name.
func (a *Abbrev) named() bool {
	return IsTagged(a.Tag) && a.has(Name) && !a.has(Signature)
}
