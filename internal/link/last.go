package link

import (
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// This file frees what the rest of a link doesn't need, if nobody uses the objects afterwards
// (Options.Last). Huge files have so many units that their lists of items take as much memory as
// the types.

// dropTypes drops the items of the object's units: package decide needs only the candidates among
// them, which the survey lists, except in units whose types identify a variable.
// Rule: memory: what the link frees early.
func dropTypes(o *object.Object, t *resolve.Types, f *facts.Facts) {
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
	dropItems(o.Units, whole)
	dropItems(t.Units, whole)
}

// forget frees what isn't needed to write the types.
func forget(o *object.Object, t *resolve.Types) {
	o.Graph.Freeze()
	dropItems(o.Units, nil)
	dropItems(t.Units, nil)
	t.Forget()
}

// dropItems drops the items of units, except those with the given source files.
func dropItems(units []object.Unit, except map[types.Str]bool) {
	for i := range units {
		if !except[units[i].File] {
			units[i].Items = nil
		}
	}
}
