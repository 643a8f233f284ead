package convert

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Orphans are type units to which nothing refers. gcc writes one, for example, for an enum if a
// compilation unit uses only its enumerators. In a .dwo file or a file with one compilation unit,
// orphans belong to the compilation unit. Other orphans are converted as separate units: their
// origin is unknown, because the linker keeps only one of several equal type units.

// walkOrphans adds the declarations in the orphans that belong to the compilation unit.
// Rule: type units to which nothing refers.
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

// convertOrphans converts the orphans of a file with several compilation units, after those units.
// apart lists the compilation units that were left out because they failed. A type unit to which
// one of these refers isn't an orphan either. The warnings are about orphans that were left out.
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
		if c.in.has(features.SkipUnencodable) && isUnencodable(err) {
			warnings = append(warnings, err.Error()+"; the type unit is left out")
			c.forgetOthers()
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return warnings, nil
}

// noteReferred notes the type units to which unit h refers, directly or through other units.
func (c *converter) noteReferred(h *dwarf.Unit) error {
	if err := c.main.load(c.in.d, h); err != nil {
		return err
	}
	if c.in.opt.excluded(&c.main.r.Root) || !c.main.r.RefersOut() {
		return nil
	}
	return c.follow(func(typeRef) bool { return false }, func(typeRef, int32) error { return nil })
}

// noteSignatures notes a C unit with several definitions of a tag, if type units may be the reason.
// gcc gives two types the same signature if they differ only in types to which their pointers
// refer, because it hashes only the names of these types (DWARF 5, 7.32). The linker keeps one type
// unit per signature, so the references of a unit may lead to another unit's definition. In C
// source, a unit can define a tag several times only in different blocks.
// Rule: type units: the warning that the linker kept another unit's.
func (c *converter) noteSignatures(number int) {
	if c.single || !c.in.d.HasTypeUnits() || !c.main.r.IsC() {
		return
	}
	c.store.mu.Lock()
	tag := c.store.g.Name(c.store.g.Node(c.current.conflicted))
	c.store.mu.Unlock()
	root := &c.main.r.Root
	c.out.doubtful = append(c.out.doubtful, failure{number, c.main.r.Errorf(root.Off,
		"unit %s has several definitions of %s; if its source has only one, the linker replaced "+
			"a type unit (-fdebug-types-section) with another unit's type unit: convert the object "+
			"files instead", c.current.file, tag)})
}
