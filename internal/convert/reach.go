package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// reached remembers what entries of other units refer to, because many units may refer to the same
// entries.
type reached struct {
	index  map[place]int32
	places []reachedPlace
	refs   []int32 // of all places: indexes of places
	serial uint32  // counts the walks
	queue  []int32
}

// place identifies an entry. (A typeRef doesn't: the unit that is being converted may have been
// loaded a second time when other units referred to it.)
type place struct {
	h   *dwarf.Unit
	off uint32
}

type reachedPlace struct {
	place
	sup      bool   // it is in the supplementary file
	expanded bool   // refs and the range below are known
	added    bool   // adds is known
	serial   uint32 // of the last walk that came here
	first    uint32 // index of the first element of reached.refs
	end      uint32
	adds     []item // what the entry adds to an environment
}

func (r *reached) at(t typeRef) int32 {
	key := place{t.u.r.Unit, t.off}
	i, ok := r.index[key]
	if !ok {
		if r.index == nil {
			r.index = make(map[place]int32)
		}
		i = int32(len(r.places))
		r.index[key] = i
		r.places = append(r.places, reachedPlace{place: key})
	}
	return i
}

// reach adds the tags and typedefs of other units that this unit uses. A unit uses what its
// references lead to, directly or through other types, including pointers and members.
func (c *converter) reach() error {
	if !c.main.r.RefersOut() {
		return nil
	}
	return c.follow(func(t typeRef) bool { return c.env.imported[t.u] }, c.addReached)
}

// addReached adds the definition at a place, if there is one.
func (c *converter) addReached(t typeRef, i int32) error {
	if r := &c.reached.places[i]; r.added {
		for _, one := range r.adds {
			c.env.add(one)
		}
		return nil
	}
	e, err := t.u.r.Peek(t.off)
	if err != nil {
		return err
	}
	if e.Abbrev == nil {
		return t.u.r.Errorf(t.off, "a reference to a type does not point to an entry")
	}
	var adds []item
	if dwarf.IsDefinition(e.Abbrev.Tag) {
		d := &declarations{}
		c.env.recording = d
		_, _, err = t.u.visitType(e)
		c.env.recording = nil
		adds = d.items
	}
	r := &c.reached.places[i]
	r.added, r.adds = true, adds
	return err
}

// follow follows the loaded unit's references into other units, and the references found there. It
// calls visit once for each entry that it reaches, except those for which known returns true.
func (c *converter) follow(known func(typeRef) bool, visit func(typeRef, int32) error) error {
	r := &c.reached
	r.serial++
	queue, err := c.main.outward(r.queue[:0])
	for err == nil && len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		p := &r.places[i]
		if p.serial == r.serial {
			continue
		}
		p.serial = r.serial
		if p.h == c.main.r.Unit {
			continue
		}
		var u *unit
		if u, err = c.foreign(c.main.r.D, p.h); err != nil {
			break
		}
		t := typeRef{u, p.off}
		if known(t) {
			continue
		}
		if err = visit(t, i); err != nil {
			break
		}
		if p = &r.places[i]; !p.expanded {
			first := uint32(len(r.refs))
			if r.refs, err = u.references(t.off, r.refs); err != nil {
				r.refs = r.refs[:first]
				break
			}
			p = &r.places[i]
			p.first, p.end, p.expanded = first, uint32(len(r.refs)), true
		}
		queue = append(queue, r.refs[p.first:p.end]...)
	}
	r.queue = queue
	return err
}

// outward appends to a list the places in other units to which the unit refers.
func (u *unit) outward(into []int32) ([]int32, error) {
	err := u.r.Outward(func(e *dwarf.DIE) (err error) {
		into, err = u.places(e, true, into)
		return err
	})
	return into, err
}

// references appends to a list the places to which the entry at offset off and all entries below it
// refer, and the definitions below it.
func (u *unit) references(off uint32, into []int32) ([]int32, error) {
	var e dwarf.DIE
	for depth := 0; ; {
		err := u.r.Read(off, &e)
		if err != nil {
			return into, err
		}
		off = e.Next
		if e.Null {
			depth--
		} else {
			if depth > 0 && dwarf.IsDefinition(e.Tag) {
				into = append(into, u.c.reached.at(typeRef{u, e.Off}))
			}
			if e.Children {
				depth++
			}
			if into, err = u.places(&e, false, into); err != nil {
				return into, err
			}
		}
		if depth <= 0 || uint64(off) >= u.r.Unit.Len {
			return into, nil
		}
	}
}

// places appends to a list the places to which e refers. If others is set, references within the
// unit are left out. So are the origins of inlined calls, because a function's body doesn't change
// what the unit declares.
func (u *unit) places(e *dwarf.DIE, others bool, into []int32) ([]int32, error) {
	for _, s := range [...]dwarf.Attr{dwarf.Type, dwarf.Signature, dwarf.Origin, dwarf.Specification,
		dwarf.Annotation} {
		if !e.Has(s) || s == dwarf.Origin && e.Tag == std.TagInlinedSubroutine ||
			others && e.Class[s] == dwarf.ClassRef {
			continue
		}
		t, err := u.ref(e, s)
		if err != nil {
			return into, err
		}
		if t.u != nil {
			into = append(into, u.c.reached.at(t))
		}
	}
	return into, nil
}
