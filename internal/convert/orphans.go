package convert

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// gcc writes type units to which nothing refers, such as those of enums if a unit uses only their
// enumerators. They are orphans. If a file has one compilation unit, they belong to it, and those
// of a .dwo file to its compilation unit. Otherwise they are separate units: the linker keeps one
// of several equal type units, so it is unknown whose they are.

// walkOrphans takes what the orphans of the one compilation unit declare.
func (c *converter) walkOrphans() error {
	d := c.main.r.D
	var own []*dwarf.Unit
	switch {
	case d.IsSplit():
		own = d.TypeUnitsOf(c.main.r.Unit)
	case c.single:
		own = d.TypeUnits(func(*dwarf.Unit) bool { return true })
	}
	for _, h := range own {
		if c.neighbours.referred[h] {
			continue
		}
		u, err := c.foreign(d, h)
		if err != nil {
			return err
		}
		if err := u.walk(); err != nil {
			return err
		}
	}
	return nil
}

// convertOrphans converts the orphans of a file with several compilation units, which all have
// converted. apart are those that were left out half-way: what they refer to is no orphan either.
// The warnings are about type units that were left out.
func (c *converter) convertOrphans(all []*converter, apart []*dwarf.Unit) (warnings []string,
	err error) {
	for _, h := range apart {
		if err := c.noteReferred(h); err != nil {
			return nil, err
		}
	}
	all = append([]*converter{c}, all...)
	for _, h := range c.in.d.TypeUnits(func(h *dwarf.Unit) bool {
		return !slices.ContainsFunc(all, func(c *converter) bool { return c.neighbours.referred[h] })
	}) {
		err := c.convert(h, len(c.in.d.Units))
		if c.in.opt.SkipUnencodable && isUnencodable(err) {
			warnings = append(warnings, err.Error()+"; the type unit is left out")
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return warnings, nil
}

// noteReferred notes the type units that compilation unit h refers to, directly or through others.
func (c *converter) noteReferred(h *dwarf.Unit) error {
	if err := c.main.load(c.in.d, h); err != nil {
		return err
	}
	if c.in.opt.excluded(&c.main.r.Root) || !c.main.r.RefersOut() {
		return nil
	}
	return c.follow(func(typeRef) bool { return false }, func(typeRef) error { return nil })
}

// noteSignatures notes a unit of C with several definitions of a tag, if type units may be the
// reason. gcc gives the same signature to types that differ in what their pointers refer to (DWARF
// 5, 7.32, hashes only the name of that). The linker keeps one of them, so a unit may get the
// definition of another. In C itself, only blocks have several definitions of a tag.
func (c *converter) noteSignatures(number int) {
	if c.single || !c.in.d.HasTypeUnits() || !c.main.r.IsC() {
		return
	}
	c.store.lock()
	tag := c.store.g.Name(c.store.g.Node(c.env.conflicted))
	c.store.mu.Unlock()
	root := &c.main.r.Root
	c.out.doubtful = append(c.out.doubtful, failure{number, c.main.r.Errorf(root.Off,
		"unit %s has several definitions of %s; if its source has one, it got the type units of others "+
			"(-fdebug-types-section): convert the object files", c.env.file, tag)})
}
