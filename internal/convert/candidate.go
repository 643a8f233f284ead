package convert

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// candidate is a function that is not in the graph yet.
type candidate struct {
	name  []byte
	hash  types.Hash // of name
	node  types.Node // without the name and the prototype
	proto prototype
}

// prototype is the type of a function. It is added to the graph along with the unit's candidates,
// unless types are added immediately (see repeats).
type prototype struct {
	id      types.ID // 0: not in the graph yet
	hash    types.Hash
	of      typeRef // the entry of the function
	returns typeRef
	params  []elem // in the converter's scratch space
}

// newCandidate returns a candidate. node has all except the name and the prototype.
func newCandidate(name []byte, node types.Node, proto prototype) candidate {
	hash := types.HashString(name)
	node.Hash = hashCandidate(&node, hash, proto.hash)
	return candidate{name, hash, node, proto}
}

func hashCandidate(node *types.Node, name, proto types.Hash) types.Hash {
	return types.Start(node.Kind, node.Size, node.Aux, name, proto).Sum(false)
}

func (p *prototype) describe() *desc {
	return &desc{kind: types.KindFuncProto, ref: p.returns, elems: p.params}
}

// add adds p to the locked graph.
func (p *prototype) add() (err error) {
	if p.id == 0 {
		u := p.of.u
		p.id, err = u.nodeOf(p.hash, p.describe(), p.of.off, 0)
		p.hash = u.c.store.g.Node(p.id).Hash
	}
	return err
}

// addCandidates adds the unit's functions. It locks the graph once for many of them.
func (c *converter) addCandidates() error {
	for list := range slices.Chunk(c.current.candidates, 64) {
		if err := c.addTogether(list); err != nil {
			return err
		}
	}
	c.current.candidates = c.current.candidates[:0]
	return nil
}

func (c *converter) addTogether(list []candidate) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for i := range list {
		id := c.store.g.Find(list[i].node.Hash)
		if id == 0 {
			var err error
			if id, err = c.addCandidate(&list[i]); err != nil {
				return err
			}
		}
		c.current.add(item{id: id})
	}
	return nil
}

// addCandidate adds a function to the locked graph.
func (c *converter) addCandidate(f *candidate) (types.ID, error) {
	if err := f.proto.add(); err != nil {
		return 0, err
	}
	f.node.Name = c.store.g.Strs.InternHashed(f.name, f.hash)
	f.node.Ref = f.proto.id
	return c.store.g.AddHashed(f.node, nil), nil
}

// keepCandidates returns copies of functions that outlive the unit.
func (c *converter) keepCandidates(list []candidate) ([]candidate, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	kept := slices.Clone(list)
	for i := range kept {
		f := &kept[i]
		if err := f.proto.add(); err != nil {
			return nil, err
		}
		f.name, f.proto.params = bytes.Clone(f.name), nil
	}
	return kept, nil
}
