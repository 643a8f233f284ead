package convert

import (
	std "debug/dwarf"
	"path"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// unit is a loaded DWARF unit, with what is known so far about its types.
type unit struct {
	c      *converter
	r      dwarf.Reader
	memo   memo
	prints dwarf.Prints

	pending   pendingDefinitions
	visited   visitedDefinitions
	places    offsets // the indexes of places in converter.reached
	referring referring

	declares *declarations // of an imported unit that has been walked

	codeless []uint32        // functions without code that may still have a symbol
	nameless []uint32        // functions with code, but without a symbol at their entry
	tagged   []types.Hash    // hashes of the names of functions with declaration tags
	origins  map[uint32]bool // the abstract instances of functions that have code

	number uint32 // see neighbours; 0 in converter.own, unless that unit is read with pins
}

func (c *converter) convert(h *dwarf.Unit, number int) error {
	if err := c.loadMain(h); err != nil {
		return err
	}
	u := c.main
	if u.r.Root.Has(dwarf.DwoName) && h.Kind == dwarf.UnitCompile {
		leave, err := c.enter()
		if err != nil {
			return err
		}
		defer leave()
	}
	if u.r.Root.Tag == std.TagPartialUnit {
		c.out.partial++
		return nil // read where it is imported
	}
	c.out.complete = true
	switch u.r.Root.Tag {
	case std.TagCompileUnit, std.TagTypeUnit:
	case std.TagSkeletonUnit: // clang writes such a unit if nothing was split off
	default:
		return u.r.Damaged(u.r.Root.Off, "the unit's first entry is %v, not a compilation unit",
			u.r.Root.Tag)
	}
	if c.in.opt.excluded(&u.r.Root) {
		c.out.excluded++
		return nil
	}
	file, err := u.r.String(&u.r.Root, dwarf.Name)
	if err != nil {
		return err
	}
	name := "" // for a type unit
	if h.Kind != dwarf.UnitType {
		name = path.Base(string(file))
	}
	if err := c.read(name); err != nil {
		return err
	}
	if c.current.conflict {
		c.noteSignatures(number)
		if err := c.readPinned(h, name); err != nil {
			return err
		}
	}
	c.noteUntyped(number)
	return c.end(number)
}

// loadMain loads the unit that is to be converted.
func (c *converter) loadMain(h *dwarf.Unit) (err error) {
	c.enterGroup(h)
	c.main = &c.own
	if c.neighbours.group.first != nil {
		c.own.r.Forget()
		c.main, err = c.foreign(c.in.d, h)
		if err != nil || !c.main.r.Root.Has(dwarf.DwoName) {
			return err
		}
		c.main = &c.own
	}
	return c.main.load(c.in.d, h)
}

// read makes the contents of the loaded unit from the unit's own declarations, from those that
// it imports, and from those in other units to which it refers.
func (c *converter) read(file string) error {
	c.begin(file)
	if err := c.main.walk(); err != nil {
		return err
	}
	if err := c.takeImports(); err != nil {
		return err
	}
	if err := c.reach(); err != nil {
		return err
	}
	if err := c.walkOrphans(); err != nil {
		return err
	}
	if err := c.addCandidates(); err != nil {
		return err
	}
	return c.addInlined()
}

func (u *unit) load(d *dwarf.Data, h *dwarf.Unit) error {
	if err := u.r.Load(d, h); err != nil {
		return err
	}
	u.forget()
	u.visited.reset(u != &u.c.own && u.c.neighbours.group.has(h), h.Len)
	if u.c.repeats != repeatNone {
		u.prints.Reset(&u.r)
		if u.prints.Other == nil {
			u.prints.Other = u.elsewhere
		}
	}
	return nil
}

// forget forgets what the unit's converter knows about the unit's types.
func (u *unit) forget() {
	u.memo.reset(u.r.Unit.Len)
	u.places.clear()
}
