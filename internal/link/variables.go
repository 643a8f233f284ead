package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Which says which variables are encoded. See package decide.
type Which = decide.Which

// The choices of variables.
const (
	PerCPU = decide.PerCPU
	All    = decide.All
	Extra  = decide.Extra
)

// withoutGlobals makes the options those of objects and facts that were made without global_var.
func (opt *Options) withoutGlobals() {
	opt.Features = opt.Variables.Features(opt.Features)
	if opt.Facts != nil {
		opt.Facts = opt.Facts.PerCPU()
	}
}

// withoutGlobals returns the units as they are in objects that were made without global_var. The
// units given stay as they are.
func withoutGlobals(g *types.Graph, units []object.Unit) []object.Unit {
	drop := make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		switch n := &g.Nodes[i]; n.Kind {
		case types.KindVar:
			drop[i] = n.Flag
		case types.KindDeclTag:
			drop[i] = drop[n.Ref] // children come first
		}
	}
	units = slices.Clone(units)
	for i := range units {
		u := &units[i]
		if u.FromBTF {
			continue
		}
		u.Items = slices.DeleteFunc(slices.Clone(u.Items), func(id types.ID) bool { return drop[id] })
	}
	return units
}
