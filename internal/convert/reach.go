package convert

import "github.com/rules-btf/rules_btf/internal/format/dwarf"

// reached remembers what entries of other units refer to, because many units may refer to the same
// entries. It calls such an entry a place.
type reached struct {
	places []place
	refs   []int32 // indexes of places
	items  []item
	walk   uint32 // counts the walks
	queue  []int32
}

type place struct {
	h        *dwarf.Unit
	u        *unit // h, when it was not being converted; nil: not known
	off      uint32
	walk     uint32 // the last walk that came here
	first    uint32 // the place refers to refs[first:end]
	end      uint32
	expanded bool // first and end are known
	added    bool // what the entry adds to a unit is known: items[item:itemsEnd]
	item     uint32
	itemsEnd uint32
}

// maxPlaces limits the memory of reached.
const maxPlaces = 1 << 20

// forgetReached drops all places.
func (c *converter) forgetReached() {
	r := &c.reached
	for _, u := range c.neighbours.others {
		u.places.clear()
	}
	c.own.places.clear()
	r.places, r.refs, r.items = r.places[:0], r.refs[:0], r.items[:0]
}

// place returns the index of the place to which t refers.
func (t typeRef) place() int32 {
	i, has := t.u.places.get(t.off)
	if !has {
		r := &t.u.c.reached
		i = uint32(len(r.places))
		r.places = append(r.places, place{h: t.u.r.Unit, off: t.off})
		t.u.places.set(t.off, i)
	}
	return int32(i)
}

// reach adds the tags and typedefs of other units that this unit uses. A unit uses what its
// references lead to, directly or through other types, including pointers and members.
// Rule: entries in other units: type units, LTO, dwz. Source: pahole dwarf_loader.c
// cus__merge_and_process_cu, __cus__load_debug_types.
func (c *converter) reach() error {
	if !c.main.r.RefersOut() {
		return nil
	}
	if len(c.reached.places) > maxPlaces {
		c.forgetReached()
	}
	return c.follow(func(t typeRef) bool { return c.current.imported[t.u] }, c.addReached)
}

// addReached adds the definition at place i, to which t refers, if there is a definition.
func (c *converter) addReached(t typeRef, i int32) error {
	r := &c.reached
	if p := &r.places[i]; p.added {
		for _, one := range r.items[p.item:p.itemsEnd] {
			c.current.add(one)
		}
		return nil
	}
	e, err := t.u.r.Peek(t.off)
	if err != nil {
		return err
	}
	if e.Abbrev == nil {
		return t.u.r.Damaged(t.off, "a reference to a type does not point to an entry")
	}
	first := uint32(len(r.items))
	if dwarf.IsDefinition(e.Abbrev.Tag) {
		d := declarations{items: r.items}
		c.current.recording = &d
		_, _, err = t.u.visitType(e)
		c.current.recording = nil
		r.items = d.items
	}
	p := &r.places[i]
	p.added, p.item, p.itemsEnd = true, first, uint32(len(r.items))
	return err
}

// follow follows the loaded unit's references into other units, and the references found there. It
// calls visit once for each place that it reaches, except those for which known returns true.
func (c *converter) follow(known func(typeRef) bool, visit func(typeRef, int32) error) error {
	r := &c.reached
	r.walk++
	r.queue = r.queue[:0]
	u := c.main
	err := u.r.References(u.r.Root.Off, true, func(die uint32, to dwarf.Value) error {
		t, err := u.refTo(die, to)
		if err == nil && t.u != nil && !known(t) {
			r.queue, err = t.queue(r.queue)
		}
		return err
	})
	if err != nil {
		return err
	}
	for len(r.queue) > 0 {
		i := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		p := &r.places[i]
		if p.walk == r.walk {
			continue
		}
		p.walk = r.walk
		if p.h == c.main.r.Unit {
			continue
		}
		if err := c.main.r.Repeat(1 + int(p.end-p.first)); err != nil {
			return err
		}
		if p.u == nil {
			u, err := c.foreign(c.main.r.D, p.h)
			if err != nil {
				return err
			}
			p.u = u
		}
		t := typeRef{p.u, p.off}
		if known(t) {
			continue
		}
		if err := visit(t, i); err != nil {
			return err
		}
		if !r.places[i].expanded {
			first := len(r.refs)
			if err := t.u.references(t.off); err != nil {
				r.refs = r.refs[:first]
				return err
			}
			p := &r.places[i]
			p.first, p.end, p.expanded = uint32(first), uint32(len(r.refs)), true
		}
		r.queue = append(r.queue, r.refs[r.places[i].first:r.places[i].end]...)
	}
	return nil
}

// references appends the places to which the entry at offset off and those below it refer to
// reached.refs.
func (u *unit) references(off uint32) error {
	q := &u.referring
	if q.visit == nil {
		q.visit = func(die uint32, to dwarf.Value) error {
			if to.Class == dwarf.ClassRef { // members often have the same type as the last ones
				last := &q.last[to.Val>>2&uint64(len(q.last)-1)]
				if *last == to.Val {
					return nil
				}
				*last = to.Val
			}
			t, err := u.refTo(die, to)
			if err == nil && t.u != nil {
				r := &u.c.reached
				r.refs, err = t.queue(r.refs)
			}
			return err
		}
	}
	clear(q.last[:])
	return u.r.References(off, false, q.visit)
}

// referring is the state of unit.references.
type referring struct {
	visit func(die uint32, to dwarf.Value) error // made once
	last  [16]uint64                             // some references of the entry
}

// queue appends the place to which t refers to a list, unless nothing there can be a definition.
func (t typeRef) queue(list []int32) ([]int32, error) {
	t, err := t.through()
	if err == nil && t.u != nil {
		list = append(list, t.place())
	}
	return list, err
}

// maxThrough limits how many entries through skips; in C, a type hardly has more.
const maxThrough = 8

// through skips pointers and other entries in a group that are not definitions, and only refer to
// one other entry or to none. It returns the first other entry, or void.
func (t typeRef) through() (typeRef, error) {
	for range maxThrough {
		if !t.u.visited.on || t.u.r.Unit.Kind != dwarf.UnitCompile {
			break
		}
		to, ok := t.u.r.Through(t.off)
		if !ok {
			break
		}
		next, err := t.u.refTo(t.off, to)
		if err != nil || next.u == nil {
			return next, err
		}
		t = next
	}
	return t, nil
}
