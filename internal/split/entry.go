package split

import (
	std "debug/dwarf"
	"encoding/binary"
	"math/bits"
	"path"
	"slices"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/params"
)

// place is an address that an entry gets in place of what it has: as an attribute, or as the
// location of a variable. The zero value means that there is no such address.
type place struct {
	attr dwarf.Attr
	addr uint64
}

// What is never copied as it is: what is written anew or read by the header's entry only.
const notCopied = 1<<dwarf.Sibling | 1<<dwarf.LowPC | 1<<dwarf.Ranges | 1<<dwarf.EntryPC |
	1<<dwarf.Location | 1<<dwarf.Language | 1<<dwarf.StrOffsetsBase | 1<<dwarf.AddrBase |
	1<<dwarf.RnglistsBase | 1<<dwarf.LoclistsBase | 1<<dwarf.DwoName | 1<<dwarf.Producer

// wanted are the attributes of e that are copied.
func wanted(e *dwarf.DIE) uint64 {
	all := e.Attributes() &^ notCopied
	switch e.Tag {
	case std.TagFormalParameter:
		all |= e.Attributes() & (1 << dwarf.Location)
	case std.TagVariable, std.TagMember, std.TagSubrangeType:
		all &^= 1 << dwarf.ConstValue
	}
	return all
}

// entry copies e without its children, of which there are some or none in the copy.
func (c *copier) entry(e *dwarf.DIE, at place, children bool) error {
	if c.writing {
		if err := mayShare(e); err != nil {
			return err
		}
	} else if off := uint64(e.Off); off < uint64(len(c.placed)) {
		c.placed[off] = uint32(len(c.info) - c.start)
	}
	code := len(c.info)
	c.info = append(c.info, 0)
	c.abbrevs.begin(uint32(e.Tag), children)
	for left := wanted(e); left != 0; left &= left - 1 {
		a := dwarf.Attr(bits.TrailingZeros64(left))
		if err := c.attribute(e, a); err != nil {
			return err
		}
	}
	switch at.attr {
	case dwarf.LowPC:
		c.abbrevs.add(dwarf.LowPC, formAddr)
		c.address(at.addr)
	case dwarf.Location:
		c.abbrevs.add(dwarf.Location, formExprloc)
		c.info = append(c.info, 1+c.r.Unit.AddrSize, 0x03) // DW_OP_addr
		c.address(at.addr)
	}
	c.code(code, c.abbrevs.end())
	return nil
}

// code puts a declaration's code before the attributes, where a byte was left for it.
func (c *copier) code(at int, code uint32) {
	if code < 0x80 {
		c.info[at] = byte(code)
		return
	}
	var b [binary.MaxVarintLen32]byte
	c.info = slices.Insert(c.info, at+1, b[:binary.PutUvarint(b[:], uint64(code))-1]...)
	n := binary.PutUvarint(c.info[at:], uint64(code))
	if c.writing {
		moved(c.refs, at, n-1)
		return
	}
	for i := len(c.fixups) - 1; i >= 0 && c.fixups[i].at > at; i-- {
		c.fixups[i].at += n - 1
	}
	moved(c.commonRefs, at, n-1)
	c.foreign.moved(at, n-1)
}

func (c *copier) address(v uint64) {
	c.info = appendUint(c.info, c.order, v, int(c.r.Unit.AddrSize))
}

