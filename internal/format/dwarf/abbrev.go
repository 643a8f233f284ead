package dwarf

import (
	std "debug/dwarf"
)

// Abbrev is a compiled abbreviation declaration (7.5.3).
type Abbrev struct {
	Tag      std.Tag
	Children bool
	// Encloses: it has children, among which there may be type definitions, on any level.
	Encloses bool
	// fixed is the size in bytes of all attributes together, after the leading inline string if
	// lead is set; -1 when there are blocks or LEB128 numbers, or the entry must be walked form by
	// form.
	fixed      int32
	lead       bool
	parts      []part // one if fixed; one more than attributes of varying sizes; nil: form by form
	mask       uint64 // the attributes that are present
	ops        []op   // fixed: only the attributes wanted; else all, form by form
	definition bool   // defines a type
	refersOut  bool   // has an attribute that may refer to another unit
	print      uint64 // fixed: what Fingerprint takes for the tag and for which attributes there are
	plan       plan   // for the fast paths
}

// op is one attribute: how to load it and where it goes.
type op struct {
	attr  Attr
	load  loader
	class Class
	form  uint16
	off   uint32 // fixed: distance from the first byte after the leading string
	imm   int64  // DW_FORM_implicit_const
}

// loader is how many bytes an attribute at a fixed distance has (1, 2, 3, 4 or 8), or one of these.
type loader uint8

const (
	loadNone loader = 0 // no bytes and no value that is wanted
	loadImm  loader = 0x10 + iota
	loadLead        // the leading inline string
	loadWalk        // form by form
)

// abbrevTable holds the declarations of one unit by code. Its memory is reused from unit to unit.
type abbrevTable struct {
	off       uint64
	f         format
	valid     bool
	dense     []*Abbrev // by code
	plans     *plans
	sparse    map[uint64]*Abbrev
	size      uint64 // bytes of .debug_abbrev
	notes     bool   // entries may have annotations
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
	t.dense, t.sparse, t.notes, t.refersOut = t.dense[:0], nil, false, false
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
		t.notes = t.notes || a.Tag == TagLLVMAnnotation || a.has(Annotation)
		t.refersOut = t.refersOut || a.refersOut
		if a.definition && a.plan.flags&planNothing == 0 {
			t.definition = min(t.definition, uint32(1+max(0, a.fixed)))
		}
		t.add(code, a, n)
	}
	if t.notes {
		t.showHeld()
	}
	t.off, t.valid, t.size = off, true, uint64(c.pos)-off
	return nil
}

// showHeld makes the fast paths stop at structs and unions without a name. Their annotations and
// those of their members are not reached through what holds them.
func (t *abbrevTable) showHeld() {
	for code, a := range t.dense {
		if a != nil && a.held() && a.Children && code < plannedCodes {
			t.plans.of[code].flags &^= planNothing
			t.definition = min(t.definition, uint32(1+max(0, a.fixed)))
		}
	}
}

// add makes a the declaration of code, unless it has one; n counts the declarations so far.
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

// spelled reads the declaration from c to end, unless one that says the same was compiled before.
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

// spell sets t.spelling to the declaration at pos of b, after its code, but for the constants in
// it that are not wanted: lines and columns above all.
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
		definition: IsDefinition(tag), parts: splitParts(t.specs, f)}
	var l layout
	for i, spec := range t.specs {
		attr := attrFor(spec.attr)
		size, class := f.fixedForm(spec.form)
		l.add(attr, spec.form, size, i == 0)
		if attr != numAttrs && class != ClassNone {
			a.mask |= 1 << attr
		}
		a.refersOut = a.refersOut || class == ClassRefAddr || class == ClassRefSup ||
			class == ClassSig || spec.form == formIndirect
	}
	a.lead = l.lead
	if len(a.parts) == 1 {
		a.fixed, a.ops = a.parts[0].size, a.parts[0].ops
		a.print = printSchema(tag, a.ops)
	} else {
		a.fixed = -1
		for _, spec := range t.specs {
			a.ops = append(a.ops, op{attr: attrFor(spec.attr), load: loadWalk, form: uint16(spec.form),
				imm: spec.imm})
		}
	}
	a.plan = makePlan(a, l)
	return a
}

// encloses reports whether type definitions may be nested in entries of the tag, on any level: in
// all but enums and calls. What is inlined repeats what the function's abstract instance holds. gcc
// puts types of a block even into the prototype, declaration or struct that first refers to them.
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

// held reports whether the entry is a struct or union without a name, not even that of a
// declaration that it completes.
func (a *Abbrev) held() bool {
	return a.mask&(1<<Name|1<<Signature|1<<Specification) == 0 && IsTagged(a.Tag) &&
		a.Tag != std.TagEnumerationType
}

// named reports whether the entry is a struct, union or enum with a name.
func (a *Abbrev) named() bool {
	return IsTagged(a.Tag) && a.has(Name) && !a.has(Signature)
}
