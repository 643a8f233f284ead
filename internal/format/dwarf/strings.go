package dwarf

import "bytes"

// maxString limits the length of a string, in bytes. The longest mangled names are far shorter.
const maxString = 1 << 16

// String returns a string attribute without its NUL. The bytes are valid until the next Load.
func (r *Reader) String(e *DIE, s Attr) ([]byte, error) {
	if !e.Has(s) {
		return nil, nil
	}
	return r.StringAt(e.Off, e.Class[s], e.Val[s])
}

// StringAt resolves a string of the given class. If the string begins with Data.Prefix, the result
// is that prefix alone. Errors name the entry at offset die.
// Rule: kABI prefix of names. Source: pahole dwarf_loader.c attr_string.
func (r *Reader) StringAt(die uint32, class Class, v uint64) ([]byte, error) {
	var sec []byte
	switch class {
	case ClassInline:
		sec = r.buf
	case ClassStrp:
		sec = r.D.str
	case ClassLineStr:
		sec = r.in.lineStr
	case ClassStrx:
		off, err := r.strxOffset(die, v)
		if err != nil {
			return nil, err
		}
		sec, v = r.in.str, off
	case ClassStrpSup:
		if r.D.sup == nil {
			return nil, r.Errorf(die, "a string is in a supplementary file (dwz -m), but no "+
				"section .gnu_debugaltlink or .debug_sup names that file; don't remove that section")
		}
		sec = r.D.sup.str
	default:
		return nil, r.Damaged(die, "a name has a form that is not a string")
	}
	if v >= uint64(len(sec)) {
		return nil, r.Damaged(die, "string offset %#x is beyond the end of the string section", v)
	}
	n := bytes.IndexByte(sec[v:min(v+maxString+1, uint64(len(sec)))], 0)
	if n < 0 {
		return nil, r.Damaged(die, "the string at offset %#x has no end within %d bytes", v, maxString)
	}
	str := sec[v : v+uint64(n)]
	if prefix := r.D.Prefix; len(prefix) > 0 && bytes.HasPrefix(str, prefix) {
		return prefix, nil
	}
	return str, nil
}

// byOffset replaces an index into .debug_str_offsets with the string's offset in .debug_str, and
// returns strings of other classes unchanged. Errors name the entry at offset die.
func (r *Reader) byOffset(die uint32, v Value) (Value, error) {
	if v.Class != ClassStrx || r.in != r.D {
		return v, nil
	}
	off, err := r.strxOffset(die, v.Val)
	return Value{off, ClassStrp}, err
}

// strxOffset turns an index into .debug_str_offsets into an offset in .debug_str.
func (r *Reader) strxOffset(die uint32, index uint64) (uint64, error) {
	off, ok := r.readElement(r.in.strOffsets, r.strBase, index, r.f.offSize)
	if !ok {
		return 0, r.Damaged(die, "string index %d is beyond the end of .debug_str_offsets", index)
	}
	return off, nil
}

// readElement reads a number, by its index, from the table at the offset base in section sec. Each
// number in the table has size bytes.
func (r *Reader) readElement(sec []byte, base, index uint64, size uint8) (uint64, bool) {
	if index > uint64(len(sec)) || base > uint64(len(sec)) {
		return 0, false
	}
	c := cursorAt(sec, base+index*uint64(size))
	v := c.uint(r.D.Order, int(size))
	return v, !c.bad
}

// address returns the address that an attribute holds directly or as an index.
func (r *Reader) address(e *DIE, s Attr) (uint64, bool) {
	if !e.Has(s) {
		return 0, false
	}
	switch e.Class[s] {
	case ClassAddr:
		return e.Val[s], true
	case ClassAddrx:
		return r.AddrxAt(e.Val[s])
	}
	return 0, false
}

// AddrxAt returns the address with the given index in this unit's part of .debug_addr.
func (r *Reader) AddrxAt(index uint64) (uint64, bool) {
	return r.readElement(r.addr, r.addressing.base, index, r.f.addrSize)
}
