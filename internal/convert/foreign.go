package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// Parts of a unit may be in other units:
//   - dwz moves common parts into partial units, which units import, or with -m into partial units
//     of a supplementary file;
//   - compilers put types into type units (-fdebug-types-section), and units refer to these by
//     signature;
//   - with link-time optimization, a unit may refer to entries of another unit.
//
// All these parts belong to the unit's environment, as if they were in the unit itself.
// Rule: entries in other units: type units, LTO, dwz.

func (u *unit) visitImport(e dwarf.Head) error {
	t, err := u.refTo(e.Off, e.Value(dwarf.Import))
	if err != nil || t.u == nil || t.u == u.c.main {
		return err
	}
	u.c.env.importUnit(t.u)
	return nil
}

// importUnit notes that the declarations of u belong to the environment.
func (env *environment) importUnit(u *unit) {
	if env.recording != nil {
		env.recording.imports = append(env.recording.imports, u)
	}
	if !env.imported[u] {
		env.imported[u] = true
		env.imports = append(env.imports, u)
	}
}

// Rule: partial units of dwz. Source: pahole dwarf_loader.c die__process.
func (c *converter) takeImports() error {
	for len(c.env.imports) > 0 {
		last := len(c.env.imports) - 1
		u := c.env.imports[last]
		c.env.imports = c.env.imports[:last]
		if err := c.takeImport(u); err != nil {
			return err
		}
	}
	return nil
}

// declarations are what an imported unit adds to an environment. All units that import it, possibly
// thousands, get the same declarations. So each thread reads the imported unit only once, or twice
// if the thread also reads units with pins.
type declarations struct {
	clang      bool // clang compiled the importers, which matters for judging functions
	items      []item
	candidates []candidate
	imports    []*unit
}

func (c *converter) takeImport(u *unit) error {
	if d := u.declares; d != nil && d.clang == c.env.clang {
		for _, i := range d.items {
			c.env.add(i)
		}
		c.noteForeign(d)
		for _, of := range d.imports {
			c.env.importUnit(of)
		}
		c.env.candidates = append(c.env.candidates, d.candidates...)
		return nil
	}
	if c.single {
		return u.walk()
	}
	d := &declarations{clang: c.env.clang}
	candidates := len(c.env.candidates)
	c.env.recording = d
	if c.pinned { // no other thread uses the graph
		before := len(c.store.g.Nodes)
		defer func() { c.env.foreignNodes += len(c.store.g.Nodes) - before }()
	}
	err := u.walk()
	c.env.recording = nil
	if err != nil {
		return err
	}
	if d.candidates, err = c.keepCandidates(c.env.candidates[candidates:]); err != nil {
		return err
	}
	u.declares = d
	c.noteForeign(d)
	return nil
}

// noteForeign notes which items of the environment come from an imported unit.
func (c *converter) noteForeign(d *declarations) {
	if !c.pinned {
		return
	}
	for _, i := range d.items {
		c.env.fromImports = append(c.env.fromImports, i.id)
	}
}

// refAddr resolves the reference to offset v of the unit's section. The entry at offset die refers.
func (u *unit) refAddr(die uint32, v uint64) (typeRef, error) {
	for _, o := range [...]*unit{u.c.main, u.c.neighbours.recent} {
		if o != nil && o.r.Unit != nil && u.r.Unit.Kind != dwarf.UnitType &&
			o.r.Unit.Section == u.r.Unit.Section && v-o.r.Unit.Off < o.r.Unit.Len {
			return typeRef{o, uint32(v - o.r.Unit.Off)}, nil
		}
	}
	h := u.r.D.UnitAt(u.r.Unit.Section, v)
	if h == nil {
		return typeRef{}, u.r.Damaged(die, "a reference leads to offset %#x, but no unit contains "+
			"that offset", v)
	}
	t, err := u.refInto(h, uint32(v-h.Off))
	if err == nil && t.u != u.c.main {
		u.c.neighbours.recent = t.u
	}
	return t, err
}

// elsewhere is dwarf.Prints.Other.
func (u *unit) elsewhere(die uint32, v uint64) (*dwarf.Prints, uint32, error) {
	t, err := u.refAddr(die, v)
	if err != nil {
		return nil, 0, err
	}
	return &t.u.prints, t.off, nil
}
