package split

import (
	std "debug/dwarf"
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// sharing is the unit that is copied, where its types are shared with other units.
type sharing struct {
	on         bool
	prints     dwarf.Prints
	sources    uint64 // so far: their numbers for prints
	unitNumber uint32
	items      []uint32    // the definitions that the unit holds, by their numbers
	commonRefs []sharedRef // in info
	values     []valueKind // of the types of parameters and variables, by offset
	target     dwarf.DIE
}

// valueKind says whether a value of a type is, or has in it, a struct, union or enum.
type valueKind uint8

const (
	valueUnknown valueKind = iota
	valuePlain
	valueTagged
)

// maxChain bounds chains of typedefs, qualifiers and arrays.
const maxChain = 64

// mayShareUnit tells whether the types of the loaded unit may be shared. In C every type definition
// is an entry of its own, which is found by its name.
func (c *copier) mayShareUnit() bool {
	u := c.r.Unit
	return u.Kind == dwarf.UnitCompile && c.r.IsC() && !c.r.Annotated() && !c.r.RefersOut() &&
		int(u.AddrSize) == c.like.AddrSize
}

// tryShared copies the loaded unit with its types shared, if that can be done.
func (c *copier) tryShared() (done bool) {
	if !c.mayShareUnit() {
		return false
	}
	start, functions, lists := len(c.info), c.functions, len(c.lists)
	c.on = true
	c.prints.Merged = c.merged
	c.prints.Reset(&c.r)
	c.unitNumber++
	c.items, c.commonRefs = c.items[:0], c.commonRefs[:0]
	if uint64(cap(c.values)) < c.r.Unit.Len {
		c.values = make([]valueKind, c.r.Unit.Len+c.r.Unit.Len/4)
	}
	c.values = c.values[:c.r.Unit.Len]
	clear(c.values)
	err := c.sharedUnit()
	c.on = false
	if err == nil {
		return true
	}
	c.info, c.functions, c.lists = c.info[:start], functions, c.lists[:lists]
	for _, w := range c.missing {
		c.shared[w.number].place = badPlace
	}
	c.missing, c.refs = c.missing[:0], c.refs[:0]
	return false
}

// sharedUnit copies the unit.
func (c *copier) sharedUnit() error {
	if err := c.begin(unitCompile); err != nil {
		return err
	}
	if err := c.walk(); err != nil {
		return err
	}
	if err := c.drain(); err != nil {
		return err
	}
	if err := c.writeCommon(); err != nil {
		return err
	}
	for _, r := range c.commonRefs {
		to := c.shared[r.number].place
		if to == badPlace {
			return errUnshared
		}
		c.set4(r.at, to)
	}
	if err := c.listItems(); err != nil {
		return err
	}
	return c.end()
}

// listItems writes which definitions of the common unit the unit holds: an import of that unit,
// with the distances from one to the next, as LEB128 with the sign in the lowest bit. The first one
// counts from the common unit's header.
func (c *copier) listItems() error {
	if len(c.items) == 0 {
		return nil
	}
	var list []byte
	last := uint32(0)
	for _, n := range c.items {
		t := &c.shared[n]
		if t.place == badPlace {
			return errUnshared
		}
		if t.tag != 0 {
			s := &c.stamps[t.tag]
			if s.unit == c.unitNumber && s.number != n {
				return errUnshared // which definition a reference means is not told by the name
			}
			*s = tagStamp{c.unitNumber, n}
		}
		list = binary.AppendVarint(list, int64(t.place)-int64(last))
		last = t.place
	}
	code := len(c.info)
	c.info = append(c.info, 0)
	c.abbrevs.begin(uint32(std.TagImportedUnit), false)
	c.block(dwarf.ConstValue, list)
	c.abbrevs.add(dwarf.Import, formRefAddr)
	c.put4(headerSize)
	c.code(code, c.abbrevs.end())
	return nil
}

// define takes the definition at off, which the unit holds. It returns the offset after it; 0 if
// the walk is to go on as usual.
func (c *copier) define(off uint32) (end uint32, err error) {
	c.prints.Enclosed = false
	fp, end, err := c.prints.Definition(off)
	if err != nil || end == 0 {
		return 0, err
	}
	return end, c.hold(fp, off)
}

// definePeeked takes a type that may be a definition. It returns what visit does.
func (c *copier) definePeeked(e dwarf.Peeked) (enter bool, end uint32, err error) {
	if e.Has(dwarf.Signature) || e.Has(dwarf.Specification) {
		return false, 0, errUnshared
	}
	if e.Has(dwarf.Declaration) && c.r.Const(e, dwarf.Declaration) != 0 ||
		!e.Has(dwarf.Name) && e.Abbrev.Tag != std.TagEnumerationType {
		return true, 0, nil
	}
	var fp dwarf.Fingerprint
	c.prints.Enclosed = false
	if e.Abbrev.Tag == std.TagTypedef {
		fp, err = c.prints.Type(e.Off, 0)
	} else {
		fp, end, err = c.prints.Entry(e, 0)
	}
	if err != nil {
		return false, 0, err
	}
	return end == 0, end, c.hold(fp, e.Off)
}

// hold notes that the unit holds the definition at off.
func (c *copier) hold(fp dwarf.Fingerprint, off uint32) error {
	if c.prints.Enclosed {
		return errUnshared
	}
	c.items = append(c.items, c.numberOf(fp, off, true))
	return nil
}

// typeRef copies a reference to a type from an entry with a tag.
func (c *copier) typeRef(tag std.Tag, a dwarf.Attr, to uint32) error {
	switch tag {
	case std.TagPointerType, std.TagSubroutineType, std.TagSubprogram:
	default:
		kind, err := c.value(to)
		if err != nil {
			return err
		}
		if kind == valueTagged {
			return c.local(a, uint64(to))
		}
	}
	return c.sharedRef(a, to)
}

// value tells what a value of the type at off is. The conversion may ask for the size and for the
// members of a struct that is passed by value, and for the size of a variable.
func (c *copier) value(off uint32) (valueKind, error) {
	known := &c.values[off]
	if *known != valueUnknown {
		return *known, nil
	}
	*known = valuePlain
	e := &c.target
	for range maxChain {
		if err := c.r.Read(off, e); err != nil {
			return 0, err
		}
		switch {
		case e.Null:
			return 0, errUnshared
		case dwarf.IsTagged(e.Tag):
			*known = valueTagged
			return valueTagged, nil
		}
		switch e.Tag {
		case std.TagTypedef, std.TagConstType, std.TagVolatileType, std.TagRestrictType,
			std.TagAtomicType, std.TagArrayType:
		default:
			return valuePlain, nil
		}
		v := e.Value(dwarf.Type)
		if v.Class == dwarf.ClassNone {
			return valuePlain, nil
		}
		if v.Class != dwarf.ClassRef || v.Val >= c.r.Unit.Len {
			return 0, errUnshared
		}
		off = uint32(v.Val)
	}
	return 0, errUnshared
}
