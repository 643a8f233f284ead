package split

import (
	"bytes"
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

func isClang(producer []byte) bool { return bytes.Contains(producer, []byte(clang)) }

// foreign is what the units of a shard refer to in others.
type foreign struct {
	parts   map[unitKey]*part
	queue   []*part // those that are still to be copied, or to be copied further
	links   []link
	orphans uint64 // type units so far: their signatures in the shard
}

// unitKey names a unit: the section and the offset in it; and the signature of a type unit, by
// which those of .debug_types are found.
type unitKey struct {
	src            *source
	section        int
	off, signature uint64
}

func keyOf(src *source, h *dwarf.Unit) unitKey {
	return unitKey{src, h.Section.Index, h.Off, h.Signature}
}

// part is a unit that others refer to, or a part of it.
type part struct {
	key    unitKey
	queued bool
	whole  bool              // it is imported
	walked uint32            // the offset in info of the copy of the whole; 0: there is none yet
	placed map[uint32]uint32 // offsets in info of the entries that are referred to; 0: not yet
	wanted []uint32          // those of them that are not yet
}

// link is 4 bytes in info that refer to an entry of a part.
type link struct {
	at   int
	part *part
	to   uint32
	root bool // the part itself, as a whole
}

// moved says that so many bytes were put in after the one at a place.
func (f *foreign) moved(at, n int) {
	for i := len(f.links) - 1; i >= 0 && f.links[i].at > at; i-- {
		f.links[i].at += n
	}
}

// link makes the 4 bytes at a place of info refer to an entry of another unit, or to the unit.
func (f *foreign) link(at int, key unitKey, to uint32, root bool) {
	p := f.parts[key]
	if p == nil {
		if f.parts == nil {
			f.parts = make(map[unitKey]*part)
		}
		p = &part{key: key, placed: make(map[uint32]uint32)}
		f.parts[key] = p
	}
	_, known := p.placed[to]
	switch {
	case root && !p.whole:
		p.whole = true
	case !root && !known:
		p.placed[to] = 0
		p.wanted = append(p.wanted, to)
	default:
		known = true
	}
	if !known && !p.queued {
		p.queued = true
		f.queue = append(f.queue, p)
	}
	f.links = append(f.links, link{at, p, to, root})
}

// reference copies a reference of e.
func (c *copier) reference(e *dwarf.DIE, a dwarf.Attr, v dwarf.Value) error {
	u, die := c.r.Unit, e.Off
	switch v.Class {
	case dwarf.ClassRef:
		if v.Val < uint64(u.HeaderLen) || v.Val >= u.Len {
			return c.r.Errorf(die, "a reference to %#x leaves the unit", v.Val)
		}
		switch {
		case c.writing:
			return c.sharedRef(a, uint32(v.Val))
		case c.on && a == dwarf.Type:
			return c.typeRef(e.Tag, a, uint32(v.Val))
		}
		return c.local(a, v.Val)
	case dwarf.ClassRefAddr:
		h := c.r.D.UnitAt(u.Section, v.Val)
		if h == nil {
			return c.r.Errorf(die, "a reference to %#x, where no unit is", v.Val)
		}
		return c.foreignTo(a, v, h, v.Val-h.Off)
	case dwarf.ClassSig:
		h := c.r.D.TypeUnit(v.Val)
		if h == nil {
			return c.r.Errorf(die, "no type unit with signature %#x in this file", v.Val)
		}
		if h.TypeOffset >= h.Len {
			return c.r.Errorf(die, "the offset of the type in type unit %#x leaves the unit", v.Val)
		}
		return c.foreignTo(a, v, h, h.TypeOffset)
	}
	return c.r.Errorf(die, "a reference in a form that is not for references")
}

// foreignTo copies reference v, which is to an entry of unit h.
func (c *copier) foreignTo(a dwarf.Attr, v dwarf.Value, h *dwarf.Unit, to uint64) error {
	if h == c.r.Unit {
		return c.local(a, to)
	}
	c.out[v] = true
	c.foreignRef(a, keyOf(c.src, h), uint32(to), a == dwarf.Import)
	return nil
}

// foreignRef writes a reference to an entry of another unit, or to the unit.
func (c *copier) foreignRef(a dwarf.Attr, key unitKey, to uint32, root bool) {
	c.abbrevs.add(a, formRefAddr)
	c.link(len(c.info), key, to, root)
	c.info = append(c.info, 0, 0, 0, 0)
}

// local copies a reference within the unit.
func (c *copier) local(a dwarf.Attr, to uint64) error {
	c.abbrevs.add(a, formRef4)
	at := len(c.info)
	c.info = append(c.info, 0, 0, 0, 0)
	c.refer(at, uint32(to))
	return nil
}

// copyParts copies what the units of the shard refer to in others, until all is there, and makes
// the references.
func (c *copier) copyParts() error {
	for len(c.foreign.queue) > 0 {
		batch := c.foreign.queue
		c.foreign.queue = nil
		for _, p := range batch {
			p.queued = false
			if err := c.copyPart(p); err != nil {
				return err
			}
		}
	}
	c.endCommon()
	for _, l := range c.links {
		to := l.part.placed[l.to]
		if l.root {
			to = l.part.walked
		}
		c.like.Order.PutUint32(c.info[l.at:], uint32(len(c.types))+to)
	}
	return nil
}

// copyPart copies as a partial unit what is wanted of a unit.
func (c *copier) copyPart(p *part) error {
	if err := p.key.src.open(); err != nil {
		return err
	}
	defer p.key.src.close()
	if err := c.load(p.key.src, p.key.src.unitAt(p.key)); err != nil {
		return err
	}
	whole := p.whole && p.walked == 0
	c.part = !whole
	if err := c.begin(unitPartial); err != nil {
		return err
	}
	start := uint32(c.start)
	if whole {
		p.walked = start + headerSize
		if err := c.walk(); err != nil {
			return err
		}
	}
	wanted := p.wanted
	p.wanted = nil
	for _, off := range wanted {
		if c.placed[off] == 0 {
			c.queue = append(c.queue, off)
		}
	}
	if err := c.drain(); err != nil {
		return err
	}
	for _, off := range wanted {
		p.placed[off] = start + c.placed[off]
	}
	return c.end()
}

// reached copies the references to other units that are not in what was copied of the unit, for
// what they lead to counts all the same (convert's reach).
func (c *copier) reached() error {
	if !c.r.RefersOut() {
		return nil
	}
	list, err := c.references(c.r.Unit.HeaderLen, true)
	if err != nil {
		return err
	}
	for _, v := range list {
		if !c.out[v] {
			if err := c.holder(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// importOrphans makes the unit import the type units that are its own.
func (c *copier) importOrphans(units []unitKey) {
	for _, key := range units {
		code := len(c.info)
		c.info = append(c.info, 0)
		c.abbrevs.begin(uint32(std.TagImportedUnit), false)
		c.foreignRef(dwarf.Import, key, 0, true)
		c.code(code, c.abbrevs.end())
	}
}

// holder writes a variable without an address whose type is v.
func (c *copier) holder(v dwarf.Value) error {
	code := len(c.info)
	c.info = append(c.info, 0)
	c.abbrevs.begin(uint32(std.TagVariable), false)
	if err := c.reference(&dwarf.DIE{Tag: std.TagVariable}, dwarf.Type, v); err != nil {
		return err
	}
	c.code(code, c.abbrevs.end())
	return nil
}

// references returns each reference of the list of siblings that begins at off and of all below:
// those to other units, or all and then also the definitions. Those of inlined calls don't count.
// The rule is convert's (foreign.go, references).
func (c *copier) references(off uint32, others bool) ([]dwarf.Value, error) {
	var list []dwarf.Value
	seen := make(map[dwarf.Value]bool)
	add := func(v dwarf.Value) {
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	var e dwarf.DIE
	for depth := 1; depth > 0 && uint64(off) < c.r.Unit.Len; {
		if err := c.r.Read(off, &e); err != nil {
			return nil, err
		}
		off = e.Next
		if e.Null {
			depth--
			continue
		}
		if e.Children {
			depth++
		}
		if !others && dwarf.IsDefinition(e.Tag) {
			add(dwarf.Value{Val: uint64(e.Off), Class: dwarf.ClassRef})
		}
		for _, a := range [...]dwarf.Attr{dwarf.Type, dwarf.Signature, dwarf.Origin,
			dwarf.Specification, dwarf.Annotation} {
			v := e.Value(a)
			switch {
			case v.Class == dwarf.ClassNone, a == dwarf.Origin && e.Tag == std.TagInlinedSubroutine:
			case others && v.Class == dwarf.ClassRef:
			case others && v.Class == dwarf.ClassRefAddr &&
				c.r.D.UnitAt(c.r.Unit.Section, v.Val) == c.r.Unit:
			default:
				add(v)
			}
		}
	}
	return list, nil
}
