package base

import (
	"iter"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// reference is a Base that looks up its answers in a graph and in Go maps. This is the obvious
// implementation, without a file; an index must give the same answers.
type reference struct {
	blob     *btf.Blob // the last of the chain
	g        *types.Graph
	nodes    []types.ID            // by id
	first    map[types.Hash]uint32 // by shape: the smallest id
	next     []uint32              // by id: the next id with the same shape
	tags     map[types.Hash]tag    // by stub
	declTags map[declTag]bool
	strings  map[string]uint32
	layers   []types.Hash
	leads    []bool
}

type tag struct {
	definition, declaration uint32
	count                   int
}

type declTag struct {
	value             string
	target, component uint32
	flag              bool
}

func newReference(t testing.TB, b *btf.Blob) *reference {
	t.Helper()
	o := &object.Object{Graph: types.New()}
	chain := object.Chain(b)
	nodes := must.Get(o.AddBTF(chain...))(t)
	p := &reference{blob: b, g: o.Graph, nodes: nodes, next: make([]uint32, len(nodes)),
		first: make(map[types.Hash]uint32, len(nodes)), tags: map[types.Hash]tag{},
		declTags: map[declTag]bool{}, leads: o.Graph.Leads()}
	shapes := o.Graph.Unpinned()
	for id := len(nodes) - 1; id > 0; id-- {
		p.index(uint32(id), shapes[nodes[id]])
	}
	for _, b := range chain {
		var layer []types.Hash
		for id := b.StartID; id < b.EndID(); id++ {
			layer = append(layer, shapes[nodes[id]])
		}
		p.layers = append(p.layers, Digest(layer))
	}
	p.indexStrings(chain)
	return p
}

// index records a type. Types with larger ids have already been recorded.
func (p *reference) index(id uint32, shape types.Hash) {
	n := p.g.Node(p.nodes[id])
	switch n.Kind {
	case types.KindVoid, types.KindFunc, types.KindVar, types.KindDatasec:
		return
	case types.KindDeclTag:
		t, _ := p.blob.ByID(id)
		p.declTags[declTag{p.g.Name(n), t.SizeOrType, n.Aux, n.Flag}] = true
		return
	case types.KindStub:
		t := p.tags[shape]
		t.declaration, t.count = id, t.count+1
		p.tags[shape] = t
	}
	if n.IsDefinition() {
		stub := types.HashStub(types.TagOf(n.Kind), p.g.Strs.Hash(n.Name))
		t := p.tags[stub]
		t.definition, t.count = id, t.count+1
		p.tags[stub] = t
	}
	p.next[id] = p.first[shape]
	p.first[shape] = id
}

func (p *reference) indexStrings(chain []*btf.Blob) {
	p.strings = map[string]uint32{}
	for _, b := range chain {
		for at := 0; at < len(b.Strings); {
			end := at
			for end < len(b.Strings) && b.Strings[end] != 0 {
				end++
			}
			s := b.Strings[at:end]
			if _, ok := p.strings[s]; !ok && s != "" {
				p.strings[s] = b.BaseStrLen + uint32(at)
			}
			at = end + 1
		}
	}
}

func (p *reference) Ends() (id, offset uint32) { return p.blob.EndID(), p.blob.EndStr() }

func (p *reference) Find(shape types.Hash) uint32 { return p.first[shape] }

func (p *reference) All(shape types.Hash) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for id := p.first[shape]; id != 0 && yield(id); id = p.next[id] {
		}
	}
}

func (p *reference) Tag(stub types.Hash) (definition, declaration uint32, count int) {
	t := p.tags[stub]
	return t.definition, t.declaration, t.count
}

func (p *reference) Refs(id uint32, into []uint32) []uint32 {
	t, b := p.blob.ByID(id)
	for ref := range b.Refs(t) {
		if *ref == 0 || t.Kind.IsLocation() {
			continue
		}
		if p.leads[p.nodes[*ref]] || p.g.Node(p.nodes[*ref]).IsDefinition() {
			into = append(into, *ref)
		}
	}
	return into
}

func (p *reference) Declares(id uint32) bool {
	return p.g.Node(p.nodes[id]).Kind == types.KindStub
}

func (p *reference) String(s []byte) uint32 { return p.strings[string(s)] }

func (p *reference) Layers() []types.Hash { return p.layers }
