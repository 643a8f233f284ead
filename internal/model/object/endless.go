package object

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Endless returns a definition that contains itself by value: as a member, or through arrays,
// typedefs and other structs, but not through a pointer. The result unit is the index of the first
// unit with such a definition. If the unit has several, def is the first one by kind and name. If
// no unit has one, def is 0.
//
// Pinned stubs of units from BTF aren't followed: such a stub may resolve to a definition of the
// base, and within that definition, tags have different definitions from those in the unit.
// endlessIn checks these stubs.
//
// In most graphs, no tag can contain itself, whichever definitions the stubs resolve to. To see
// that, it is enough to look at each shape once. Otherwise each unit is checked, within a budget
// that grows with the object.
//
// In one process, the conversion and the link check the same object. The second check ends early if
// the object hasn't grown.
// Rule: types that contain themselves by value. Each stage that makes BTF checks it. Source: kernel
// btf_resolve.
func (o *Object) Endless() (def types.ID, unit int, err error) {
	size := [2]int{len(o.Units), len(o.Graph.Nodes)}
	if o.finite == size {
		return 0, 0, nil
	}
	if def, unit, err = o.findEndless(); def == 0 && err == nil {
		o.finite = size
	}
	return def, unit, err
}

func (o *Object) findEndless() (def types.ID, unit int, err error) {
	h := newHolding(o.Graph)
	all := h.cycles(true, h.defined)
	if len(all) == 0 {
		return 0, 0, nil
	}
	h.limit(all)
	budget := 1<<20 + 16*(len(o.Graph.Nodes)+len(o.Graph.Elems))
	for i := range o.Units {
		budget += len(o.Units[i].Items)
	}
	seen := map[types.Hash]bool{} // sets of definitions that were checked
	for i := range o.Units {
		here := map[types.TagName][]int32{}
		var set types.Hash
		for _, id := range o.Units[i].Items {
			if n := o.Graph.Node(id); h.at[id] != 0 && n.IsDefinition() {
				here[n.TagName()] = append(here[n.TagName()], h.at[id]-1)
				set = set.Plus(n.Hash)
			}
		}
		if seen[set] {
			continue
		}
		seen[set] = true
		if budget -= h.size; budget < 0 {
			return 0, 0, errors.New("too many definitions of structs that contain each other by value")
		}
		found := h.cycles(!o.Units[i].FromBTF, func(stub *types.Node, buf []int32) []int32 {
			return append(buf, here[stub.TagName()]...)
		})
		found = slices.DeleteFunc(found, func(id types.ID) bool {
			n := o.Graph.Node(id)
			return n.Name == 0 || n.Kind == types.KindStub
		})
		if len(found) > 0 {
			return slices.MinFunc(found, func(a, b types.ID) int {
				x, y := o.Graph.Node(a), o.Graph.Node(b)
				return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(o.Graph.Name(x),
					o.Graph.Name(y)), x.Hash.Cmp(y.Hash))
			}), i, nil
		}
	}
	return 0, 0, nil
}

// CheckFinite returns an error if Endless finds a definition.
func (o *Object) CheckFinite() error {
	def, unit, err := o.Endless()
	if err != nil || def == 0 {
		return err
	}
	return fmt.Errorf("type %s in %q contains itself by value"+message.Rebuild,
		o.Graph.Name(o.Graph.Node(def)), o.Graph.Strs.String(o.Units[unit].File))
}

// endlessIn returns an error if a type of BTF contains itself by value. If several do, the error
// names the first one by kind and name.
func endlessIn(b *btf.Blob) error {
	holders, at := holdersIn(b)
	var on []uint32
	refine.Components(len(holders), func(place int32, buf []int32) []int32 {
		id := holders[place]
		t, of := b.ByID(id)
		to := func(ref uint32) {
			if ref == id {
				on = append(on, ref)
			}
			if ref < uint32(len(at)) && at[ref] != 0 {
				buf = append(buf, at[ref]-1)
			}
		}
		switch {
		case t.Kind.IsComposite():
			for _, m := range of.MembersOf(t) {
				to(m.Type)
			}
		case t.Kind == btf.KindArray:
			to(of.ArrayOf(t).Elem)
		default:
			to(t.SizeOrType)
		}
		return buf
	}, func(component []int32) {
		for _, place := range component {
			if len(component) > 1 {
				on = append(on, holders[place])
			}
		}
	})
	on = slices.DeleteFunc(on, func(id uint32) bool { t, _ := b.ByID(id); return t.NameOff == 0 })
	if len(on) == 0 {
		return nil
	}
	name := func(id uint32) (btf.Kind, string) {
		t, of := b.ByID(id)
		return t.Kind, of.TypeName(t)
	}
	id := slices.MinFunc(on, func(x, y uint32) int {
		xKind, xName := name(x)
		yKind, yName := name(y)
		return cmp.Or(cmp.Compare(xKind, yKind), cmp.Compare(xName, yName), cmp.Compare(x, y))
	})
	_, what := name(id)
	return fmt.Errorf("type [%d] %s contains itself by value"+message.Rebuild, id, what)
}

