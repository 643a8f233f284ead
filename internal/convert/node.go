package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// repeats says how many of a unit's types repeat types of other units. That decides which of two
// ways is used to add a type to the graph:
//   - Hashed first: without the lock, the type's hash is found by its fingerprint, or computed from
//     its description (hash.go). If it isn't in the graph, the type is described again and added.
//   - Added immediately: the type is described and added, and the graph hashes it.
type repeats uint8

const (
	repeatMost  repeats = iota // most types repeat earlier types: hashed first, by fingerprint
	repeatLater                // this is the first unit: added now, for later units to find
	// this is the only unit, or references are pinned, so that units aren't compared: added now,
	// without fingerprints
	repeatNone
)

// node returns the graph's node for the type that t refers to, and adds missing nodes. The caller
// has locked the graph. The type must have been hashed before, unless types are added immediately.
func (t typeRef) node(depth int) (types.ID, error) {
	if t.u == nil {
		return 0, nil
	}
	u := t.u
	i := u.memo.at(t.off)
	if e := &u.memo.entries[i]; e.state == entryAdded {
		if e.uncovered {
			u.c.uncovered++
		}
		return e.id, nil
	}
	h, err := t.hash(depth)
	if err != nil {
		return 0, err
	}
	if u.memo.entries[i].state == entryAdded { // hash has added the node
		return u.memo.entries[i].id, nil
	}
	id := u.c.store.g.Find(h)
	if id == 0 && h != (types.Hash{}) {
		base := len(u.c.scratch.elems)
		d, err := u.describe(t.off)
		if err != nil {
			return 0, err
		}
		id, err = u.nodeOf(h, &d, t.off, depth)
		u.c.scratch.elems = u.c.scratch.elems[:base]
		if err != nil {
			return 0, err
		}
	}
	e := &u.memo.entries[i]
	e.id, e.state = id, entryAdded
	return id, nil
}

// addAtOnce describes t, adds its node and returns the node's hash. i is t's index in the memo.
func (t typeRef) addAtOnce(i uint32, depth int) (types.Hash, error) {
	u := t.u
	u.memo.entries[i].state = entryBusy
	uncovered := u.c.uncovered
	base := len(u.c.scratch.elems)
	var id types.ID
	d, err := u.describe(t.off)
	if err == nil {
		id, err = u.nodeOf(types.Hash{}, &d, t.off, depth)
	}
	u.c.scratch.elems = u.c.scratch.elems[:base]
	e := &u.memo.entries[i]
	if err != nil {
		e.state = entryNew // as in hash
		return types.Hash{}, err
	}
	h := u.c.store.g.Node(id).Hash // zero for void
	e.hash, e.id, e.state, e.uncovered = h, id, entryAdded, u.c.uncovered != uncovered
	return h, nil
}

func (u *unit) tooDeep(off uint32) error {
	return u.r.Errorf(off, "the type nests more than %d types deep", types.MaxDepth)
}

// nodeOf returns the node for d, the description of the entry at offset off. It adds missing nodes,
// for the entry and for what it refers to. h is hashOf's result. The caller has locked the graph.
func (u *unit) nodeOf(h types.Hash, d *desc, off uint32, depth int) (types.ID, error) {
	g := u.c.store.g
	if u.c.repeats == repeatMost {
		if id := g.Find(h); id != 0 {
			return id, nil
		}
	}
	n := types.Node{Kind: d.kind, Flag: d.flag, Size: d.size, Aux: d.aux, Hash: h}
	var err error
	if d.name.class == classFakeInt {
		n.Name = g.Strs.Intern(fakeInt)
	} else if n.Name, err = u.intern(d.name); err != nil {
		return 0, err
	}
	if d.stub {
		if u.c.pinned {
			return g.PinnedStub(types.TagOf(d.kind), n.Name, u.provisional(off)), nil
		}
		return g.Stub(types.TagOf(d.kind), n.Name), nil
	}
	ref, err := d.ref.node(depth + 1)
	if err != nil || d.alias {
		return ref, err
	}
	if int(max(g.Node(ref).Depth, 1))+max(len(d.dims), len(d.tags)) > types.MaxDepth {
		return 0, u.tooDeep(off)
	}
	if d.kind == types.KindArray {
		if err := u.checkSized(off, "an array", ref); err != nil {
			return 0, err
		}
		index := intNode
		index.Name = g.Strs.Intern(intName)
		indexed := []types.Elem{{Ref: g.Add(index, nil)}}
		for i := len(d.dims) - 1; i >= 0; i-- {
			ref = g.Add(types.Node{Kind: types.KindArray, Size: d.dims[i], Ref: ref}, indexed)
		}
		return ref, nil
	}
	for i := len(d.tags) - 1; i >= 0; i-- {
		value, err := d.tags[i].u.intern(d.tags[i].name)
		if err != nil {
			return 0, err
		}
		ref = g.Add(types.Node{Kind: types.KindTypeTag, Name: value, Ref: ref}, nil)
	}
	if err := u.checkModifiers(off, d, ref); err != nil {
		return 0, err
	}
	n.Ref = ref
	base := len(u.c.scratch.built)
	id, err := u.addNode(&n, d, off, depth)
	u.c.scratch.built = u.c.scratch.built[:base]
	return id, err
}

// addNode adds node n with d's elements; d is the description of the entry at offset off. The
// elements stay in u.c.scratch.built. The caller has locked the graph.
func (u *unit) addNode(n *types.Node, d *desc, off uint32, depth int) (types.ID, error) {
	g := u.c.store.g
	base := len(u.c.scratch.built)
	for i := range d.elems {
		e := &d.elems[i]
		r, err := e.ref.node(depth + 1)
		if err == nil {
			switch {
			case d.kind == types.KindStruct || d.kind == types.KindUnion:
				err = u.checkMember(d, e, r)
			case d.kind == types.KindFuncProto && e.ref.u != nil:
				err = u.checkSized(e.die, "a parameter", r)
			}
		}
		if err != nil {
			return 0, err
		}
		s, err := u.intern(e.name)
		if err != nil {
			return 0, err
		}
		u.c.scratch.built = append(u.c.scratch.built, types.Elem{Name: s, Ref: r, Val: e.val})
	}
	elems := u.c.scratch.built[base:]
	if g.Depth(n.Ref, elems) > types.MaxDepth {
		return 0, u.tooDeep(off)
	}
	if len(elems) > btf.MaxVlen {
		return 0, u.unencodable(off, "a type with %d elements (limit: %d)", len(elems), btf.MaxVlen)
	}
	if u.c.repeats != repeatMost {
		return g.Add(*n, elems), nil
	}
	return g.AddHashed(*n, elems), nil
}
