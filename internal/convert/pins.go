package convert

import (
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// pinDefinitions is for a unit that defines a tag in several ways. It colours every definition of the unit by its
// content, in which a reference to a definition of such a tag counts as that definition's colour of the round before,
// until no round tells more definitions apart. The colours of the definitions of tags that have several are the pins:
// they depend on content alone, not on the order of the entries.
func (u *unit) pinDefinitions() error {
	defs := append([]uint32(nil), u.defs...)
	type tag struct {
		stub, colour types.Hash
	}
	distinct := 0
	for range defs {
		colours := make([]tag, len(defs))
		for i, off := range defs {
			stub, colour, err := u.colour(off)
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
		u.pins = make(map[uint32]types.Hash)
		for i, c := range colours {
			if several[c.stub] > 1 {
				u.pins[defs[i]] = c.colour
			}
		}
		u.memo.reset()
	}
	return nil
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
