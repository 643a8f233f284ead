package dwarf

import (
	std "debug/dwarf"
	"math/bits"
	"slices"
)

// A sweep goes once over the entries at file scope, in the order of the unit, before the walk
// visits them. It makes the fingerprints of all types, and notes which entries the walk must visit.
//
// Without a sweep, a type's fingerprint would be made when an entry refers to the type. Each
// look-up in the table might then find a free slot, which neither the processor's branch prediction
// nor its caches expect, so it would wait. Compilers write most types before the entries that refer
// to them, so a sweep nearly always finds what it looks up.
type sweep struct {
	stops []uint32 // the entries to visit, ascending
	next  int      // the index in stops of the first one that the walk has not passed
	end   uint32   // the offset at which the sweep ended
}

// sweepStep says what a sweep does with an entry at file scope, or is 0 if sweepOne must find out.
type sweepStep uint8

const (
	sweepPast sweepStep = 1 + iota // skip it
	sweepTag                       // a reference to it contributes the kind and the name
	sweepRef                       // a type without children that refers to another: a pointer, say

	sweepKind = 3
	sweepStop = 1 << 6 // the walk must visit it
	sweepJump = 1 << 7 // it has children and DW_AT_sibling
)

// sweepStep returns the step for entries with the plan p.
func (p *plan) sweepStep() (step sweepStep) {
	if p.walk&(planSized|planLead) != planSized || p.indexed() {
		return 0
	}
	switch {
	case p.prints&printTagName != 0:
		step = sweepTag
	case !isType(std.Tag(p.tag)):
		step = sweepPast
	case p.prints&(printWhole|printTag|printFar) == printWhole && p.refAt != 0 &&
		p.walk&planChildren == 0:
		step = sweepRef
	default:
		return 0
	}
	switch {
	case p.walk&planChildren == 0:
		if p.varying != 0 {
			return 0
		}
	case p.sibling == 0:
		return 0
	default:
		step |= sweepJump
		if p.walk&planEnter != 0 { // like Skip in C
			step |= sweepStop
		}
	}
	if p.walk&planIdle == 0 {
		step |= sweepStop
	}
	return step
}

// isType reports whether entries with the tag are types of C.
func isType(tag std.Tag) bool {
	switch tag {
	case std.TagArrayType, std.TagEnumerationType, std.TagPointerType, std.TagStructType,
		std.TagSubroutineType, std.TagTypedef, std.TagUnionType, std.TagBaseType, std.TagConstType,
		std.TagVolatileType, std.TagRestrictType, std.TagAtomicType:
		return true
	}
	return false
}

// Sweep goes over the entries at file scope, if the unit is written in C, and notes which of them
// the walk must visit. It reads the definitions among these into list, as many at a time as fit,
// and calls visit with their number, in the order of the unit. Visit then returns only the other
// entries. If list is empty, Visit returns the definitions as well.
//
// Sweep is for the loops of the conversion, like Visit.
func (p *Prints) Sweep(list []Definition, visit func(n int) error) error {
	stops := p.sweepUnit()
	if len(list) == 0 {
		return nil
	}
	left := stops[:0]
	for part := range slices.Chunk(stops, len(list)) {
		if err := p.definitions(part, list); err != nil {
			return err
		}
		n := 0
		for _, d := range list[:len(part)] {
			if d.End == 0 {
				left = append(left, d.Off)
				continue
			}
			list[n] = d
			n++
		}
		if err := visit(n); err != nil {
			return err
		}
	}
	p.sweep.stops = left
	return nil
}

// sweepUnit sweeps the unit, if it is written in C, and returns the offsets of the entries to
// visit. It ends at the first entry whose children can only be skipped one by one, as in DWARF from
// clang.
func (p *Prints) sweepUnit() []uint32 {
	w := &p.sweep
	w.stops, w.next, w.end = w.stops[:0], 0, 0
	if !p.r.isC || !p.r.little || !p.r.Root.Children {
		return nil
	}
	for off := p.r.Root.Next; off != 0; {
		w.end = p.sweepMost(off)
		off = p.sweepOne(w.end)
	}
	return w.stops
}

