package convert

import "github.com/rules-btf/rules_btf/internal/model/types"

// wanted are elements whose names and types are needed in the graph. They are looked up together,
// because the loads from memory then overlap.
type wanted struct {
	lists  [][]elem
	hashes []types.Hash
	names  []types.Str
	ids    []types.ID
}

func (w *wanted) add(elems []elem) { w.lists = append(w.lists, elems) }

// find notes which of the wanted names and types the locked graph has.
func (w *wanted) find(g *types.Graph) {
	w.findNames(g)
	w.findTypes(g)
	w.lists = w.lists[:0]
}

func (w *wanted) findNames(g *types.Graph) {
	w.hashes = w.hashes[:0]
	for _, elems := range w.lists {
		for i := range elems {
			w.hashes = append(w.hashes, elems[i].name.hash)
		}
	}
	w.names = g.Strs.LookupAll(w.hashes, w.names[:0])
	names := w.names
	for _, elems := range w.lists {
		for i := range elems {
			elems[i].str = names[i]
		}
		names = names[len(elems):]
	}
}

func (w *wanted) findTypes(g *types.Graph) {
	w.hashes = w.hashes[:0]
	for _, elems := range w.lists {
		for i := range elems {
			h := types.Hash{}
			if t := elems[i].ref.known(); t != nil && t.state == entryHashed {
				h = t.hash
			}
			w.hashes = append(w.hashes, h)
		}
	}
	w.ids = g.FindAll(w.hashes, w.ids[:0])
	ids := w.ids
	for _, elems := range w.lists {
		for i := range elems {
			if ids[i] != 0 {
				t := elems[i].ref.known()
				t.id, t.state = ids[i], entryAdded
			}
		}
		ids = ids[len(elems):]
	}
}

// known returns what the memo has about t, or nil.
func (t typeRef) known() *entry {
	if t.u != nil {
		if i, has := t.u.memo.get(t.off); has {
			return &t.u.memo.entries[i]
		}
	}
	return nil
}
