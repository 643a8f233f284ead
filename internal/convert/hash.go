package convert

import (
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// intNode is the index type of every array: C's int, as pahole writes it. intHash is its hash.
var (
	intName = []byte("int")
	intNode = types.Node{Kind: types.KindInt, Size: 4, Aux: 1<<24 | 32}
	intHash = func() types.Hash {
		h := types.Start(types.KindInt, intNode.Size, intNode.Aux, types.HashString(intName),
			types.Hash{})
		return h.Sum(false)
	}()
)

// hash returns the content hash, as the graph computes it, of the type to which t refers. If that
// type is a struct, union or enum with a tag, the result is the hash of the tag's stub.
func (t typeRef) hash(depth int) (types.Hash, error) {
	if t.u == nil {
		return types.Hash{}, nil
	}
	u := t.u
	i := u.memo.at(t.off)
	switch u.memo.entries[i].state {
	case entryHashed, entryAdded:
		if u.memo.entries[i].uncovered {
			u.c.uncovered++
		}
		return u.memo.entries[i].hash, nil
	case entryBusy:
		return types.Hash{}, u.r.Damaged(t.off,
			"the type refers to itself without a tagged struct or union in between")
	}
	if depth > types.MaxDepth {
		return types.Hash{}, u.tooDeep(t.off)
	}
	if u.c.repeats != repeatMost {
		return t.addAtOnce(i, depth)
	}
	fp, err := u.prints.Type(t.off)
	if err != nil {
		return types.Hash{}, err
	}
	if h := u.c.store.byPrint.hashes.get(fp); h != nil {
		u.memo.entries[i] = entry{hash: *h, state: entryHashed}
		return *h, nil
	}
	u.memo.entries[i].state = entryBusy
	uncovered := u.c.uncovered
	base := len(u.c.scratch.elems)
	var h types.Hash
	d, err := u.describe(t.off)
	if err == nil {
		h, err = u.hashOf(&d, depth)
	}
	u.c.scratch.elems = u.c.scratch.elems[:base]
	e := &u.memo.entries[i]
	if err != nil {
		e.state = entryNew // another reference to the type must fail for the same reason
		return types.Hash{}, err
	}
	e.hash, e.state, e.uncovered = h, entryHashed, u.c.uncovered != uncovered
	if !e.uncovered {
		u.c.store.byPrint.hashes.put(fp, h)
	}
	return h, nil
}

// hashOf hashes a description. The result is zero if types are added immediately (see repeats).
func (u *unit) hashOf(d *desc, depth int) (types.Hash, error) {
	if u.c.repeats != repeatMost {
		return types.Hash{}, nil
	}
	if d.stub {
		return types.HashStub(types.TagOf(d.kind), d.name.hash), nil
	}
	ref, err := d.ref.hash(depth + 1)
	if err != nil || d.alias {
		return ref, err
	}
	if d.kind == types.KindArray {
		for i := len(d.dims) - 1; i >= 0; i-- {
			h := types.Start(types.KindArray, d.dims[i], 0, types.Hash{}, ref)
			h.Elem(types.Hash{}, intHash, 0)
			ref = h.Sum(false)
		}
		return ref, nil
	}
	for i := len(d.tags) - 1; i >= 0; i-- {
		h := types.Start(types.KindTypeTag, 0, 0, d.tags[i].hash, ref)
		ref = h.Sum(false)
	}
	h := types.Start(d.kind, d.size, d.aux, d.name.hash, ref)
	for i := range d.elems {
		e := &d.elems[i]
		r, err := e.ref.hash(depth + 1)
		if err != nil {
			return types.Hash{}, err
		}
		h.Elem(e.name.hash, r, e.val)
	}
	return h.Sum(d.flag), nil
}
