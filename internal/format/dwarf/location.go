package dwarf

import "math"

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
	return r.rangeStart(e, true)
}

// EntryAddress returns where execution of the code of e begins: DW_AT_entry_pc or, without it,
// where the code begins: DW_AT_low_pc, or the start of the first range that isn't empty. It is
// meant for inlined calls, whose entry need not be where their code begins.
func (r *Reader) EntryAddress(e *DIE) (uint64, bool) {
	if a, ok := r.Address(e, EntryPC); ok {
		return a, true
	}
	if e.Constant(EntryPC) { // an offset from the base address (2.18)
		if a, ok := r.Address(e, LowPC); ok {
			return a + e.Val[EntryPC], true
		}
		a, ok := r.rangeStart(e, true)
		return a + e.Val[EntryPC], ok
	}
	if a, ok := r.Address(e, LowPC); ok {
		return a, true
	}
	return r.rangeStart(e, false)
}

// rangeStart returns the start of the first range of e; empty ranges count only if empty is set.
func (r *Reader) rangeStart(e *DIE, empty bool) (uint64, bool) {
	if !e.Has(Ranges) {
		return 0, false
	}
	if r.Unit.Version < 5 {
		return r.firstRange(e.Val[Ranges]+r.rangesBase, empty)
	}
	off, ok := r.listAt(r.in.rnglists, RnglistsBase, e.Value(Ranges))
	if !ok {
		return 0, false
	}
	return r.firstRnglist(off, empty)
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

// part returns where the unit's lists begin in their section. base is as for listAt.
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
	if a, ok := r.Address(&r.Root, LowPC); ok {
		return a
	}
	return r.low
}

