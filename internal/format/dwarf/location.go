package dwarf

// VariableAddress returns the fixed address of the variable that e defines. Its location must be a
// constant address (DW_OP_addr or DW_OP_addrx), perhaps with an offset (DW_OP_plus_uconst).
func (r *Reader) VariableAddress(e *DIE) (uint64, bool) {
	if !e.IsBlock(Location) || e.Flag(Declaration) {
		return 0, false
	}
	expr := r.Block(e.Val[Location])
	const opAddr, opPlusUconst, opAddrx, opGNUAddrIndex = 0x03, 0x23, 0xa1, 0xfb
	c := cursor{buf: expr}
	var addr uint64
	ok := true
	switch c.u8() {
	case opAddr:
		addr = c.uint(r.D.Order, int(r.f.addrSize))
	case opAddrx, opGNUAddrIndex:
		addr, ok = r.AddrxAt(c.uleb())
	default:
		return 0, false
	}
	if c.pos < len(expr) {
		if c.u8() != opPlusUconst {
			return 0, false
		}
		addr += c.uleb()
	}
	return addr, ok && !c.bad && c.pos == len(expr)
}

// FirstAddress returns where the code of e begins: DW_AT_low_pc, DW_AT_entry_pc, or the start of
// the first range. A function that the compiler split into a hot and a cold part has only ranges;
// the first one is the hot part.
func (r *Reader) FirstAddress(e *DIE) (uint64, bool) {
	if a, ok := r.Address(e, LowPC); ok {
		return a, true
	}
	if a, ok := r.Address(e, EntryPC); ok {
		return a, true
	}
	if !e.Has(Ranges) {
		return 0, false
	}
	if r.Unit.Version < 5 {
		return r.firstRange(e.Val[Ranges] + r.rangesBase)
	}
	off, ok := r.listAt(r.in.rnglists, RnglistsBase, e.Value(Ranges))
	if !ok {
		return 0, false
	}
	return r.firstRnglist(off)
}

// listAt returns the offset in sec of the list to which attribute value a refers. base is the
// attribute of the unit that says where the unit's table of list offsets begins in sec.
func (r *Reader) listAt(sec []byte, base Attr, a Value) (off uint64, ok bool) {
	begin := uint64(0) // in a package: where the .dwo file's part begins
	if from := r.Unit.from; from != nil && base == RnglistsBase {
		begin = from.rnglists
	} else if from != nil {
		begin = from.locs
	}
	if a.Class != ClassListx {
		return begin + a.Val, true
	}
	return r.listOffset(sec, begin, base, a.Val)
}

// listOffset resolves an index into the offset table of a list section (7.28, 7.29).
func (r *Reader) listOffset(sec []byte, begin uint64, base Attr, index uint64) (uint64, bool) {
	start := uint64(12)
	if r.Unit.Dwarf64 {
		start = 20
	}
	if r.Root.Has(base) {
		start = r.Root.Val[base]
	}
	start += begin
	v, ok := r.readElement(sec, start, index, r.f.offSize)
	return start + v, ok
}

func (r *Reader) unitBase() uint64 {
	if a, ok := r.Address(&r.Root, LowPC); ok {
		return a
	}
	return r.low
}

// firstRange reads .debug_ranges (version 4, 2.17.3).
func (r *Reader) firstRange(off uint64) (uint64, bool) {
	c := cursorAt(r.ranges, off)
	size := int(r.f.addrSize)
	all := ^uint64(0) >> (64 - 8*size)
	base := r.unitBase()
	for !c.bad {
		lo, hi := c.uint(r.D.Order, size), c.uint(r.D.Order, size)
		switch {
		case lo == all:
			base = hi
		case lo == 0 && hi == 0:
			return 0, false
		default:
			return base + lo, !c.bad
		}
	}
	return 0, false
}

