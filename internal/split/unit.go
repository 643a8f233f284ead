package split

import (
	std "debug/dwarf"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
)

// copier copies units, or parts of them, to the end of a shard's .debug_info.
type copier struct {
	*shard
	src    *source
	file   *elf.File
	r      dwarf.Reader
	order  binary.ByteOrder
	little bool // the byte order

	current
	sharing
	merged    bool // equal strings of the one source have equal offsets
	die, top  dwarf.DIE
	exprs     [][]byte // of a location
	exprBytes []byte
	depth     int  // of functions in functions
	enclosed  bool // a function was copied that holds types or the like
}

// current is the unit that is copied.
type current struct {
	start  int      // of the copy in info
	part   bool     // not the unit, but entries of it that others refer to
	placed []uint32 // where entries are in the copy, by offset; 0: nowhere yet
	fixups []fixup  // references to entries that were not yet placed
	queue  []uint32 // those entries
	hidden []uint32 // definitions of the queue that the walk did not find
	// the references of the copy to other units, as the unit has them
	out map[dwarf.Value]bool
}

// fixup is 4 bytes in info that refer to an entry.
type fixup struct {
	at int
	to uint32
}

// Unit types (7.5.1), and the sizes of unit headers.
const (
	unitCompile = 1
	unitType    = 2
	unitPartial = 3

	headerSize     = 12
	typeHeaderSize = 24
)

// load makes unit h of a source the current one.
func (c *copier) load(src *source, h *dwarf.Unit) error {
	if h == nil {
		return fmt.Errorf("%s: a unit is no longer there; the file was changed while it was read",
			src.input.Label)
	}
	if c.src != src {
		c.strs.known.forget()
		c.r.Forget()
		c.sources++
		c.prints.Forget(c.sources)
	}
	c.src, c.file = src, src.file
	c.order = src.file.Order
	c.little = c.order == binary.ByteOrder(binary.LittleEndian)
	if err := c.r.Load(src.data, h); err != nil {
		return err
	}
	c.reset(h)
	c.allowed += growth * h.Len
	return c.bound(&c.r, 0)
}

// reset forgets what was copied of unit h.
func (c *copier) reset(h *dwarf.Unit) {
	c.start, c.part, c.depth = len(c.info), false, 0
	if uint64(cap(c.placed)) < h.Len {
		c.placed = make([]uint32, h.Len+h.Len/4)
	}
	c.placed = c.placed[:h.Len]
	clear(c.placed)
	c.fixups, c.queue, c.hidden = c.fixups[:0], c.queue[:0], c.hidden[:0]
	if c.out == nil {
		c.out = make(map[dwarf.Value]bool)
	}
	clear(c.out)
}

// unit copies unit h, to which some type units belong.
func (c *copier) unit(src *source, h *dwarf.Unit, own []unitKey) error {
	if err := c.load(src, h); err != nil {
		return err
	}
	if h.Kind == dwarf.UnitCompile && len(own) == 0 {
		if c.tryShared() {
			return nil
		}
		c.reset(h)
	}
	kind := byte(unitCompile)
	if h.Kind == dwarf.UnitType {
		kind = unitType
	}
	if err := c.begin(kind); err != nil {
		return err
	}
	if err := c.walk(); err != nil {
		return err
	}
	if kind == unitType {
		c.orphans++
		c.order.PutUint64(c.info[c.start+headerSize:], c.orphans)
		if h.TypeOffset >= h.Len {
			return c.r.Errorf(0, "the type's offset %#x leaves the unit", h.TypeOffset)
		}
		c.refer(c.start+headerSize+8, uint32(h.TypeOffset))
	}
	if err := c.drain(); err != nil {
		return err
	}
	if err := c.reached(); err != nil {
		return err
	}
	c.importOrphans(own)
	return c.end()
}

// begin writes the header and the unit's own entry.
func (c *copier) begin(kind byte) error {
	size := headerSize
	if kind == unitType {
		size = typeHeaderSize
	}
	c.info = append(c.info, make([]byte, size)...)
	b := c.info[c.start:]
	c.order.PutUint16(b[4:], 5)
	b[6], b[7] = kind, c.r.Unit.AddrSize
	return c.rootEntry(kind)
}

// end ends the copy, in which all is placed that its entries refer to.
func (c *copier) end() error {
	c.info = append(c.info, 0)
	for _, f := range c.fixups {
		c.set4(f.at, c.placed[f.to])
	}
	c.set4(c.start, uint32(len(c.info)-c.start-4))
	return c.bound(&c.r, 0)
}

// refer makes the 4 bytes at a place of info refer to an entry of the unit.
func (c *copier) refer(at int, to uint32) {
	if off := c.placed[to]; off != 0 {
		c.set4(at, off)
		return
	}
	c.fixups = append(c.fixups, fixup{at, to})
	c.queue = append(c.queue, to)
}

// drain copies what the copied entries refer to, until all is there.
func (c *copier) drain() error {
	if err := c.drainQueue(false); err != nil || len(c.hidden) == 0 {
		return err
	}
	// What is in an inlined call is not walked over.
	c.abbrevs.begin(uint32(std.TagInlinedSubroutine), true)
	c.info = binary.AppendUvarint(c.info, uint64(c.abbrevs.end()))
	c.queue = append(c.queue, c.hidden...)
	if err := c.drainQueue(true); err != nil {
		return err
	}
	c.info = append(c.info, 0)
	return nil
}

// drainQueue copies the entries of the queue. If not told to hide what a walk would find, it puts
// that aside.
func (c *copier) drainQueue(hide bool) error {
	hide = hide || c.part // nothing walks over a part
	for i := 0; i < len(c.queue); i++ {
		off := c.queue[i]
		if c.placed[off] != 0 {
			continue
		}
		e := &c.die
		if err := c.r.Read(off, e); err != nil {
			return err
		}
		if !hide && (dwarf.IsDefinition(e.Tag) && isDefined(e) ||
			e.Tag == std.TagSubprogram && isCandidate(e)) {
			c.hidden = append(c.hidden, off)
			continue
		}
		if _, err := c.subtree(e); err != nil {
			return err
		}
	}
	c.queue = c.queue[:0]
	return nil
}

// isDefined tells whether a struct, union, enum or typedef is no declaration, and something that a
// unit holds (convert's visitType).
func isDefined(e *dwarf.DIE) bool {
	switch {
	case e.Has(dwarf.Signature):
		return true
	case e.Flag(dwarf.Declaration):
		return false
	}
	return e.Has(dwarf.Name) || e.Has(dwarf.Specification) || e.Tag == std.TagEnumerationType
}