// holdersIn returns the ids of the types that hold others by value (holders). The result at has,
// for each id, its index in holders + 1, or 0 if it isn't there.
func holdersIn(b *btf.Blob) (holders []uint32, at []int32) {
	at = make([]int32, b.EndID())
	for ; b != nil; b = b.Base {
		for i := range b.Types {
			if k := b.Types[i].Kind; k.IsComposite() || k == btf.KindArray || k.IsModifier() {
				id := b.StartID + uint32(i)
				holders = append(holders, id)
				at[id] = int32(len(holders))
			}
		}
	}
	return holders, at
}

// holding is a graph of the shapes that contain others by value.
type holding struct {
	g      *types.Graph
	nodes  []types.ID // shapes that contain a struct or union tag, and the stubs of these tags
	at     []int32    // by node: its place in nodes + 1, 0 for none
	last   []int32    // by name: the place + 1 of its last definition in nodes
	before []int32    // by place: the place + 1 of the previous definition of the same name
	size   int        // number of nodes and elements
}

func newHolding(g *types.Graph) *holding {
	room := len(g.Nodes) / 8 // a kernel needs about as much
	h := &holding{g: g, at: pages.Make[int32](len(g.Nodes)), last: pages.Make[int32](g.Strs.Len()),
		nodes: make([]types.ID, 0, room), before: make([]int32, 0, room)}
	for i := range g.Nodes {
		n, holds := &g.Nodes[i], false
		switch n.Kind {
		case types.KindStub:
			holds = n.Tag() != types.TagEnum
		case types.KindArray, types.KindTypedef, types.KindConst, types.KindVolatile,
			types.KindRestrict, types.KindTypeTag:
			holds = h.at[n.Ref] != 0
		case types.KindStruct, types.KindUnion:
			for _, e := range g.ElemsOf(n) {
				if holds = h.at[e.Ref] != 0; holds {
					break
				}
			}
		}
		if holds {
			h.add(types.ID(i))
		}
	}
	return h
}

func (h *holding) add(id types.ID) {
	n := h.g.Node(id)
	h.nodes = append(h.nodes, id)
	h.at[id] = int32(len(h.nodes))
	h.size += 1 + int(n.Count)
	h.before = append(h.before, 0)
	if n.IsDefinition() {
		h.before[len(h.nodes)-1], h.last[n.Name] = h.last[n.Name], h.at[id]
	}
}

// defined appends the places of the definitions of a stub's tag.
func (h *holding) defined(stub *types.Node, buf []int32) []int32 {
	for at := h.last[stub.Name]; at != 0; at = h.before[at-1] {
		if h.g.Node(h.nodes[at-1]).Tag() == stub.Tag() {
			buf = append(buf, at-1)
		}
	}
	return buf
}

// limit reduces h to these nodes.
func (h *holding) limit(nodes []types.ID) {
	h.nodes, h.before, h.size = nil, nil, 0
	clear(h.at)
	clear(h.last)
	for _, id := range nodes {
		h.add(id)
	}
}

// cycles returns the nodes that contain themselves. The function meant must append the places, in
// h.nodes, of the definitions to which an unpinned stub may resolve. If pinned is set, pinned stubs
// are also followed.
func (h *holding) cycles(pinned bool, meant func(stub *types.Node, buf []int32) []int32) (on []types.ID) {
	refine.Components(len(h.nodes), func(place int32, buf []int32) []int32 {
		n := h.g.Node(h.nodes[place])
		to := func(id types.ID) {
			if at := h.at[id]; at != 0 {
				buf = append(buf, at-1)
			}
		}
		switch n.Kind {
		case types.KindStruct, types.KindUnion:
			for _, e := range h.g.ElemsOf(n) {
				to(e.Ref)
			}
		case types.KindStub:
			if !n.IsPinned() {
				return meant(n, buf)
			}
			if pinned {
				to(n.Ref)
			}
		default:
			to(n.Ref)
		}
		return buf
	}, func(component []int32) {
		if len(component) > 1 {
			for _, place := range component {
				on = append(on, h.nodes[place])
			}
		}
	})
	return on
}