// firstRnglist reads .debug_rnglists (7.25).
func (r *Reader) firstRnglist(off uint64) (uint64, bool) {
	c := cursorAt(r.in.rnglists, off)
	base := r.unitBase()
	for !c.bad {
		switch c.u8() {
		case 1: // DW_RLE_base_addressx
			base, _ = r.AddrxAt(c.uleb())
		case 2, 3: // DW_RLE_startx_endx, DW_RLE_startx_length
			a, ok := r.AddrxAt(c.uleb())
			return a, ok && !c.bad
		case 4: // DW_RLE_offset_pair
			return base + c.uleb(), !c.bad
		case 5: // DW_RLE_base_address
			base = c.uint(r.D.Order, int(r.f.addrSize))
		case 6, 7: // DW_RLE_start_end, DW_RLE_start_length
			return c.uint(r.D.Order, int(r.f.addrSize)), !c.bad
		default:
			return 0, false
		}
	}
	return 0, false
}

// maxList limits how many bytes of a location list are read. Any further bytes are ignored.
const maxList = 16 << 10

// Locations calls f for each expression in a, a location attribute of the entry at offset die. A
// location list may have several, an exprloc has only one. Locations stops if f returns false.
func (r *Reader) Locations(die uint32, a Value, f func(expr []byte) bool) error {
	switch a.Class {
	case ClassBlock:
		f(r.Block(a.Val))
		return nil
	case ClassSec, ClassConst, ClassListx:
	default:
		return nil
	}
	sec := r.in.loclists
	if r.Unit.Version < 5 {
		sec = r.in.loc
	}
	if sec == nil {
		return nil
	}
	data, err := sec.Data()
	if err != nil {
		return err
	}
	off, ok := r.listAt(data, LoclistsBase, a)
	if !ok || r.Unit.from != nil && off >= uint64(len(data)) {
		return r.Errorf(die, "location list %d is beyond the end of %s", a.Val, sec.Name)
	}
	off = min(off, uint64(len(data)))
	list := data[off:min(off+maxList, uint64(len(data)))]
	switch {
	case r.Unit.Version < 5 && r.D.dwo != nil:
		return r.splitLocList(die, list, f)
	case r.Unit.Version < 5:
		r.locList(list, f)
		return nil
	}
	return r.locLists(die, list, f)
}

// locLists reads a list in .debug_loclists (7.29).
func (r *Reader) locLists(die uint32, list []byte, f func(expr []byte) bool) error {
	c := cursor{buf: list}
	for {
		kind := c.u8()
		switch kind {
		case 0: // DW_LLE_end_of_list
			return nil
		case 1: // DW_LLE_base_addressx
			c.uleb()
			continue
		case 2, 3, 4: // DW_LLE_startx_endx, DW_LLE_startx_length, DW_LLE_offset_pair
			c.uleb()
			c.uleb()
		case 5: // DW_LLE_default_location
		case 6: // DW_LLE_base_address
			c.skip(uint64(r.f.addrSize))
			continue
		case 7: // DW_LLE_start_end
			c.skip(2 * uint64(r.f.addrSize))
		case 8: // DW_LLE_start_length
			c.skip(uint64(r.f.addrSize))
			c.uleb()
		case 9: // DW_LLE_GNU_view_pair
			c.uleb()
			c.uleb()
			continue
		default:
			return r.Errorf(die, "unknown kind of location list entry: %#x", kind)
		}
		n := c.uleb()
		at := c.pos
		if c.skip(n); c.bad || !f(c.buf[at:c.pos]) {
			return nil
		}
	}
}

// locList reads a list in .debug_loc (version 4, 2.6.2).
func (r *Reader) locList(list []byte, f func(expr []byte) bool) {
	c := cursor{buf: list}
	size := int(r.f.addrSize)
	all := ^uint64(0) >> (64 - 8*size)
	for !c.bad {
		lo, hi := c.uint(r.D.Order, size), c.uint(r.D.Order, size)
		if lo == all {
			continue
		}
		if lo == 0 && hi == 0 {
			return
		}
		n := c.uint(r.D.Order, 2)
		at := c.pos
		if c.skip(n); c.bad || !f(c.buf[at:c.pos]) {
			return
		}
	}
}
