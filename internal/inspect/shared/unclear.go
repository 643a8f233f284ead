package shared

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// findUnclear finds the contents that lead to a tag of which it is not clear what some module
// means by it:
//
//   - a module only declares it, and there are several definitions, or
//   - the base declares it, the module takes that declaration, and another module defines it.
//
// In a base, types that lead to such a tag would also be taken by a module that has them with
// another definition: a declaration in a base matches any (package resolve). And a module that only
// declares the tag would mean the base's definition.
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

// opaque tells which types of the base declare a tag that a module defines, or lead to such a
// declaration without a tag in between.
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
				hash := types.HashStub(tagOf(t), types.HashString([]byte(nameOf(b, t.NameOff))))
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

// refersTo reports whether a type of b refers to one of those that are set.
func refersTo(b *btf.Blob, t *btf.Type, is []bool) bool {
	for ref := range b.Refs(t) {
		if *ref < uint32(len(is)) && is[*ref] {
			return true
		}
	}
	return false
}
