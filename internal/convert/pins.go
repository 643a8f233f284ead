package convert

import (
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// pinDefinitions is for a unit that defines a tag in several ways. It colours every definition of
// the unit by its content, in which a reference to a definition of such a tag counts as that
// definition's colour of the round before, until no round tells more definitions apart. The colours
// of the definitions of tags that have several are the pins: they depend on content alone, not on
// the order of the entries.
func (c *converter) pinDefinitions() error {
	c.pinned = true
	type tag struct {
		stub, colour types.Hash
	}
	distinct := 0
	for range c.defs {
		colours := make([]tag, len(c.defs))
		for i, t := range c.defs {
			stub, colour, err := t.u.colour(t.off)
			if err != nil {
				return err
			}
			colours[i] = tag{stub, colour}
		}
		seen := make(map[tag]bool)
		several := make(map[types.Hash]int)
		for _, c := range colours {
			if !seen[c] {
				seen[c] = true
				several[c.stub]++
			}
		}
		if len(seen) == distinct {
			break
		}
		distinct = len(seen)
		c.forgetPins()
		for i, t := range c.defs {
			if several[colours[i].stub] > 1 {
				if t.u.pins == nil {
					t.u.pins = make(map[uint32]types.Hash)
				}
				t.u.pins[t.off] = colours[i].colour
			}
		}
	}
	return nil
}

// unpin ends what pinDefinitions began.
func (c *converter) unpin() {
	c.forgetPins()
	c.pinned = false
}

// forgetPins drops the pins of all units, and the types that are known by them.
func (c *converter) forgetPins() {
	c.main.pins = nil
	c.main.memo.reset(0)
	for _, o := range c.others {
		o.pins = nil
		o.memo.reset(0)
	}
}

// colour hashes the definition at off under the pins in force, and the stub of its tag.
func (u *unit) colour(off uint32) (stub, colour types.Hash, err error) {
	var e dwarf.DIE
	if err := u.r.Read(off, &e); err != nil {
		return stub, colour, err
	}
	base := len(u.c.elems)
	d, err := u.describeTagged(&e)
	if err == nil {
		err = u.define(&e, &d)
	}
	if err != nil {
		return stub, colour, err
	}
	colour, err = u.hashOf(&d, off, 0)
	u.c.elems = u.c.elems[:base]
	return types.HashStub(types.TagOf(d.kind), d.name.hash), colour, err
}
