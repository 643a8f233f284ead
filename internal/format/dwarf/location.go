package dwarf

import "math"

// VariableAddress returns the fixed address of the variable that e defines. Its location must be a
// constant address (DW_OP_addr or DW_OP_addrx), perhaps with an offset (DW_OP_plus_uconst).
func (r *Reader) VariableAddress(e *DIE) (uint64, bool) {
	if !e.IsBlock(Location) || e.Flag(Declaration) {
		return 0, false
	}
	var op Operation
	var addr uint64
	o := r.Operands()
	rest, ok := o.Next(r.Block(e.Val[Location]), &op)
	switch {
	case ok && op.Code == OpAddr:
		addr = op.Numbers[0]
	case ok && op.Code == OpAddrx:
		addr, ok = r.AddrxAt(op.Numbers[0])
	default:
		return 0, false
	}
	if len(rest) == 0 {
		return addr, ok
	}
	rest, more := o.Next(rest, &op)
	return addr + op.Numbers[0], ok && more && op.Code == OpPlusUconst && len(rest) == 0
}

// FirstAddress returns where the code of e begins: DW_AT_low_pc, DW_AT_entry_pc, or the start of
// the first range. A function that the compiler split into a hot and a cold part has only ranges;
// the first one is the hot part. ok is false if there is no address.
func (r *Reader) FirstAddress(e *DIE) (addr uint64, ok bool, err error) {
	if a, ok := r.address(e, LowPC); ok {
		return a, true, nil
	}
	if a, ok := r.address(e, EntryPC); ok {
		return a, true, nil
	}
	return r.rangeStart(e, true)
}

// EntryAddress returns where execution of the code of e begins: DW_AT_entry_pc or, without it,
// where the code begins: DW_AT_low_pc, or the start of the first range that isn't empty. It is
// meant for inlined calls, whose entry need not be where their code begins.
func (r *Reader) EntryAddress(e *DIE) (addr uint64, ok bool, err error) {
	if a, ok := r.address(e, EntryPC); ok {
		return a, true, nil
	}
	if e.Constant(EntryPC) { // an offset from the base address (2.18)
		if a, ok := r.address(e, LowPC); ok {
			return a + e.Val[EntryPC], true, nil
		}
		a, ok, err := r.rangeStart(e, true)
		return a + e.Val[EntryPC], ok, err
	}
	if a, ok := r.address(e, LowPC); ok {
		return a, true, nil
	}
	return r.rangeStart(e, false)
}

// rangeStart returns the start of the first range of e; empty ranges count only if empty is set.
// ok is false if there is no such range. A list that can't be read is an error.
func (r *Reader) rangeStart(e *DIE, empty bool) (addr uint64, ok bool, err error) {
	if !e.Has(Ranges) {
		return 0, false, nil
	}
	v, sec, name, next := e.Value(Ranges), r.ranges, ".debug_ranges", r.firstRange
	off, found := v.Val+r.rangesBase, true
	if r.Unit.Version >= 5 {
		sec, name, next = r.in.rnglists, ".debug_rnglists", r.firstRnglist
		off, found = r.listAt(sec, RnglistsBase, v)
	}
	if !found {
		return 0, false, r.Damaged(e.Off, "the number of its range list, %d, is beyond the end of "+
			"%s", v.Val, name)
	}
	c := cursorAt(sec, off)
	if addr, ok = next(&c, empty); c.bad {
		return 0, false, r.Damaged(e.Off, "its range list, at offset %#x of %s, can't be read", off,
			name)
	}
	return addr, ok, nil
}

// listAt returns the offset in sec of the list to which attribute value a refers. base is the
// attribute of the unit that says where the unit's table of list offsets begins in sec.
func (r *Reader) listAt(sec []byte, base Attr, a Value) (off uint64, ok bool) {
	if a.Class != ClassListx {
		return r.part(base) + a.Val, true
	}
	start := r.listTable(base)
	v, ok := r.readElement(sec, start, a.Val, r.f.offSize)
	return start + v, ok
}

// part returns where the part of the section with the unit's lists begins: 0 outside of packages.
// base is as for listAt.
func (r *Reader) part(base Attr) uint64 {
	switch from := r.Unit.from; {
	case from == nil: // the unit isn't in a package
		return 0
	case base == RnglistsBase:
		return from.rnglists
	default:
		return from.locs
	}
}

// listTable returns where the unit's table of list offsets begins in its section (7.28, 7.29).
func (r *Reader) listTable(base Attr) uint64 {
	start := uint64(12)
	if r.Unit.Dwarf64 {
		start = 20
	}
	if r.Root.Has(base) {
		start = r.Root.Val[base]
	}
	return r.part(base) + start
}

func (r *Reader) unitBase() uint64 {
	if a, ok := r.address(&r.Root, LowPC); ok {
		return a
	}
	return r.low
}

