package convert

import (
	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/pin"
	"github.com/rules-btf/rules_btf/internal/types"
)

// readPinned reads unit h, which defines a tag in several ways, once more: into a graph of its own,
// in which every reference to a tag says which entry defines it. Of these, the shared graph gets
// the pins that tell the definitions apart.
func (c *converter) readPinned(h *dwarf.Unit, file string) error {
	p := newConverter(c.input, nil)
	p.pinned, p.single = true, c.single
	p.store = &store{obj: newObject(c.d, c.opt, 0), size: int(h.Len)}
	p.g = p.obj.Graph
	p.names.reset(0) // not for long
	// it is still loaded
	p.main, p.main.c = c.main, p
	p.main.memo.reset(h.Len)
	err := p.read(file)
	c.main, c.main.c = p.main, c
	if err != nil {
		return err
	}
	var definitions []types.ID
	for _, id := range p.items {
		if p.g.Node(id).IsDefinition() {
			definitions = append(definitions, id)
		}
	}
	c.lock()
	ids, err := pin.Import(c.g, p.g, [][]types.ID{definitions})
	c.mu.Unlock()
	if err != nil {
		return c.main.r.Errorf(c.main.r.Root.Off, "%v", err)
	}
	c.begin(file)
	for _, id := range p.items {
		c.addItem(item{id: ids[id]}) // equal ones once
	}
	return nil
}

// provisional returns the pin of references to the entry at off.
func (u *unit) provisional(off uint32) types.Hash {
	return pin.Provisional(uint64(u.number)<<32|uint64(off), 0)
}
