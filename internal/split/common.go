package split

import (
	std "debug/dwarf"
	"encoding/binary"
	"errors"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// Nearly all types of a unit are those of headers, which other units of the shard have as well. So
// the first unit of a shard is a partial unit with the types that units share, its common unit:
// each type once, known by its fingerprint. A unit of C lists which definitions of the common unit
// it holds (share.go, listItems), and its functions and variables refer to types there.
//
// A fingerprint holds structs, unions and enums by their names. So does the common unit: what
// refers to one there refers to a declaration. That is what the conversion reads of a reference to
// a tag, but for what needs a value of it, such as the size of a parameter. Such types are copied
// to the unit itself (share.go, value). A unit that can't be copied in this way is copied as it is.

// errUnshared is the reason to copy a unit as it is.
var errUnshared = errors.New("the unit's types can't be shared")

// common is the common unit of a shard that is being made.
type common struct {
	types   []byte // the unit
	numbers numberTable
	shared  []sharedType // by number
	missing []wantedType // types that are not there yet
	refs    []sharedRef  // in types, to what may not be there yet
	tags    map[tagName]uint32
	stamps  []tagStamp // by the number of the tag
	writing bool       // types is what is written, and called info meanwhile
	writes  uint32     // the number of the type that is written
}

// sharedType is a type of the common unit.
type sharedType struct {
	place uint32 // 0: nowhere yet; badPlace: it can't be shared
	tag   uint32 // the number of its tag, if it is the definition of one
}

const badPlace = 1<<32 - 1

// wantedType is an entry of the unit that is copied.
type wantedType struct {
	off, number uint32
	definition  bool // itself, not what a reference to it means
}

// sharedRef is 4 bytes that refer to a type of the common unit.
type sharedRef struct {
	at         int
	number, by uint32 // by: the number of the type that refers
}

// tagName is the kind and the name of a struct, union or enum.
type tagName struct {
	tag  std.Tag
	name text
}

// tagStamp says as what a unit has last defined a tag.
type tagStamp struct{ unit, number uint32 }

// numberOf returns the number of the type with a fingerprint, which the entry at off has.
func (c *copier) numberOf(fp dwarf.Fingerprint, off uint32, definition bool) uint32 {
	next := uint32(len(c.shared))
	if n := c.numbers.numberOf(fp, next); n != next {
		return n
	}
	n := next
	c.shared = append(c.shared, sharedType{})
	c.missing = append(c.missing, wantedType{off, n, definition})
	return n
}

// sharedRef copies a reference to what the entry at off means, as a type of the common unit.
func (c *copier) sharedRef(a dwarf.Attr, off uint32) error {
	fp, err := c.prints.Type(off, 0)
	if err != nil {
		return err
	}
	n := c.numberOf(fp, off, false)
	if c.writing {
		c.abbrevs.add(a, formRef4)
		c.refs = append(c.refs, sharedRef{len(c.info), n, c.writes})
	} else {
		c.abbrevs.add(a, formRefAddr)
		c.commonRefs = append(c.commonRefs, sharedRef{at: len(c.info), number: n})
	}
	c.info = append(c.info, 0, 0, 0, 0)
	return nil
}

// moved says that so many bytes were put in after the one at a place.
func moved(refs []sharedRef, at, n int) {
	for i := len(refs) - 1; i >= 0 && refs[i].at > at; i-- {
		refs[i].at += n
	}
}

// writeCommon copies the types that are wanted in the common unit, and what they refer to.
func (c *copier) writeCommon() error {
	c.info, c.types = c.types, c.info
	c.writing = true
	defer func() {
		c.writing = false
		c.info, c.types = c.types, c.info
	}()
	if len(c.info) == 0 {
		c.beginCommon()
	}
	for len(c.missing) > 0 {
		w := c.missing[len(c.missing)-1]
		c.missing = c.missing[:len(c.missing)-1]
		start, refs := len(c.info), len(c.refs)
		err := c.writeType(w)
		switch {
		case err == errUnshared:
			c.info, c.refs = c.info[:start], c.refs[:refs]
			c.shared[w.number].place = badPlace
		case err != nil:
			return err
		default:
			c.shared[w.number].place = uint32(start)
		}
	}
	c.spoil()
	for _, r := range c.refs {
		to := c.shared[r.number].place
		if to == badPlace {
			to = headerSize // nothing refers to what refers to it
		}
		c.set4(r.at, to)
	}
	c.refs = c.refs[:0]
	return nil
}

// spoil marks what refers to types that can't be shared, directly or through others.
func (c *copier) spoil() {
	var bad []uint32
	for _, r := range c.refs {
		if c.shared[r.number].place == badPlace {
			bad = append(bad, r.number)
		}
	}
	if len(bad) == 0 {
		return
	}
	users := make(map[uint32][]uint32)
	for _, r := range c.refs {
		users[r.number] = append(users[r.number], r.by)
	}
	for len(bad) > 0 {
		of := users[bad[len(bad)-1]]
		bad = bad[:len(bad)-1]
		for _, by := range of {
			if c.shared[by].place != badPlace {
				c.shared[by].place = badPlace
				bad = append(bad, by)
			}
		}
	}
}

// beginCommon begins the common unit.
func (c *copier) beginCommon() {
	c.info = append(c.info, make([]byte, headerSize)...)
	c.order.PutUint16(c.info[4:], 5)
	c.info[6], c.info[7] = unitPartial, c.r.Unit.AddrSize
	c.abbrevs.begin(uint32(std.TagPartialUnit), true)
	c.info = binary.AppendUvarint(c.info, uint64(c.abbrevs.end()))
}

// endCommon ends the common unit.
func (s *shard) endCommon() {
	if len(s.types) > 0 {
		s.types = append(s.types, 0)
		s.like.Order.PutUint32(s.types, uint32(len(s.types)-4))
	}
}

// writeType copies an entry to the common unit.
func (c *copier) writeType(w wantedType) error {
	e := &c.die
	if err := c.r.Read(w.off, e); err != nil {
		return err
	}
	c.writes = w.number
	if e.Null || !dwarf.IsTagged(e.Tag) || !e.Has(dwarf.Name) {
		_, err := c.subtree(e)
		return err
	}
	name, err := c.textOf(e.Off, e.Value(dwarf.Name))
	switch {
	case err != nil:
		return err
	case name == inlineText: // it is empty, so that the type is like one without a name
		return errUnshared
	case w.definition:
		c.shared[w.number].tag = c.tagNumber(tagName{e.Tag, name})
		_, err := c.subtree(e)
		return err
	}
	at := len(c.info)
	c.info = append(c.info, 0)
	c.abbrevs.begin(uint32(e.Tag), false)
	c.putText(dwarf.Name, name)
	c.abbrevs.add(dwarf.Declaration, formFlagPresent)
	c.code(at, c.abbrevs.end())
	return nil
}

// tagNumber is the number of a tag, from 1 on.
func (c *copier) tagNumber(name tagName) uint32 {
	n := c.tags[name]
	if n == 0 {
		if c.tags == nil {
			c.tags = make(map[tagName]uint32)
			c.stamps = make([]tagStamp, 1)
		}
		n = uint32(len(c.stamps))
		c.tags[name] = n
		c.stamps = append(c.stamps, tagStamp{})
	}
	return n
}

// mayShare refuses an entry of the common unit that says something by a value of what it refers to,
// or that is not a type of C.
func mayShare(e *dwarf.DIE) error {
	switch {
	case e.Tag == std.TagSubprogram, e.Has(dwarf.Origin), e.Has(dwarf.Specification),
		e.Has(dwarf.Signature), e.Has(dwarf.Annotation), e.Has(dwarf.Import):
		return errUnshared
	case dwarf.IsTagged(e.Tag) && !e.Constant(dwarf.ByteSize) && !e.Flag(dwarf.Declaration):
		return errUnshared // its size is that of its members
	case e.Has(dwarf.BitOffset) && !e.Constant(dwarf.ByteSize):
		return errUnshared // it counts from the end of its type
	}
	return nil
}