// firstRange reads a list in .debug_ranges (version 4, 2.17.3).
func (r *Reader) firstRange(c *cursor, empty bool) (uint64, bool) {
	size := int(r.f.addrSize)
	all := ^uint64(0) >> (64 - 8*size)
	base := r.unitBase()
	for ; !c.bad; r.work-- {
		lo, hi := c.uint(r.D.Order, size), c.uint(r.D.Order, size)
		switch {
		case lo == all:
			base = hi
		case lo == 0 && hi == 0:
			return 0, false
		case lo != hi || empty:
			return base + lo, !c.bad
		}
	}
	return 0, false
}

// firstRnglist reads a list in .debug_rnglists (7.25).
func (r *Reader) firstRnglist(c *cursor, empty bool) (uint64, bool) {
	size := int(r.f.addrSize)
	base := r.unitBase()
	for ; !c.bad; r.work-- {
		var low, high uint64
		ok := true
		switch c.u8() {
		case 0: // DW_RLE_end_of_list
			return 0, false
		case 1: // DW_RLE_base_addressx
			if base, ok = r.AddrxAt(c.uleb()); !ok {
				c.fail()
			}
			continue
		case 2: // DW_RLE_startx_endx
			if low, ok = r.AddrxAt(c.uleb()); ok {
				high, ok = r.AddrxAt(c.uleb())
			}
		case 3: // DW_RLE_startx_length
			low, ok = r.AddrxAt(c.uleb())
			high = low + c.uleb()
		case 4: // DW_RLE_offset_pair
			low = base + c.uleb()
			high = base + c.uleb()
		case 5: // DW_RLE_base_address
			base = c.uint(r.D.Order, size)
			continue
		case 6: // DW_RLE_start_end
			low = c.uint(r.D.Order, size)
			high = c.uint(r.D.Order, size)
		case 7: // DW_RLE_start_length
			low = c.uint(r.D.Order, size)
			high = low + c.uleb()
		default:
			ok = false
		}
		if !ok {
			c.fail()
		} else if low != high || empty {
			return low, !c.bad
		}
	}
	return 0, false
}

// maxList limits how many bytes of a location list are read. Any further bytes are ignored.
const maxList = 16 << 10

// Locations calls f for each expression in a, a location attribute of the entry at offset die. A
// location list may have several, an exprloc has only one. Locations stops if f returns false.
// Rule: location of a parameter: location lists. Source: pahole dwarf_loader.c
// parameter__decode_location.
func (r *Reader) Locations(die uint32, a Value, f func(expr []byte) bool) error {
	if a.Class == ClassBlock {
		f(r.Block(a.Val))
		return nil
	}
	l, err := r.list(die, a, Value{}, maxList)
	var s span
	for err == nil {
		var expr []byte
		var more bool
		if expr, more, err = l.next(&s); !more || !f(expr) {
			break
		}
	}
	return err
}

// Place is an address in the code and one of its views. At one address, gcc distinguishes several
// views: successive points in the source between the same two instructions. Registers and memory
// are the same at all views of an address. Views are numbered from 0. Other compilers have only
// view 0.
type Place struct {
	Addr, View uint64
}

// LocationAt returns the expression that a, a location attribute of the entry at offset die, gives
// for a place: that of an exprloc, or of the first entry of a location list that covers the place.
// If no entry does, the first one that covers the next view of the address is used. covered is
// false if there is none either. views is the attribute Views of the entry at offset die.
//
// covered is also false if the location list's entry covers no instruction, only views, and the
// list has entries for other addresses. In that case, gcc may have duplicated code: another copy,
// in which the variable has a different value, may jump to this address.
func (r *Reader) LocationAt(die uint32, a, views Value, p Place) (expr []byte, covered bool,
	err error) {
	if a.Class == ClassBlock {
		return r.Block(a.Val), true, nil
	}
	next := Place{p.Addr, p.View + 1}
	var other []byte // the expression for the next view or, if there is none, the default location
	hasNext, hasOther := false, false
	elsewhere := false // the list has entries for other addresses
	empty := false     // the entry that is used covers only views
	l, err := r.list(die, a, views, math.MaxUint32)
	read := 0
	for err == nil && !(covered && elsewhere) {
		var s span
		e, more, failed := l.next(&s)
		if err = failed; !more {
			break
		}
		read++
		switch {
		case s.other:
			if !hasNext {
				other, hasOther = e, true
			}
			continue
		case covered || !s.covers(p):
			if !covered && !hasNext && s.covers(next) {
				other, hasNext, hasOther = e, true, true
				empty = s.low == s.high
			} else if p.Addr < s.low || s.high < p.Addr {
				elsewhere = true
			}
			continue
		}
		expr, covered = e, true
		if empty = s.low == s.high; !empty {
			break
		}
	}
	if empty && elsewhere {
		expr, covered, hasOther = nil, false, false
	}
	if r.work -= int64(read) / 4; r.work < 0 && err == nil { // lists may overlap
		err = r.spend(die)
	}
	if !covered && hasOther {
		return other, true, err
	}
	return expr, covered, err
}

// span is the range of an entry in a location list.
type span struct {
	low, high         uint64
	lowView, highView uint64 // of low and high
	other             bool   // the entry is for all addresses that no other entry covers
}

