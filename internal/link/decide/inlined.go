package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Inlined says how a FUNC that units hold, a function that was inlined somewhere, is encoded.
type Inlined struct {
	Func Type
	ID   uint32 // the FUNC in the base, or 0
	Made Type   // if the base lacks the function: the made type
}

// inlined is a FUNC that units hold, before functions are made.
type inlined struct {
	Inlined
	name  types.Str
	proto Type
	same  int // the index of an earlier FUNC in the list, with this name and prototype; or -1
}

// someNames is how many names a thread decides on before it takes more.
const someNames = 1 << 12

// DecideInlined decides which inlined functions to encode: for each name, one function for each
// prototype. No other functions are encoded, and no variables or declaration tags. The function
// find returns the FUNC of the base with a name and prototype, or 0. Several threads call it. The
// result has all FUNCs that units hold: these are the inlined functions.
// Rule: sites of inlined functions: which function they refer to. Source: pahole's branch next.
func DecideInlined(t *resolve.Candidates, find func(name []byte, proto uint32) uint32, jobs int) (
	*Decisions, []Inlined) {
	names := slices.Collect(slices.Chunk(slices.Collect(t.Held.Functions.Keys()), someNames))
	lists := make([][]inlined, len(names))
	parallel.Do(jobs, len(names), func(i int) { lists[i] = findInlined(t, names[i], find) })
	d := &decider{shapes: t.Shapes, types: t, Decisions: &Decisions{first: Type(t.Len())}}
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	all := make([]Inlined, 0, n)
	for _, list := range lists {
		for i := range list {
			switch f := &list[i]; {
			case f.ID != 0:
			case f.same >= 0:
				f.Made = list[f.same].Made
			default:
				f.Made = d.function(f.name, types.LinkageStatic, f.proto)
			}
			all = append(all, list[i].Inlined)
		}
	}
	return d.Decisions, all
}

// findInlined lists the FUNCs of inlined functions with these names, and finds those in the base.
func findInlined(t *resolve.Candidates, names []types.Str,
	find func(name []byte, proto uint32) uint32) (list []inlined) {
	var group []Holder
	first := map[Type]int{} // by prototype: the index in list of the first such FUNC with the name
	for _, name := range names {
		group = t.Holders(types.KindFunc, name, group[:0])
		clear(first)
		for _, h := range group {
			f := inlined{Inlined: Inlined{Func: h.Type}, name: name, proto: h.Ref, same: -1}
			if same, ok := first[h.Ref]; ok {
				f.same, f.ID = same, list[same].ID
			} else {
				if proto := t.BaseID(h.Ref); proto != 0 {
					f.ID = find(t.Shapes.Graph.Strs.Bytes(name), proto)
				}
				if len(group) > 1 {
					first[h.Ref] = len(list)
				}
			}
			list = append(list, f)
		}
	}
	return list
}
