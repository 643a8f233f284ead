package split

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// maxNested bounds functions in parameters of functions.
const maxNested = 64

// body is what a function was, besides what is copied.
type body struct {
	declares bool   // it holds types, functions, imports or the like
	end      uint32 // the offset after its children
}

// function copies a function: its parameters and annotations, nothing else of what is in it. In a
// part of a unit what the rest refers to is added.
func (c *copier) function(e *dwarf.DIE) (b body, err error) {
	if c.depth++; c.depth > maxNested {
		return b, c.r.Errorf(e.Off, "functions are nested more than %d deep", maxNested)
	}
	defer func() { c.depth-- }()
	var at place
	if e.Has(dwarf.LowPC) || e.Has(dwarf.Ranges) {
		addr, known := c.r.FirstAddress(e)
		if addr, err = c.functions.add(c.file, addr, known); err != nil {
			return b, err
		}
		at = place{dwarf.LowPC, addr}
	}
	f, err := c.r.Function(e)
	if err != nil {
		return b, err
	}
	b = body{f.Declares, f.End}
	var few [16]uint32
	children := few[:0]
	for i := range f.Parameters {
		children = append(children, f.Parameters[i].Off)
	}
	if e.Children && c.r.Annotated() {
		var note dwarf.DIE
		for err := range c.r.Children(e, &note, dwarf.TagLLVMAnnotation) {
			if err != nil {
				return b, err
			}
			children = append(children, note.Off)
		}
	}
	var more []dwarf.Value
	if c.part && e.Children {
		if more, err = c.references(e.Next, false); err != nil {
			return b, err
		}
	}
	if err := c.entry(e, at, len(children)+len(more) > 0); err != nil {
		return b, err
	}
	if len(children)+len(more) == 0 {
		return b, nil
	}
	for _, off := range children {
		if _, err := c.subtreeAt(off); err != nil {
			return b, err
		}
	}
	for _, to := range more {
		if err := c.holder(to); err != nil {
			return b, err
		}
	}
	c.info = append(c.info, 0)
	return b, nil
}

// subtreeAt copies the entry at off and what is in it. It returns the offset after that.
func (c *copier) subtreeAt(off uint32) (end uint32, err error) {
	e := &c.die
	if err := c.r.Read(off, e); err != nil {
		return 0, err
	}
	return c.subtree(e)
}

// subtree is subtreeAt for an entry that has been read into c.die.
func (c *copier) subtree(e *dwarf.DIE) (end uint32, err error) {
	if err := c.bound(&c.r, e.Off); err != nil {
		return 0, err
	}
	if e.Null {
		return 0, c.r.Errorf(e.Off, "a reference to a type leads to no entry")
	}
	for depth := 0; ; {
		off := e.Next
		switch {
		case e.Null:
			c.info = append(c.info, 0)
			depth--
		case e.Tag == std.TagSubprogram:
			b, err := c.function(e)
			if err != nil {
				return 0, err
			}
			c.enclosed = c.enclosed || b.declares
			off = b.end
		default:
			if err := c.entry(e, place{}, e.Children); err != nil {
				return 0, err
			}
			if e.Children {
				depth++
			}
		}
		if depth == 0 {
			return off, nil
		}
		if err := c.r.Read(off, e); err != nil {
			return 0, err
		}
	}
}

// children copies the children of e, which has been copied.
func (c *copier) children(e *dwarf.DIE) error {
	off := e.Next
	for e.Children {
		k, err := c.r.Peek(off)
		if err != nil {
			return err
		}
		if k.Abbrev == nil {
			c.info = append(c.info, 0)
			break
		}
		if off, err = c.subtreeAt(off); err != nil {
			return err
		}
	}
	return nil
}