// Visit returns the offset of the first entry at or after off, at file scope, that the walk must
// visit, or at which it must look for such entries. off must not be smaller than in the last call.
func (p *Prints) Visit(off uint32) uint32 {
	w := &p.sweep
	for w.next < len(w.stops) && w.stops[w.next] < off {
		w.next++
	}
	if w.next < len(w.stops) {
		return w.stops[w.next]
	}
	return max(off, w.end)
}

// sweepMost is the part of sweepUnit for most entries. It returns the offset of the first other
// entry. It calls no function, so that many variables stay in registers.
func (p *Prints) sweepMost(off uint32) uint32 {
	buf, plans, t := p.r.buf, p.r.abbrevs.plans, &p.types
	stops, used := p.sweep.stops, t.used
	full := len(t.slots)/3 - 1 // then, put makes the table larger
	content := uint32(0)
	if !p.Merged { // fingerprints cover the content of names
		content = 1<<32 - 1
	}
	for int(off) <= len(buf)-planReach && t.used < full {
		b := (*window)(buf[off:])
		pl := &plans.of[b[0]]
		step, next := pl.sweep, off+uint32(pl.size)
		if step == 0 {
			break
		}
		if step&sweepJump != 0 {
			if next = u32(b, pl.sibling); next <= off || int(next) > len(buf) {
				break
			}
		}
		if step&sweepKind != sweepPast {
			s := &t.slots[off>>printShift&uint32(len(t.slots)-1)]
			if pl.nameMask&content != 0 || s.key >= t.gen && s.key != t.gen|uint64(off) {
				break
			}
			name := uint64(u32(b, pl.nameAt) & pl.nameMask)
			fp := tagPrint(std.Tag(pl.tag)).with(name, name)
			if step&sweepKind == sweepRef {
				ref := u32(b, pl.refAt)
				to := &t.slots[ref>>printShift&uint32(len(t.slots)-1)]
				if to.key != t.gen|uint64(ref) {
					break
				}
				word := pl.print ^ name ^ uint64(u32(b, pl.valueAt)&pl.valueMask)<<32
				fp = printStart.with(to.fp.A^word, to.fp.B^bits.RotateLeft64(word, 29))
			}
			if s.key < t.gen {
				t.used++
			}
			*s = printSlot{t.gen | uint64(off), fp}
		}
		if step&sweepStop != 0 {
			stops = append(stops, off)
		}
		off = next
	}
	p.r.work -= int64(t.used - used)
	p.sweep.stops = stops
	return off
}

// sweepOne is the part of sweepUnit for any entry. It returns the offset after the entry, or 0 if
// the sweep ends.
func (p *Prints) sweepOne(off uint32) (next uint32) {
	b, pl, at := p.r.planned(off)
	tag, children, idle := std.Tag(pl.tag), pl.walk&planChildren != 0, pl.walk&planIdle != 0
	switch {
	case pl.walk&planSized == 0:
	case !children:
		next = p.r.overAttributes(b, pl, at)
	case pl.sibling != 0 && pl.walk&planLead == 0:
		next = u32(b, pl.sibling)
	case pl.sibling != 0:
		if _, lead := inline8(b); lead != 0 {
			next = u32(b, uint8(lead)+pl.sibling)
		}
	}
	if next == 0 { // the entry has no plan, or a long string
		e, err := p.r.Peek(off)
		if err != nil || e.Abbrev == nil {
			return 0
		}
		tag, children = e.Abbrev.Tag, e.Abbrev.Children
		if next = e.Next; children {
			next = p.r.ahead(off, e.Value(Sibling))
		}
	}
	if next <= off || int(next) > len(p.r.buf) {
		return 0
	}
	inside := children // whether the walk must look for entries in the children
	if isType(tag) {
		s, known := p.types.slot(off)
		p.EnclosedRoot = known // possibly
		if !known {
			if _, err := p.newType(s, off, off, 0); err != nil {
				p.types.reset() // the walk will find the error, if it needs the type
				return 0
			}
		}
		inside = children && p.EnclosedRoot
	}
	if !idle || inside {
		p.sweep.stops = append(p.sweep.stops, off)
	}
	return next
}
