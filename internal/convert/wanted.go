package convert

import "github.com/rules-btf/rules_btf/internal/model/types"

// wanted are elements whose names and types are needed in the graph. They are looked up together,
// because the loads from memory then overlap.
type wanted struct {
	elems   []*elem
	entries []*entry // of the elements' types
	hashes  []types.Hash
	names   []types.Str
	ids     []types.ID
}

func (w *wanted) add(elems []elem) {
	for i := range elems {
		w.elems = append(w.elems, &elems[i])
	}
}

// find notes which of the wanted names and types the locked graph has.
func (w *wanted) find(g *types.Graph) {
	w.hashes = w.hashes[:0]
	for _, e := range w.elems {
		w.hashes = append(w.hashes, e.name.hash)
	}
	w.names = g.Strs.LookupAll(w.hashes, w.names[:0])
	w.hashes, w.entries = w.hashes[:0], w.entries[:0]
	for i, e := range w.elems {
		e.str = w.names[i]
		if t := e.ref.known(); t != nil && t.state == entryHashed {
			w.hashes, w.entries = append(w.hashes, t.hash), append(w.entries, t)
		}
	}
	w.ids = g.FindAll(w.hashes, w.ids[:0])
	for i, id := range w.ids {
		if id != 0 {
			w.entries[i].id, w.entries[i].state = id, entryAdded
		}
	}
	w.elems = w.elems[:0]
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
