package convert

import (
	"slices"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/pin"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// pins is the part of a file's state that only units with several definitions of a tag need.
type pins struct {
	mu   sync.Mutex
	kept *pinReader // to be reused for the next such unit, or nil

	budgetMu sync.Mutex
	budget   int // what is left of the budget, as package refine counts it
}

// These constants make up the budget for the pins of a file: a minimum, and an amount per byte of
// units. A kernel whose BTF has several versions of a thousand types needs about a million.
const (
	pinFloor   = 1 << 24
	pinPerByte = 32
)

func newPins(d *dwarf.Data) *pins {
	return &pins{budget: d.Share(pinFloor + pinPerByte*int(d.Size()))}
}

// pinReader reads units again, into its own graph. There, every reference to a tag names the entry
// that defines the tag. The importer then adds the types to the store's graph, with only the pins
// that are needed to distinguish definitions.
type pinReader struct {
	*converter
	importer *pin.Importer
	to       *store
	budget   int // what the importer may use
}

func (c *converter) newPinReader() *pinReader {
	p := &pinReader{converter: newConverter(c.in, nil), to: c.store}
	p.pinned, p.single, p.repeats = true, c.single, repeatNone
	size := int(c.main.r.Unit.Len)
	p.current.nodes = 2 * roomFor(size) // pins make types different
	p.store = &store{obj: newObject(c.in.d, c.in.opt, p.current.nodes), size: size}
	p.store.g = p.store.obj.Graph
	p.importer = pin.NewImporter(c.store.g, p.store.g, &p.budget)
	return p
}

// readPinned reads unit h again with pins, because h defines a tag in several ways. A unit that is
// imported is read once for all importers in which its references lead to the same definitions.
// The units of a group share a pinReader, too.
// Rule: several definitions of a tag in one unit. Source: libbpf keeps their ids.
func (c *converter) readPinned(h *dwarf.Unit, file string) error {
	var p *pinReader
	g := &c.neighbours.group
	keep := c.main.r.RefersOut() && c.main.r.D == c.in.d // the files of split units will be closed
	switch {
	case g.first != nil:
		p = g.pins
	case keep:
		c.in.pins.mu.Lock()
		defer c.in.pins.mu.Unlock()
		p, c.in.pins.kept = c.in.pins.kept, nil
	}
	if p == nil || p.to != c.store {
		p = c.newPinReader()
	}
	if err := p.read(c, h, file); err != nil {
		return err
	}
	c.store.mu.Lock()
	err := p.importer.Add()
	c.store.mu.Unlock()
	if err != nil {
		return c.main.r.Errorf(c.main.r.Root.Off, "%v", err)
	}
	c.begin(file)
	if c.sites != nil {
		c.takeSites(p)
	}
	for _, id := range p.current.items {
		c.current.add(item{id: p.importer.ID(id)}) // add drops duplicates
	}
	// up to this limit, the units' own nodes take about as much memory as the imported units' nodes
	switch {
	case g.first != nil:
		g.pins = p
	case keep && len(p.store.g.Nodes) < 2*p.current.foreignNodes+maxKeptNodes:
		c.in.pins.kept = p
	}
	return nil
}

// read reads unit h, which c has loaded, and finds the definitions to which h's references lead.
func (p *pinReader) read(c *converter, h *dwarf.Unit, file string) error {
	p.enterGroup(h)
	p.main = c.main
	p.main.c = p.converter
	if c.sites != nil {
		p.sites.all, p.sites.places = c.sites.all, c.sites.places
	}
	p.main.number = p.neighbours.number(h)
	p.main.forget()
	err := p.converter.read(file)
	p.main.forget()
	c.main.c = c
	if err != nil {
		return err
	}
	var definitions []types.ID
	for _, id := range p.current.items {
		if p.store.g.Node(id).IsDefinition() {
			definitions = append(definitions, id)
		}
	}
	if err := c.main.r.Take(len(p.current.items)); err != nil {
		return err
	}
	items := p.current.items
	if p.sites != nil {
		items = slices.Concat(items, p.sites.ids)
	}
	err = c.in.pins.spend(&p.budget, func() error {
		return p.importer.Settle(items, p.current.fromImports, [][]types.ID{definitions})
	})
	if err != nil {
		return c.main.r.Spent(c.main.r.Root.Off, "%v", err)
	}
	return nil
}

// spend sets *left to the rest of the budget and calls run; then it charges the budget for what run
// took from *left. This limits the total even if units are read at the same time.
func (p *pins) spend(left *int, run func() error) error {
	p.budgetMu.Lock()
	*left = p.budget
	p.budgetMu.Unlock()
	before := *left
	err := run()
	p.budgetMu.Lock()
	defer p.budgetMu.Unlock()
	if p.budget -= before - *left; err == nil && p.budget < 0 {
		return refine.ErrBudget
	}
	return err
}

// maxKeptNodes is how many nodes a pinReader may have for units that don't import each other, if it
// is kept for the next unit or group.
const maxKeptNodes = 1 << 12

// provisional returns the pin of references to the entry at offset off.
func (u *unit) provisional(off uint32) types.Hash {
	return pin.Provisional(uint64(u.number)<<32|uint64(off), 0)
}
