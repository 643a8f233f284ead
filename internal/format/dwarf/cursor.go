package dwarf

import "encoding/binary"

// cursor reads primitive values. An error sets bad, so callers need not check each read.
type cursor struct {
	buf []byte
	pos int
	bad bool
}

// cursorAt returns a cursor at an offset, or at the end if the offset is beyond the end.
func cursorAt(buf []byte, off uint64) cursor {
	return cursor{buf: buf, pos: int(min(off, uint64(len(buf))))}
}

func (c *cursor) fail() { c.bad, c.pos = true, len(c.buf) }

func (c *cursor) u8() uint8 {
	if c.pos >= len(c.buf) {
		c.fail()
		return 0
	}
	v := c.buf[c.pos]
	c.pos++
	return v
}

// uint reads size bytes (1 to 8) in the given order.
func (c *cursor) uint(order binary.ByteOrder, size int) uint64 {
	if size > len(c.buf)-c.pos {
		c.fail()
		return 0
	}
	b := c.buf[c.pos : c.pos+size]
	c.pos += size
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	case 8:
		return order.Uint64(b)
	}
	var v uint64
	for i := range b {
		if order == binary.ByteOrder(binary.BigEndian) {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// uleb reads a ULEB128 number (7.6); bits that don't fit in 64 bits are dropped.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 || c.bad {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	shift := uint(0)
	for {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 || c.bad {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.buf)-c.pos) {
		c.fail()
		return
	}
	c.pos += int(n)
}

// block reads n bytes.
func (c *cursor) block(n uint64) []byte {
	at := c.pos
	if c.skip(n); c.bad {
		return nil
	}
	return c.buf[at:c.pos:c.pos]
}

// cstring skips a NUL-terminated string.
func (c *cursor) cstring() {
	for c.pos < len(c.buf) {
		c.pos++
		if c.buf[c.pos-1] == 0 {
			return
		}
	}
	c.fail()
}
