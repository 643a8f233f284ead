package decide

import (
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// places has the units and source files of functions, for names with several candidates.
type places struct {
	units   map[types.Str][]inUnit // by name: the functions that linked units hold
	symbols map[symbolIn]bool      // the local symbols
}

type inUnit struct {
	unit int
	node types.ID
	typ  Type // of the node in the unit
}

// symbolIn is a local symbol: its name, and the base name of its source file.
type symbolIn struct{ name, file types.Str }

// placesUnits is how many units a thread looks at at a time.
const placesUnits = 1 << 6

// findPlaces finds the places of the candidates for the undecided names of the parts. It returns
// nil if there is no such name.
func (d *decider) findPlaces(parts []part, c *clones) *places {
	names, nodes := make([]bool, d.shapes.Graph.Strs.Len()), make([]bool, len(d.shapes.Nodes))
	none := true
	want := func(name types.Str) {
		names[name], none = true, false
		for f := range d.types.Held.Functions.Of(name) {
			nodes[f.Node] = true
		}
	}
	for i := range parts {
		for _, name := range parts[i].undecided {
			want(name)
			for _, clone := range c.of[name] {
				want(clone)
			}
		}
	}
	if none {
		return nil
	}
	found := make([][]inUnit, (len(d.types.Held.Units)+placesUnits-1)/placesUnits)
	parallel.Do(d.jobs, len(found), func(i int) {
		for u := i * placesUnits; u < min((i+1)*placesUnits, len(d.types.Held.Units)); u++ {
			if !d.types.Held.Selected[u] {
				continue
			}
			for id, k := range d.types.In(u) {
				if nodes[id] {
					found[i] = append(found[i], inUnit{u, id, k})
				}
			}
		}
	})
	all := &places{map[types.Str][]inUnit{}, map[symbolIn]bool{}}
	for _, list := range found {
		for _, at := range list {
			name := d.shapes.Nodes[at.node].Name
			all.units[name] = append(all.units[name], at)
		}
	}
	for i := range d.facts.Files {
		f := &d.facts.Files[i]
		file, ok := d.shapes.Graph.Strs.Lookup([]byte(f.Name))
		if !ok || f.Name == "" {
			continue
		}
		for _, s := range d.symbols.Locals(i) {
			if names[s] {
				all.symbols[symbolIn{s, file}] = true
			}
		}
	}
	return all
}