// firstRange reads .debug_ranges (version 4, 2.17.3).
func (r *Reader) firstRange(off uint64, empty bool) (uint64, bool) {
	c := cursorAt(r.ranges, off)
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

// firstRnglist reads .debug_rnglists (7.25).
func (r *Reader) firstRnglist(off uint64, empty bool) (uint64, bool) {
	c := cursorAt(r.in.rnglists, off)
	size := int(r.f.addrSize)
	base := r.unitBase()
	for ; !c.bad; r.work-- {
		var low, high uint64
		ok := true
		switch c.u8() {
		case 1: // DW_RLE_base_addressx
			base, _ = r.AddrxAt(c.uleb())
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
			return 0, false
		}
		if low != high || empty || !ok {
			return low, ok && !c.bad
		}
	}
	return 0, false
}

// maxList limits how many bytes of a location list are read. Any further bytes are ignored.
const maxList = 16 << 10

// Locations calls f for each expression in a, a location attribute of the entry at offset die. A
// location list may have several, an exprloc has only one. Locations stops if f returns false.
func (r *Reader) Locations(die uint32, a Value, f func(expr []byte) bool) error {
	if a.Class == ClassBlock {
		f(r.Block(a.Val))
		return nil
	}
	return r.locations(die, a, Value{}, maxList, func(_ *span, expr []byte) bool { return f(expr) })
}

// Place is an address in the code and one of its views. gcc distinguishes several views of an
// address: places between two instructions that belong to different places in the source. At all
// views of an address, registers and memory are the same. Views are numbered from 0, and other
// compilers know only this one.
type Place struct {
	Addr, View uint64
}

// LocationAt returns the expression that a, a location attribute of the entry at offset die, gives
// for a place: that of an exprloc, or of the first entry of a location list that covers the place.
// If no entry does, the next view of the address counts. covered is false if no entry covers that
// either. The attribute views is the entry's Views.
func (r *Reader) LocationAt(die uint32, a, views Value, p Place) (expr []byte, covered bool,
	err error) {
	if a.Class == ClassBlock {
		return r.Block(a.Val), true, nil
	}
	next := Place{p.Addr, p.View + 1}
	var other []byte // the expression for the next view or, if none is there, the default location
	hasNext, hasOther := false, false
	read := 0
	err = r.locations(die, a, views, math.MaxUint32, func(s *span, e []byte) bool {
		read++
		switch {
		case s.other:
			if !hasNext {
				other, hasOther = e, true
			}
		case s.covers(p):
			expr, covered = e, true
			return false
		case !hasNext && s.covers(next):
			other, hasNext, hasOther = e, true, true
		}
		return true
	})
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

// covers reports whether p is from low to high; high is not part of the span.
func (s *span) covers(p Place) bool {
	return (s.low < p.Addr || s.low == p.Addr && s.lowView <= p.View) &&
		(p.Addr < s.high || p.Addr == s.high && p.View < s.highView)
}

// locations calls f for each entry of a location list, of which it reads at most limit bytes. The
// attribute views says where the views of the entries are, two for each entry.
func (r *Reader) locations(die uint32, a, views Value, limit uint64,
	f func(s *span, expr []byte) bool) error {
	switch a.Class {
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
	l := list{cursor: cursor{buf: data[off:min(off+limit, uint64(len(data)))]}, f: f}
	if views.Class == ClassSec {
		at := r.part(LoclistsBase) + views.Val
		if a.Class == ClassListx { // in split DWARF 5, gcc counts from the table
			at = r.listTable(LoclistsBase) + views.Val
		}
		l.views = cursorAt(data[:off], at)
	}
	switch {
	case r.Unit.Version < 5 && r.D.dwo != nil:
		return r.splitLocList(die, &l)
	case r.Unit.Version < 5:
		r.locList(&l)
		return nil
	}
	return r.locLists(die, &l)
}

// list is a location list that is being read.
type list struct {
	cursor
	views cursor // of the views that precede the list; empty if there are none
	f     func(s *span, expr []byte) bool
}

// entry reads the expression of an entry, which has n bytes, and the views of s. It reports whether
// the list goes on.
func (l *list) entry(s *span, n uint64) bool {
	at := l.pos
	l.skip(n)
	if len(l.views.buf) > 0 {
		s.lowView, s.highView = l.views.uleb(), l.views.uleb()
	}
	return !l.bad && l.f(s, l.buf[at:l.pos])
}

// indexed returns the addresses with two indices. If there is no such address, the span is empty.
func (r *Reader) indexed(low, high uint64) span {
	l, ok := r.AddrxAt(low)
	h, found := r.AddrxAt(high)
	if !ok || !found {
		return span{}
	}
	return span{low: l, high: h}
}

// locLists reads a list in .debug_loclists (7.29).
func (r *Reader) locLists(die uint32, c *list) error {
	size := int(r.f.addrSize)
	base := r.unitBase()
	var s span
	for {
		s.low, s.high, s.other = 0, 0, false
		kind := c.u8()
		switch kind {
		case 0: // DW_LLE_end_of_list
			return nil
		case 1: // DW_LLE_base_addressx
			base, _ = r.AddrxAt(c.uleb())
			continue
		case 2: // DW_LLE_startx_endx
			low := c.uleb()
			s = r.indexed(low, c.uleb())
		case 3: // DW_LLE_startx_length
			low := c.uleb()
			s = r.indexed(low, low)
			s.high += c.uleb()
		case 4: // DW_LLE_offset_pair
			s.low = base + c.uleb()
			s.high = base + c.uleb()
		case 5: // DW_LLE_default_location
			s.other = true
		case 6: // DW_LLE_base_address
			base = c.uint(r.D.Order, size)
			continue
		case 7: // DW_LLE_start_end
			s.low = c.uint(r.D.Order, size)
			s.high = c.uint(r.D.Order, size)
		case 8: // DW_LLE_start_length
			s.low = c.uint(r.D.Order, size)
			s.high = s.low + c.uleb()
		case 9: // DW_LLE_GNU_view_pair
			s.lowView, s.highView = c.uleb(), c.uleb()
			continue
		default:
			return r.Errorf(die, "unknown kind of location list entry: %#x", kind)
		}
		if !c.entry(&s, c.uleb()) {
			return nil
		}
		s.lowView, s.highView = 0, 0
	}
}

// locList reads a list in .debug_loc (version 4, 2.6.2).
func (r *Reader) locList(c *list) {
	size := int(r.f.addrSize)
	all := ^uint64(0) >> (64 - 8*size)
	base := r.unitBase()
	for !c.bad {
		lo, hi := c.uint(r.D.Order, size), c.uint(r.D.Order, size)
		if lo == all {
			base = hi
			continue
		}
		if lo == 0 && hi == 0 {
			return
		}
		if s := (span{low: base + lo, high: base + hi}); !c.entry(&s, c.uint(r.D.Order, 2)) {
			return
		}
	}
}
