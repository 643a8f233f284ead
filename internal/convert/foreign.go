package convert

import (
	"bytes"
	std "debug/dwarf"

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

func (u *unit) visitImport(e dwarf.Head) error {
	t, err := u.refTo(e.Off, u.r.Value(e, dwarf.Import))
	if err != nil || t.u == nil || t.u == &u.c.main {
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
	for _, f := range c.env.candidates[candidates:] {
		f.name = bytes.Clone(f.name)
		d.candidates = append(d.candidates, f)
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

// reach adds the tags and typedefs of other units that this unit uses. A unit uses what its
// references lead to, directly or through other types, including pointers and members.
func (c *converter) reach() error {
	if !c.main.r.RefersOut() {
		return nil
	}
	return c.follow(func(t typeRef) bool { return c.env.imported[t.u] }, func(t typeRef) error {
		e, err := t.u.r.Peek(t.off)
		if err != nil {
			return err
		}
		if e.Abbrev == nil {
			return t.u.r.Errorf(t.off, "a reference to a type does not point to an entry")
		}
		if dwarf.IsDefinition(e.Abbrev.Tag) {
			_, _, err = t.u.visitType(e)
		}
		return err
	})
}

// follow follows the loaded unit's references into other units, and the references found there. It
// calls visit once for each entry that it reaches, except those for which known returns true.
func (c *converter) follow(known func(typeRef) bool, visit func(typeRef) error) error {
	queue, err := c.main.references(c.main.r.Unit.HeaderLen, true, nil)
	seen := make(map[typeRef]bool)
	for err == nil && len(queue) > 0 {
		t := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[t] || t.u == &c.main || known(t) {
			continue
		}
		seen[t] = true
		if err = visit(t); err == nil {
			queue, err = t.u.references(t.off, false, queue)
		}
	}
	return err
}

// references appends to a list the references in the entry at offset off and in all entries below
// it. If the parameter others is set, only references to other units are appended; otherwise, all
// references and the definitions below the entry. The origins of inlined calls are skipped, because
// a function's body doesn't change what the unit declares.
func (u *unit) references(off uint32, others bool, into []typeRef) ([]typeRef, error) {
	var e dwarf.DIE
	for depth := 0; ; {
		if err := u.r.Read(off, &e); err != nil {
			return into, err
		}
		off = e.Next
		if e.Null {
			depth--
		} else {
			if !others && depth > 0 && dwarf.IsDefinition(e.Tag) {
				into = append(into, typeRef{u, e.Off})
			}
			if e.Children {
				depth++
			}
			for _, s := range [...]dwarf.Attr{dwarf.Type, dwarf.Signature, dwarf.Origin, dwarf.Specification,
				dwarf.Annotation} {
				if !e.Has(s) || s == dwarf.Origin && e.Tag == std.TagInlinedSubroutine ||
					others && e.Class[s] == dwarf.ClassRef {
					continue
				}
				t, err := u.ref(&e, s)
				if err != nil {
					return into, err
				}
				if t.u != nil {
					into = append(into, t)
				}
			}
		}
		if depth <= 0 || uint64(off) >= u.r.Unit.Len {
			return into, nil
		}
	}
}
