package shared

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// findUnclear finds the contents that lead to a tag whose meaning is unclear in some module:
//
//   - the module only declares it, and there are several definitions, or
//   - the base declares it, the module uses that declaration, and another module defines it.
//
// The shared base must not have types that lead to such a tag, for two reasons. A declaration in a
// base matches any definition (package resolve), so these types would also match the types of
// modules that define the tag differently. And in modules that only declare the tag, the tag would
// get the shared base's definition.
// Rule: shared base: what it leaves out.
func (c *contents) findUnclear() {
	declared := make([]bool, len(c.shapes.hashes)) // by stub
	for _, i := range c.first[1:] {
		if c.isStub(i) && c.apart(i) {
			declared[c.held.shape[i]] = true
		}
	}
	c.unclear = make([]bool, len(c.first))
	opaque, users := c.opaque(), newUsers(len(c.first))
	for n, i := range c.first[1:] {
		content, shape := uint32(n+1), c.held.shape[i]
		for _, r := range c.refs(i) {
			users.add(content, c.of[r])
		}
		c.unclear[content] = declared[c.shapes.stub[shape]] ||
			refersTo(&c.shapes.Blob, &c.shapes.Types[shape], opaque)
	}
	users.spread(c.unclear)
}

// opaque finds two groups of types in the base: declarations of a tag that a module defines, and
// types that lead to such a declaration without another tag in between.
func (c *contents) opaque() []bool {
	defined := make([]bool, len(c.shapes.hashes)) // by stub
	for shape, stub := range c.shapes.stub {
		if stub != 0 && stub != uint32(shape) {
			defined[stub] = true
		}
	}
	end := c.base.EndID()
	is, users := make([]bool, end), newUsers(int(end))
	for _, b := range object.Chain(c.base) {
		for i := range b.Types {
			t, id := &b.Types[i], b.StartID+uint32(i)
			switch {
			case declares(t):
				hash := types.HashStub(tagOf(t), types.HashString([]byte(b.TypeName(t))))
				is[id] = defined[c.shapes.index[hash]]
			case tagOf(t) == 0:
				for ref := range b.Refs(t) {
					if *ref < end {
						users.add(id, *ref)
					}
				}
			}
		}
	}
	users.spread(is)
	return is
}

// refersTo reports whether a type of b refers to a marked id.
func refersTo(b *btf.Blob, t *btf.Type, is []bool) bool {
	for ref := range b.Refs(t) {
		if *ref < uint32(len(is)) && is[*ref] {
			return true
		}
	}
	return false
}

// chooseShared decides which contents are shared: a content is shared if it is held by two or
// more modules and not unclear, or if another shared content refers to it.
// Rule: shared base: what it holds.
func (c *contents) chooseShared() []bool {
	chosen := make([]bool, len(c.first))
	var work []uint32
	add := func(content uint32) {
		if content != 0 && !chosen[content] {
			chosen[content] = true
			work = append(work, content)
		}
	}
	for content, n := range c.modules {
		if n > 1 && !c.unclear[content] {
			add(uint32(content))
		}
	}
	for i := 0; i < len(work); i++ {
		for _, r := range c.refs(c.first[work[i]]) {
			add(c.of[r])
		}
	}
	return chosen
}
