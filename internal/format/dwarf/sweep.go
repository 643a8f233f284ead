package dwarf

import (
	std "debug/dwarf"
	"math/bits"
)

// A sweep goes once over the entries at file scope, in the order of the unit, before they are
// visited. It makes the fingerprints of all types, and notes which entries the walk must visit.
//
// Without a sweep, the same fingerprints would be made when an entry refers to the type. A compiler
// writes most types after the first entry that refers to them, so each reference might lead to an
// unknown type: the processor would guess wrong, and wait for the table.
type sweep struct {
	stops []uint32 // the entries to visit, ascending
	next  int      // the index in stops of the first one that was not passed yet
	end   uint32   // how far the sweep came
}

// sweepStep says what a sweep does with an entry at file scope.
type sweepStep uint8

const (
	sweepPast sweepStep = 1 + iota // skip it
	sweepTag                       // a reference to it contributes the kind and the name
	sweepRef                       // a type without children that refers to another: a pointer, for example

	sweepKind = 3
	sweepStop = 1 << 6 // the walk must visit it
	sweepJump = 1 << 7 // it has children and DW_AT_sibling
)

// sweepStep returns the step for entries with the plan p, or 0 if such entries need a closer look.
func (p *plan) sweepStep() (step sweepStep) {
	if p.walk&(planSized|planLead) != planSized || p.indexed() {
		return 0
	}
	switch {
	case p.prints&printTagName != 0:
		step = sweepTag
	case !isType(std.Tag(p.tag)):
		step = sweepPast
	case p.prints&(printWhole|printTag|printFar) == printWhole && p.walk&planChildren == 0 && p.refAt != 0:
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
		if p.walk&planEnter != 0 {
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

// Sweep sweeps the unit. It ends at the first entry whose children can only be skipped one by one.
func (p *Prints) Sweep() {
	w := &p.sweep
	w.stops, w.next, w.end = w.stops[:0], 0, 0
	if !p.Merged || !p.r.isC || !p.r.little || p.plainly || !p.r.Root.Children || len(p.r.buf) > 1<<30 {
		return
	}
	for off := p.r.Root.Next; off != 0; {
		w.end = p.sweepFast(off)
		off = p.sweepOne(w.end)
	}
}

// Visit returns the offset of the first entry at or after off, at file scope, that must be visited.
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

// sweepOne is the part of Sweep for any entry. It returns the offset after the entry, or 0 if the
// sweep ends.
func (p *Prints) sweepOne(off uint32) (next uint32) {
	b, pl, at := p.planned(off)
	tag, children, idle := std.Tag(pl.tag), pl.walk&planChildren != 0, pl.walk&planIdle != 0
	switch {
	case tag == 0:
		e, err := p.r.Peek(off)
		if err != nil || e.Abbrev == nil {
			return 0
		}
		tag, children, idle = e.Abbrev.Tag, e.Abbrev.Children, false
		next = e.Next
		if children {
			next = p.r.ahead(off, p.r.Value(e, Sibling))
		}
	case !children:
		next = p.r.overAttributes(b, pl, at)
	case pl.sibling != 0:
		lead := uint32(0)
		if pl.walk&planLead != 0 {
			_, lead = inline8(b)
		}
		next = u32(b, uint8(lead)+pl.sibling)
	}
	if next <= off || int(next) > len(p.r.buf) {
		return 0
	}
	p.EnclosedRoot = false
	if isType(tag) {
		s, known := p.types.slot(off)
		if known {
			p.EnclosedRoot = true // possibly
		} else if _, err := p.newType(s, off, off, 0); err != nil {
			p.types.reset() // the walk will find the error, if it needs the type
			return 0
		}
	}
	if !idle || children && (p.EnclosedRoot || !isType(tag)) {
		p.sweep.stops = append(p.sweep.stops, off)
	}
	return next
}

// sweepFast is the part of Sweep for most entries. It returns the offset of the first other entry.
// It calls no function, so all its variables stay in registers.
func (p *Prints) sweepFast(off uint32) uint32 {
	buf, plans, t := p.r.buf, p.r.abbrevs.plans, &p.types
	stops := p.sweep.stops
	full := len(t.slots)/3 - 2
	for int(off) <= len(buf)-planReach && t.used < full {
		b := (*window)(buf[off:])
		pl := &plans.of[b[0]]
		step, next := pl.sweep, off+uint32(pl.size)
		if step == 0 {
			break
		}
		if step&sweepJump != 0 {
			if next = u32(b, pl.sibling); next <= off {
				break
			}
		}
		if step&sweepKind != sweepPast {
			s := &t.slots[off>>printShift&uint32(len(t.slots)-1)]
			name := uint64(u32(b, pl.nameAt) & pl.nameMask)
			switch {
			case s.key >= t.gen:
				if s.key != t.gen|uint64(off) {
					goto end
				}
			case step&sweepKind == sweepTag:
				*s = printSlot{t.gen | uint64(off), tagPrint(std.Tag(pl.tag)).with(name, name)}
				t.used++
			default:
				ref := u32(b, pl.refAt)
				r := &t.slots[ref>>printShift&uint32(len(t.slots)-1)]
				if r.key != t.gen|uint64(ref) {
					if r.key >= t.gen || ref < p.r.Root.Next || int(ref) > len(buf)-planReach || r == s {
						goto end
					}
					c := (*window)(buf[ref:])
					to := &plans.of[c[0]]
					if to.sweep&sweepKind != sweepTag {
						goto end
					}
					tag := uint64(u32(c, to.nameAt) & to.nameMask)
					*r = printSlot{t.gen | uint64(ref), tagPrint(std.Tag(to.tag)).with(tag, tag)}
					t.used++
				}
				word := pl.print ^ name ^ uint64(u32(b, pl.valueAt)&pl.valueMask)<<32
				*s = printSlot{t.gen | uint64(off),
					printStart.with(r.fp.A^word, r.fp.B^bits.RotateLeft64(word, 29))}
				t.used++
			}
		}
		if step&sweepStop != 0 {
			stops = append(stops, off)
		}
		off = next
	}
end:
	p.sweep.stops = stops
	return off
}
