package object

import (
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// filler adds a whole file to an empty set. Because the file's types and names are known to be
// different, it looks nothing up: each type and name has its place in the graph, and several
// threads fill these places. Nodes are in the order of their depths, so that they come after the
// nodes to which they refer.
type filler struct {
	*absorber
	stubs []types.ID // by type id, for types with a tag: the stub of that tag, 0 if nothing needs it
	nodes []types.Node
	elems []types.Elem
}

// fill adds the units of s, and all types of the file. If the names aren't sorted, it adds nothing,
// and ok is false.
func (a *absorber) fill(s *unitsSection) (ok bool, err error) {
	f := filler{absorber: a, stubs: make([]types.ID, len(a.shapes))}
	f.number()
	const some = 1 << 11
	parallel.Do(a.jobs, (len(a.shapes)+some-1)/some, func(part int) {
		for id := max(1, part*some); id < min((part+1)*some, len(a.shapes)); id++ {
			f.put(uint32(id))
		}
	})
	g := types.Assemble(f.nodes, f.elems, a.text, a.names,
		func(steps ...func()) { parallel.All(a.jobs, steps...) })
	if g == nil {
		for id := range a.shapes {
			a.shapes[id].id = 0
		}
		return false, nil
	}
	a.set.g, a.names = g, nil
	return true, a.addUnits(s)
}

// addUnits adds the units of s, whose types are in the graph.
func (a *absorber) addUnits(s *unitsSection) error {
	units, hashes := make([]Unit, len(s.units)), make([]types.Hash, len(s.units))
	for i := range s.units {
		units[i].File = a.set.g.Strs.Intern([]byte(s.units[i].file))
	}
	const some = 1 << 4
	parallel.Do(a.jobs, (len(units)+some-1)/some, func(part int) {
		for i := part * some; i < min((part+1)*some, len(units)); i++ {
			s.expand(i, &units[i], func(id uint32) types.ID { return a.shapes[id].id })
			hashes[i] = unitHash(a.set.g, &units[i])
		}
	})
	for i, u := range units {
		if _, err := a.set.addHashed(u, hashes[i]); err != nil {
			return err
		}
	}
	return nil
}

// number gives the stubs, and then the types, their nodes. It also gives the types their elements.
func (f *filler) number() {
	var owners []uint32 // the first type of each tag that has a stub
	f.eachTag(func(same []uint32) {
		owners = append(owners, same[0])
		for _, id := range same {
			f.stubs[id] = types.ID(len(owners))
		}
	})
	var nodes, elems [types.MaxDepth + 4]uint32 // by depth: how many there are; then, the next one
	each := func(do func(s *shape, elements uint32)) {
		for id := 1; id < len(f.shapes); id++ {
			if s := &f.shapes[id]; !s.fwd {
				do(s, Elements(&f.blob.Types[id-1]))
			}
		}
	}
	each(func(s *shape, elements uint32) {
		nodes[s.depth]++
		elems[s.depth] += elements
	})
	nextNode, nextElem := uint32(1+len(owners)), uint32(0)
	for depth := range nodes {
		nextNode, nodes[depth] = nextNode+nodes[depth], nextNode
		nextElem, elems[depth] = nextElem+elems[depth], nextElem
	}
	f.nodes, f.elems = make([]types.Node, nextNode), make([]types.Elem, nextElem)
	for i, id := range owners {
		s := &f.shapes[id]
		f.nodes[i+1] = types.Node{Kind: types.KindStub, Aux: uint32(s.tag), Hash: s.stub,
			Name: types.Str(f.ordinal[f.blob.Types[id-1].NameOff])}
	}
	each(func(s *shape, elements uint32) {
		s.id = types.ID(nodes[s.depth])
		f.nodes[s.id].First = elems[s.depth]
		nodes[s.depth]++
		elems[s.depth] += elements
	})
}

// eachTag calls do for each tag whose stub is needed, with the ids of all its declarations and
// definitions. These are among the types with the same name, which are neighbours.
func (f *filler) eachTag(do func(same []uint32)) {
	var same [types.TagEnum + 1][]uint32
	var needed [types.TagEnum + 1]bool
	flush := func() {
		for tag := range same {
			if needed[tag] {
				do(same[tag])
			}
			same[tag], needed[tag] = same[tag][:0], false
		}
	}
	for id := 1; id < len(f.shapes); id++ {
		if id > 1 && f.blob.Types[id-1].NameOff != f.blob.Types[id-2].NameOff {
			flush()
		}
		if s := &f.shapes[id]; s.tag != 0 {
			same[s.tag] = append(same[s.tag], uint32(id))
			needed[s.tag] = needed[s.tag] || s.fwd || f.crossed[id] != 0
		}
	}
	flush()
}

// put fills the node and the elements of a type.
func (f *filler) put(id uint32) {
	t, s := &f.blob.Types[id-1], &f.shapes[id]
	if s.fwd {
		s.id = f.stubs[id]
		return
	}
	ref := func(child uint32) types.ID {
		if c := &f.shapes[child]; !c.crosses(t.Kind) {
			return c.id
		}
		return f.stubs[child]
	}
	size, aux, to := Head(&f.blob, t)
	n := &f.nodes[s.id]
	n.Hash, n.Kind, n.Flag, n.Depth = s.hash, types.Kind(t.Kind), t.KFlag, s.depth
	n.Name, n.Size, n.Aux = types.Str(f.ordinal[t.NameOff]), size+f.sizes[id], aux
	n.Ref, n.Count = ref(to), Elements(t)
	for i := range n.Count {
		nameOff, child, val := Element(&f.blob, t, i)
		f.elems[n.First+i] = types.Elem{Name: types.Str(f.ordinal[nameOff]), Ref: ref(child), Val: val}
	}
}
