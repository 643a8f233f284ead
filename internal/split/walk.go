package split

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// inlined is DW_INL_inlined: by the compiler's choice, not declared inline.
const inlined = 1

// walk copies the entries that declare something that the unit holds, wherever they stand, as
// convert's walk finds them.
func (c *copier) walk() error {
	r := &c.r
	off := r.Root.Next
	if !r.Root.Children {
		return nil
	}
	for depth, global := 1, 1; depth > 0; {
		next, deeper := r.SkipIdle(off, depth != global)
		off, depth = next, depth+deeper
		if c.on {
			if end, err := c.define(off); err != nil {
				return err
			} else if end != 0 {
				off = end
				continue
			}
		}
		e, err := r.Peek(off)
		if err != nil {
			return err
		}
		if e.Abbrev == nil {
			if uint64(e.Next) >= r.Unit.Len {
				break
			}
			depth--
			global = min(global, depth)
			off = e.Next
			continue
		}
		enter, next, err := c.visit(e, depth == global)
		if err != nil {
			return err
		}
		switch {
		case next != 0:
			off = next
		case !enter || !e.Abbrev.Encloses:
			if off, err = r.After(e); err != nil {
				return err
			}
		default:
			if e.Abbrev.Tag == std.TagNamespace && global == depth {
				global++
			}
			depth++
			off = e.Next
		}
	}
	return nil
}

// visit copies e if it declares something. It tells whether what e encloses is to be visited too,
// and the offset after e's children if that is known. global: e is not inside a function.
func (c *copier) visit(e dwarf.Peeked, global bool) (enter bool, next uint32, err error) {
	if c.on && dwarf.IsDefinition(e.Abbrev.Tag) {
		return c.definePeeked(e)
	}
	if dwarf.IsDefinition(e.Abbrev.Tag) {
		d := &c.die
		if err := c.r.Read(e.Off, d); err != nil {
			return false, 0, err
		}
		if !isDefined(d) || c.placed[e.Off] != 0 {
			return true, 0, nil
		}
		c.enclosed = false
		if next, err = c.subtree(d); c.enclosed { // a function in it has more
			return true, 0, err
		}
		return false, next, err
	}
	switch e.Abbrev.Tag {
	case std.TagSubprogram:
		return c.visitFunction(e)
	case std.TagVariable:
		if global && e.Has(dwarf.Location) && c.placed[e.Off] == 0 {
			err = c.visitVariable(e.Off)
		}
	case std.TagImportedUnit:
		if e.Has(dwarf.ConstValue) {
			return false, 0, c.r.Errorf(e.Off, "the unit lists what it imports: the file is a shard, "+
				"which is not split again")
		}
		if c.placed[e.Off] == 0 {
			next, err = c.subtreeAt(e.Off)
		}
		return false, next, err
	}
	return true, 0, err
}

// visitFunction copies a function that is a candidate.
func (c *copier) visitFunction(k dwarf.Peeked) (enter bool, next uint32, err error) {
	if k.Has(dwarf.Declaration) {
		return true, 0, nil
	}
	e := &c.top
	if err := c.r.Read(k.Off, e); err != nil {
		return false, 0, err
	}
	if isCandidate(e) && c.placed[k.Off] == 0 {
		b, err := c.function(e)
		if err != nil || b.declares {
			return true, 0, err
		}
		return false, b.end, nil
	}
	f, err := c.r.Body(k)
	if err != nil || f.Declares {
		return true, 0, err
	}
	return false, f.End, nil
}

// isCandidate tells whether a function is a candidate of its unit (convert's visitFunction).
func isCandidate(e *dwarf.DIE) bool {
	switch {
	case e.Has(dwarf.Declaration):
		return false
	case e.Has(dwarf.LowPC) || e.Has(dwarf.Ranges):
		return true
	case e.Has(dwarf.Origin):
		return false
	}
	return !e.Has(dwarf.Inline) || e.Val[dwarf.Inline] <= inlined || e.Flag(dwarf.External)
}

// visitVariable copies a variable with an address in a section.
func (c *copier) visitVariable(off uint32) error {
	e := &c.top
	if err := c.r.Read(off, e); err != nil {
		return err
	}
	addr, ok := c.r.VariableAddress(e)
	if !ok {
		return nil
	}
	if addr, ok = variableAddress(c.file, addr); !ok {
		return nil
	}
	if err := c.entry(e, place{dwarf.Location, addr}, e.Children); err != nil {
		return err
	}
	return c.children(e)
}
