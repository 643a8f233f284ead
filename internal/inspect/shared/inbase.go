package shared

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// inBase reports for each content whether the base has an equal type, with all that it leads to. In
// modules that the link made, none is.
func (c *contents) inBase() []bool {
	g := graph{labels: map[types.Hash]uint32{}, first: []uint32{0}}
	g.add(types.Hash{}) // void
	end := c.base.EndID()
	for _, b := range object.Chain(c.base) {
		name := func(off uint32) types.Hash { return types.HashString([]byte(nameOf(b, off))) }
		for i := range b.Types {
			t := &b.Types[i]
			for ref := range b.Refs(t) {
				g.refs = append(g.refs, min(*ref, end))
			}
			g.add(object.HashRecord(b, t, name, noRef))
		}
	}
	name := func(n uint32) types.Hash { return types.HashString(c.g.Strs.Bytes(types.Str(n))) }
	g.add(types.Hash{A: 1}) // no content, and ids of the base that don't exist
	for _, i := range c.first[1:] {
		t := &c.shapes.Types[c.held.shape[i]]
		own := c.refs(i)
		for ref := range c.shapes.Refs(t) {
			if to := *ref; to < end {
				g.refs = append(g.refs, to)
			} else {
				g.refs = append(g.refs, end+c.of[own[0]])
				own = own[1:]
			}
		}
		g.add(object.HashRecord(&c.shapes.Blob, t, name, noRef))
	}
	class, count := refine.Classes(g.label, g.first, g.refs)
	has := make([]bool, count)
	for id := range end {
		has[class[id]] = true
	}
	in := make([]bool, len(c.first))
	for content := 1; content < len(in); content++ {
		in[content] = has[class[end+uint32(content)]]
	}
	return in
}

// graph has nodes for refine.Classes: types whose records differ only in references have one label.
type graph struct {
	labels             map[types.Hash]uint32
	label, first, refs []uint32
}

// add adds a node whose references are in refs already.
func (g *graph) add(record types.Hash) {
	l, ok := g.labels[record]
	if !ok {
		l = uint32(len(g.labels))
		g.labels[record] = l
	}
	g.label, g.first = append(g.label, l), append(g.first, uint32(len(g.refs)))
}

func noRef(uint32) types.Hash { return types.Hash{} }

func nameOf(b *btf.Blob, off uint32) string {
	if off == 0 {
		return ""
	}
	s, _ := b.Name(off)
	return s
}
