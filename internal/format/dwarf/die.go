package dwarf

import (
	std "debug/dwarf"
	"iter"
	"slices"
)

// DIE is one debugging information entry, decoded.
type DIE struct {
	Off      uint32 // offset of the entry
	Next     uint32 // offset after the entry's attributes
	Tag      std.Tag
	Children bool
	Null     bool // the entry ends a list of siblings
	mask     uint64
	Val      [numAttrs]uint64
	Class    [numAttrs]Class
}

// Has reports whether the attribute is present.
func (e *DIE) Has(s Attr) bool { return e.mask>>s&1 != 0 }

// Flag reports whether the attribute is present and not zero.
func (e *DIE) Flag(s Attr) bool { return e.Has(s) && e.Val[s] != 0 }

// IsBlock reports whether the attribute is present and a block or an expression.
func (e *DIE) IsBlock(s Attr) bool { return e.Has(s) && e.Class[s] == ClassBlock }

// Constant reports whether the attribute is present and a constant. Sizes and bounds may also be
// expressions or references; and in DWARF 2 and 3, list offsets use the same forms as constants.
func (e *DIE) Constant(s Attr) bool { return e.Has(s) && e.Class[s] == ClassConst }

// Value is the value of an attribute. The zero value means that the attribute is absent.
type Value struct {
	Val   uint64
	Class Class
}

// Value returns the value of attribute s.
func (e *DIE) Value(s Attr) Value {
	if !e.Has(s) {
		return Value{}
	}
	return Value{e.Val[s], e.Class[s]}
}

// Children reads the children of e into c, one after another: those with one of the tags, or all
// if no tags are given. Deeper and other entries are skipped, without decoding them. An error ends
// the iteration. The loop body may change c.
//
//	for err := range r.Children(e, &c, std.TagMember) {
//		if err != nil {
//			return err
//		}
//		… c is the next member …
//	}
func (r *Reader) Children(e, c *DIE, tags ...std.Tag) iter.Seq[error] {
	next, more := e.Next, e.Children
	return func(yield func(error) bool) {
		for more {
			a, pos, err := r.entry(next)
			if a == nil && err == nil {
				return
			}
			wanted := a != nil && (len(tags) == 0 || slices.Contains(tags, a.Tag))
			switch {
			case err != nil:
			case wanted:
				if err = r.decode(next, a, pos, c); err == nil {
					next, err = r.afterDIE(c)
				}
			default:
				var e Head
				if e, err = r.head(next, a, pos); err == nil {
					next, err = r.After(e)
				}
			}
			if err != nil {
				yield(err)
				return
			}
			if wanted {
				more = yield(nil)
			}
		}
	}
}
