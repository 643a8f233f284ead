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
// All these parts belong to the unit's contents, as if they were in the unit itself.
// Rule: entries in other units: type units, LTO, dwz.

func (u *unit) visitImport(e dwarf.Head) error {
	t, err := u.refTo(e.Off, e.Value(dwarf.Import))
	if err != nil || t.u == nil || t.u == u.c.main {
		return err
	}
	u.c.current.importUnit(t.u)
	return nil
}

// importUnit notes that the declarations of u belong to the current unit.
func (current *unitContents) importUnit(u *unit) {
	if current.recording != nil {
		current.recording.imports = append(current.recording.imports, u)
	}
	if !current.imported[u] {
		current.imported[u] = true
		current.imports = append(current.imports, u)
	}
}

// Rule: partial units of dwz. Source: pahole dwarf_loader.c die__process.
func (c *converter) takeImports() error {
	for len(c.current.imports) > 0 {
		last := len(c.current.imports) - 1
		u := c.current.imports[last]
		c.current.imports = c.current.imports[:last]
		if err := c.takeImport(u); err != nil {
			return err
		}
	}
	return nil
}

// declarations are what an imported unit adds to a unit. All units that import it, possibly
// thousands, get the same declarations. So each thread reads the imported unit only once, or twice
// if the thread also reads units with pins.
type declarations struct {
	clang      bool // clang compiled the importers, which matters for judging functions
	items      []item
	candidates []candidate
	imports    []*unit
}

func (c *converter) takeImport(u *unit) error {
	if d := u.declares; d != nil && d.clang == c.current.clang {
		for _, i := range d.items {
			c.current.add(i)
		}
		c.noteForeign(d)
		for _, of := range d.imports {
			c.current.importUnit(of)
		}
		c.current.candidates = append(c.current.candidates, d.candidates...)
		return nil
	}
	if c.single {
		return u.walk()
	}
	d := &declarations{clang: c.current.clang}
	candidates := len(c.current.candidates)
	c.current.recording = d
	if c.pinned { // no other thread uses the graph
		before := len(c.store.g.Nodes)
		defer func() { c.current.foreignNodes += len(c.store.g.Nodes) - before }()
	}
	err := u.walk()
	c.current.recording = nil
	if err != nil {
		return err
	}
	if d.candidates, err = c.keepCandidates(c.current.candidates[candidates:]); err != nil {
		return err
	}
	u.declares = d
	c.noteForeign(d)
	return nil
}

// noteForeign notes which items of the current unit come from an imported unit.
func (c *converter) noteForeign(d *declarations) {
	if !c.pinned {
		return
	}
	for _, i := range d.items {
		c.current.fromImports = append(c.current.fromImports, i.id)
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
