package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// This file frees what the rest of a link doesn't need, if nobody uses the objects afterwards
// (Options.Last). Huge files have so many units that their lists of items take as much memory as
// the types.

// dropTypes drops the items that aren't functions or variables from the object's units: package
// decide doesn't need these items, except in units whose types identify a variable.
func dropTypes(o *object.Object, t *resolve.Types, f *facts.Facts, jobs int) {
	strs := &o.Graph.Strs
	whole := map[types.Str]bool{} // by the names of source files
	if f != nil {
		for i := range f.Objects {
			v := &f.Objects[i]
			if !v.Local || v.Definition == (types.Hash{}) {
				continue
			}
			name := f.Files[v.File].Name
			if name == "" {
				return // the variable may be in any unit
			}
			if file, ok := strs.Lookup([]byte(name)); ok {
				whole[file] = true
			}
		}
	}
	kept := make([][]types.ID, len(t.Units))
	parallel.Do(jobs, len(t.Units), func(i int) {
		if kept[i] = t.Units[i].Items; !whole[t.Units[i].File] {
			kept[i] = candidates(kept[i], t.Kinds)
		}
	})
	dropItems(o.Units)
	for i := range t.Units {
		t.Units[i].Items = kept[i]
	}
}

// candidates returns a list of the items that are functions or variables.
func candidates(items []types.ID, kinds []types.Kind) []types.ID {
	few := make([]types.ID, 0, 256) // on the stack
	for _, id := range items {
		if k := kinds[id]; k == types.KindFunc || k == types.KindVar {
			few = append(few, id)
		}
	}
	return slices.Clone(few)
}

// forget frees what isn't needed to write the types.
func forget(o *object.Object, t *resolve.Types) {
	o.Graph.Freeze()
	dropItems(o.Units)
	dropItems(t.Units)
	t.Forget()
}

func dropItems(units []object.Unit) {
	for i := range units {
		units[i].Items = nil
	}
}
