package dwarf

// Children passes over the children of an entry, in their order:
//
//	kids := r.Children(e, &c)
//	for kids.Next() {
//		… c is the next child …
//	}
//	if err := kids.Err(); err != nil {
//
// What the children enclose themselves is passed over.
type Children struct {
	r    *Reader
	into *DIE
	next uint32 // 0: there are no more
	err  error
}

// Children returns an iterator over the children of e, which it decodes into c, one after the
// other. Between two calls of Next c may be changed, and e too.
func (r *Reader) Children(e, c *DIE) Children {
	if !e.Children {
		return Children{}
	}
	return Children{r: r, into: c, next: e.Next}
}

// Next decodes the next child. It returns false at the end of the list, or after an error.
func (k *Children) Next() bool {
	if k.next == 0 {
		return false
	}
	c := k.into
	if k.err = k.r.Read(k.next, c); k.err == nil && !c.Null {
		k.next, k.err = k.r.AfterChildren(c)
	}
	if k.err != nil || c.Null {
		k.next = 0
		return false
	}
	return true
}

// Err is the error that ended the iteration, if one did.
func (k *Children) Err() error { return k.err }
