package shared

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Write returns split BTF, based on the modules' base, with the types that two or more modules hold
// and the types that these refer to. It has no functions, variables, sections or declaration tags.
// Its types are in canonical order, which doesn't depend on the order of the modules.
func (s *Set) Write(below base.Base, jobs int) ([]byte, error) {
	c := s.findContents(s.findTags(below))
	blob := c.blob(c.chooseShared())
	o, err := object.FromBTF(object.Target{}, blob)
	if err != nil {
		return nil, err
	}
	result, err := link.Link([]*object.Object{o}, link.Options{Base: below, Jobs: jobs})
	if err != nil {
		return nil, err
	}
	return result.BTF, nil
}

// blob makes split BTF from the chosen contents. The order of its types doesn't matter.
func (c *contents) blob(chosen []bool) *btf.Blob {
	w := btf.NewBuilder(c.base.Order, c.base, nil)
	ids := make([]uint32, len(c.first))
	next := w.NextID()
	for content, is := range chosen {
		if is {
			ids[content] = next
			next++
		}
	}
	name := func(n uint32) uint32 { return w.Name(c.g.Strs.String(types.Str(n))) }
	for content, is := range chosen {
		if !is {
			continue
		}
		i := c.first[content]
		own := c.refs(i)
		ref := func(id uint32) uint32 {
			if id < c.base.EndID() {
				return id
			}
			content := c.of[own[0]]
			own = own[1:]
			return ids[content]
		}
		w.Blob.Copy(&c.shapes.Blob, &c.shapes.Types[c.held.shape[i]], name, ref)
	}
	return w.Finish()
}
