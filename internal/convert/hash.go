package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// intHash and intNode are the index type of every array: C's int, as the reference encoder writes
// it.
var (
	intName = []byte("int")
	intNode = types.Node{Kind: types.KindInt, Size: 4, Aux: 1<<24 | 32}
	intHash = func() types.Hash {
		h := types.Start(types.KindInt, intNode.Size, intNode.Aux, types.HashString(intName),
			types.Hash{})
		return h.Sum(false)
	}()
)

// hash returns the content hash of the type that t names, as the graph computes it: of the stub,
// for a tag.
func (t typeRef) hash(depth int) (types.Hash, error) {
	if t.u == nil {
		return types.Hash{}, nil
	}
	u := t.u
	i := u.memo.at(t.off)
	switch u.memo.entries[i].state {
	case entryHashed, entryAdded:
		if u.memo.entries[i].byName {
			u.c.byName = true
		}
		return u.memo.entries[i].hash, nil
	case entryBusy:
		return types.Hash{}, u.r.Errorf(t.off,
			"the type contains itself without a struct, union or enum tag between")
	}
	if depth > types.MaxDepth {
		return types.Hash{}, u.tooDeep(t.off)
	}
	if u.c.direct() {
		return t.addDirectly(i, depth)
	}
	fp, hit, err := t.hashByPrint(i)
	if err != nil {
		return types.Hash{}, err
	}
	if hit {
		return u.memo.entries[i].hash, nil
	}
	u.memo.entries[i].state = entryBusy
	before := u.c.byName
	u.c.byName = false
	base := len(u.c.elems)
	d, err := u.describe(t.off)
	if err != nil {
		return types.Hash{}, err
	}
	h, err := u.hashOf(&d, depth)
	u.c.elems = u.c.elems[:base]
	if err != nil {
		return types.Hash{}, err
	}
	e := &u.memo.entries[i]
	e.hash, e.state, e.byName = h, entryHashed, u.c.byName
	if !u.alone() && !e.byName {
		u.c.byPrint.hashes.put(fp, h)
	}
	u.c.byName = u.c.byName || before
	return h, nil
}

// alone reports whether the unit's entries are not to be compared with others': if there is only
// one unit, hardly any are equal.
func (u *unit) alone() bool { return u.c.sole() }

// hashByPrint fills in entry i of the memo, which is t's, if the hash of t's fingerprint is known.
func (t typeRef) hashByPrint(i uint32) (fp dwarf.Fingerprint, hit bool, err error) {
	u := t.u
	if u.alone() {
		return fp, false, nil
	}
	if fp, err = u.prints.Type(t.off, 0); err != nil {
		return fp, false, err
	}
	h := u.c.byPrint.hashes.get(fp)
	if h == nil {
		return fp, false, nil
	}
	u.memo.entries[i] = entry{hash: *h, state: entryHashed}
	return fp, true, nil
}

// hashOf hashes a description. If types are added directly, the result says nothing.
func (u *unit) hashOf(d *desc, depth int) (types.Hash, error) {
	if u.c.direct() {
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