// put4 appends 4 bytes.
func (c *copier) put4(v uint32) {
	if c.little {
		c.info = append(c.info, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		return
	}
	c.info = append(c.info, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// set4 sets 4 bytes of info.
func (c *copier) set4(at int, v uint32) {
	if b := c.info[at : at+4]; c.little {
		binary.LittleEndian.PutUint32(b, v)
	} else {
		binary.BigEndian.PutUint32(b, v)
	}
}

func appendUint(b []byte, order binary.ByteOrder, v uint64, size int) []byte {
	at := len(b)
	switch b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)[:at+size]; size {
	case 1:
		b[at] = byte(v)
	case 2:
		order.PutUint16(b[at:], uint16(v))
	case 4:
		order.PutUint32(b[at:], uint32(v))
	case 8:
		order.PutUint64(b[at:], v)
	}
	return b
}

// attribute copies attribute a of e.
func (c *copier) attribute(e *dwarf.DIE, a dwarf.Attr) error {
	v := e.Value(a)
	switch a {
	case dwarf.Type, dwarf.Origin, dwarf.Specification, dwarf.Signature, dwarf.Import,
		dwarf.Annotation:
		return c.reference(e, a, v)
	case dwarf.Location:
		return c.location(e.Off, v)
	case dwarf.ConstValue:
		if e.Tag == std.TagFormalParameter { // that it has a value counts
			c.abbrevs.add(a, formFlagPresent)
			return nil
		}
	}
	switch v.Class {
	case dwarf.ClassInline, dwarf.ClassStrp, dwarf.ClassLineStr, dwarf.ClassStrx, dwarf.ClassStrpSup:
		return c.text(e.Off, a, v)
	case dwarf.ClassConst:
		return c.constant(e, a, v.Val)
	case dwarf.ClassBlock:
		if b := c.r.Block(v.Val); a == dwarf.MemberLocation || a == dwarf.ConstValue {
			c.block(a, b)
			return nil
		}
	}
	c.block(a, nil) // something else than a number
	return nil
}

// text copies a string.
func (c *copier) text(die uint32, a dwarf.Attr, v dwarf.Value) error {
	to, err := c.textOf(die, v)
	if err == nil {
		c.putText(a, to)
	}
	return err
}

// textOf returns a string as the shard has it.
func (c *copier) textOf(die uint32, v dwarf.Value) (text, error) {
	if v.Class != dwarf.ClassStrp || v.Val >= 1<<32-1 {
		s, err := c.r.StringAt(die, v.Class, v.Val)
		return c.strs.textOf(s), err
	}
	slot, known := c.strs.known.get(uint32(v.Val))
	if !known {
		s, err := c.r.StringAt(die, v.Class, v.Val)
		if err != nil {
			return 0, err
		}
		c.strs.known.set(slot, uint32(v.Val), c.strs.textOf(s))
	}
	return slot.text, nil
}

// putText writes a string.
func (c *copier) putText(a dwarf.Attr, to text) {
	if to&inlineText != 0 {
		c.abbrevs.add(a, formString)
		c.info = to.appendInline(c.info)
		return
	}
	c.abbrevs.add(a, formStrp)
	c.put4(uint32(to))
}

// constant copies a number, in as few bytes as hold it.
func (c *copier) constant(e *dwarf.DIE, a dwarf.Attr, v uint64) error {
	switch a {
	case dwarf.External, dwarf.Declaration:
		if v != 0 {
			c.abbrevs.add(a, formFlagPresent)
		} else {
			c.abbrevs.add(a, formFlag)
			c.info = append(c.info, 0)
		}
		return nil
	case dwarf.Encoding, dwarf.Inline, dwarf.CallingConvention, dwarf.ByteSize:
		if v < 64 && (a != dwarf.ByteSize || e.Tag == std.TagPointerType) {
			c.abbrevs.addImplicit(a, byte(v))
			return nil
		}
	}
	if int64(v) < 0 {
		signed, err := c.r.Signed(e, a)
		if err != nil {
			return err
		}
		if signed {
			c.abbrevs.add(a, formSdata)
			c.info = appendSleb(c.info, int64(v))
			return nil
		}
	}
	if v < 1<<8 {
		c.abbrevs.add(a, formData1)
		c.info = append(c.info, byte(v))
		return nil
	}
	form, size := byte(formData8), 8
	switch {
	case v < 1<<16:
		form, size = formData2, 2
	case v < 1<<32:
		form, size = formData4, 4
	}
	c.abbrevs.add(a, form)
	c.info = appendUint(c.info, c.order, v, size)
	return nil
}

func appendSleb(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// block copies an expression or a block.
func (c *copier) block(a dwarf.Attr, b []byte) {
	c.abbrevs.add(a, formExprloc)
	c.info = binary.AppendUvarint(c.info, uint64(len(b)))
	c.info = append(c.info, b...)
}

// location copies what the location of a parameter says at the function's entry.
func (c *copier) location(die uint32, v dwarf.Value) error {
	c.exprs, c.exprBytes = c.exprs[:0], c.exprBytes[:0]
	err := c.r.Locations(die, v, func(expr []byte) bool {
		at := len(c.exprBytes)
		c.exprBytes = append(c.exprBytes, expr...)
		c.exprs = append(c.exprs, c.exprBytes[at:len(c.exprBytes):len(c.exprBytes)])
		return true
	})
	if err != nil {
		return err
	}
	m := params.Machine{ID: c.file.Machine, AddrSize: int(c.r.Unit.AddrSize),
		DWARF64: c.r.Unit.Dwarf64}
	switch list := m.Reduce(c.exprs); len(list) {
	case 0:
		c.block(dwarf.Location, nil)
	case 1:
		c.block(dwarf.Location, list[0])
	default:
		c.abbrevs.add(dwarf.Location, formSecOffset)
		c.put4(c.list(list))
	}
	return nil
}

// clang is what is left of a producer's name, if it is in it.
const clang = "clang"

// rootEntry writes the unit's own entry: the base name of the file, the language, and whether the
// compiler is clang.
func (c *copier) rootEntry(kind byte) error {
	e := &c.r.Root
	tag := std.TagCompileUnit
	switch kind {
	case unitType:
		tag = std.TagTypeUnit
	case unitPartial:
		tag = std.TagPartialUnit
	}
	c.placed[e.Off] = uint32(len(c.info) - c.start)
	code := len(c.info)
	c.info = append(c.info, 0)
	c.abbrevs.begin(uint32(tag), true)
	if kind == unitCompile && e.Has(dwarf.Name) {
		name, err := c.r.String(e, dwarf.Name)
		if err != nil {
			return err
		}
		c.abbrevs.add(dwarf.Name, formStrp)
		c.put4(c.strs.add([]byte(path.Base(string(name)))))
	}
	if e.Constant(dwarf.Language) {
		if err := c.constant(e, dwarf.Language, e.Val[dwarf.Language]); err != nil {
			return err
		}
	}
	if producer, err := c.r.String(e, dwarf.Producer); err == nil && isClang(producer) {
		c.abbrevs.add(dwarf.Producer, formStrp)
		c.put4(c.strs.add([]byte(clang)))
	}
	c.code(code, c.abbrevs.end())
	return nil
}
