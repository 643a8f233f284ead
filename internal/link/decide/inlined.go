package decide

import (
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Inlined is a function that was inlined somewhere.
type Inlined struct {
	ID   uint32 // the FUNC in the base, or 0
	Made Type   // if the base lacks the function: the made type
}

// DecideInlined decides which inlined functions to encode: for each name, one function for each
// prototype. No other functions are encoded, and no variables or declaration tags. The parameter
// find returns the FUNC of the base with a name and prototype, or 0. The result maps each FUNC that
// units hold to the function.
func DecideInlined(t *resolve.Types, find func(name []byte, proto uint32) uint32) (*Decisions,
	map[Type]Inlined) {
	d := &decider{Types: t, Decisions: &Decisions{first: Type(t.Len())}}
	all := map[Type]Inlined{}
	ofProto := map[Type]Inlined{}
	for name := range d.Functions.Keys() {
		clear(ofProto)
		for _, h := range d.holders(types.KindFunc, name) {
			if flags(&h)&types.FuncInlined == 0 {
				continue
			}
			f, ok := ofProto[h.Ref]
			if !ok {
				if proto := d.BaseID(h.Ref); proto != 0 {
					f.ID = find(d.Graph.Strs.Bytes(name), proto)
				}
				if f.ID == 0 {
					f.Made = d.function(name, types.LinkageStatic, h.Ref)
				}
				ofProto[h.Ref] = f
			}
			all[h.Type] = f
		}
	}
	return d.Decisions, all
}