// covers reports whether the span contains p. high is not part of the span.
func (s *span) covers(p Place) bool {
	return (s.low < p.Addr || s.low == p.Addr && s.lowView <= p.View) &&
		(p.Addr < s.high || p.Addr == s.high && p.View < s.highView)
}

// list is a location list that is being read. The zero list is empty.
type list struct {
	cursor
	views cursor // of the views that precede the list, two for each entry; empty if there are none
	r     *Reader
	die   uint32 // for errors
	base  uint64
}

// list returns the location list to which the attribute value a refers, cut off after limit bytes.
func (r *Reader) list(die uint32, a, views Value, limit uint64) (l list, err error) {
	switch a.Class {
	case ClassSec, ClassConst, ClassListx:
	default:
		return l, nil
	}
	sec := r.in.loclists
	if r.Unit.Version < 5 {
		sec = r.in.loc
	}
	if sec == nil {
		return l, nil
	}
	data, err := sec.Data()
	if err != nil {
		return l, err
	}
	off, ok := r.listAt(data, LoclistsBase, a)
	if !ok || r.Unit.from != nil && off >= uint64(len(data)) {
		return l, r.Damaged(die, "location list %d is beyond the end of %s", a.Val, sec.Name)
	}
	off = min(off, uint64(len(data)))
	l = list{r: r, die: die, base: r.unitBase(), cursor: cursor{
		buf: data[off:min(off+limit, uint64(len(data)))]}}
	if views.Class == ClassSec {
		at := r.part(LoclistsBase) + views.Val
		if a.Class == ClassListx { // in split DWARF 5, gcc counts from the table
			at = r.listTable(LoclistsBase) + views.Val
		}
		l.views = cursorAt(data[:off], at)
	}
	return l, nil
}

// next reads an entry. more is false at the end of the list.
func (l *list) next(s *span) (expr []byte, more bool, err error) {
	if l.r == nil {
		return nil, false, nil
	}
	*s = span{}
	var size uint64
	switch {
	case l.r.Unit.Version >= 5:
		size, more, err = l.entry(s)
	case l.r.D.dwo != nil:
		size, more, err = l.splitEntry(s)
	default:
		size, more = l.oldEntry(s)
	}
	if !more {
		return nil, false, err
	}
	at := l.pos
	l.skip(size)
	if len(l.views.buf) > 0 {
		s.lowView, s.highView = l.views.uleb(), l.views.uleb()
	}
	return l.buf[at:l.pos], !l.bad, nil
}

// entry reads an entry in .debug_loclists up to its expression, which has n bytes (7.29).
func (l *list) entry(s *span) (n uint64, more bool, err error) {
	size := int(l.r.f.addrSize)
	for {
		kind := l.u8()
		switch kind {
		case 0: // DW_LLE_end_of_list
			return 0, false, nil
		case 1: // DW_LLE_base_addressx
			l.base, _ = l.r.AddrxAt(l.uleb())
			continue
		case 2: // DW_LLE_startx_endx
			low := l.uleb()
			l.setIndexed(s, low, l.uleb())
		case 3: // DW_LLE_startx_length
			low := l.uleb()
			l.setIndexed(s, low, low)
			s.high += l.uleb()
		case 4: // DW_LLE_offset_pair
			s.low = l.base + l.uleb()
			s.high = l.base + l.uleb()
		case 5: // DW_LLE_default_location
			s.other = true
		case 6: // DW_LLE_base_address
			l.base = l.uint(l.r.D.Order, size)
			continue
		case 7: // DW_LLE_start_end
			s.low = l.uint(l.r.D.Order, size)
			s.high = l.uint(l.r.D.Order, size)
		case 8: // DW_LLE_start_length
			s.low = l.uint(l.r.D.Order, size)
			s.high = s.low + l.uleb()
		case 9: // DW_LLE_GNU_view_pair, which belongs to the next entry
			s.lowView, s.highView = l.uleb(), l.uleb()
			continue
		default:
			return 0, false, l.r.Damaged(l.die, "unknown kind of location list entry: %#x", kind)
		}
		return l.uleb(), true, nil
	}
}

// oldEntry is entry for .debug_loc (version 4, 2.6.2).
func (l *list) oldEntry(s *span) (n uint64, more bool) {
	size := int(l.r.f.addrSize)
	all := ^uint64(0) >> (64 - 8*size)
	for !l.bad {
		lo, hi := l.uint(l.r.D.Order, size), l.uint(l.r.D.Order, size)
		if lo == all {
			l.base = hi
			continue
		}
		if lo == 0 && hi == 0 {
			break
		}
		s.low, s.high = l.base+lo, l.base+hi
		return l.uint(l.r.D.Order, 2), true
	}
	return 0, false
}

// setIndexed sets the range to the addresses with two indices. If there is no such address, the
// range is empty.
func (l *list) setIndexed(s *span, low, high uint64) {
	a, ok := l.r.AddrxAt(low)
	b, found := l.r.AddrxAt(high)
	if ok && found {
		s.low, s.high = a, b
	}
}
