// Package pin makes pins. A pin is a hash that says to which definition a reference leads, in a
// unit that has several definitions of a tag.
//
// A pin depends only on the content of the definition, not on the order of types or on other types
// of the unit. So equal pins identify equal definitions, in all units.
package pin

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Provisional returns the provisional pin of a reference (see Import). It consists of the number of
// the definition, which can be any number that no other definition has, and the number of the scope
// that has the reference.
func Provisional(definition uint64, scope int) types.Hash {
	return types.Hash{A: definition, B: uint64(scope)}
}

// Import adds every node of one graph (from) to another (to), with pins where they are needed, and
// returns the new IDs of the nodes, indexed by their ID in from.
//
// The stubs of from have provisional pins: Ref of such a stub is its definition, and the pin has
// the definition's number and a scope. A stub without Ref resolves to whatever definition its tag
// has in the unit. A base has scope 0, and split BTF that is based on it has scope 1. The list
// scopes[i] has the definitions of tags that scope i adds to those of the earlier scopes. A plain
// stub in such a list is a declaration that does not resolve to the tag's definition; it counts as
// a different definition.
//
// If all definitions of a tag in a scope and the scopes before it are equal, references to the tag
// in that scope become plain stubs. All other references get pins. All stubs of typedefs get pins
// too; only typedefs in a cycle without a tag have stubs. A declaration tag on a stub that gets a
// pin is moved to the definition.
// Rule: pins: which definition a stub means.
func Import(to, from *types.Graph, scopes [][]types.ID) ([]types.ID, error) {
	budget := budget
	m := NewImporter(to, from, &budget)
	all := make([]types.ID, len(from.Nodes)-1)
	for i := range all {
		all[i] = types.ID(i + 1)
	}
	if err := m.Settle(all, nil, scopes); err != nil {
		return nil, err
	}
	if err := m.Add(); err != nil {
		return nil, err
	}
	ids := make([]types.ID, len(from.Nodes))
	for _, id := range all {
		ids[id] = m.ID(id)
	}
	return ids, nil
}

// budget bounds the work: how many nodes and references are examined. A kernel whose BTF holds a
// thousand types several times needs about a million.
const budget = 1 << 27

// Importer does the work of Import for units that have many nodes of from in common. It adds such
// nodes only once for all units in which their references to tags lead to the same definitions.
type Importer struct {
	to, from *types.Graph
	budget   *int // what is left of the budget, see refine.Graph.ColoursWithin
	known
	present
	elems []types.Elem         // scratch
	parts map[types.Hash]*part // the parts that units share, by signature
	kept  int                  // the number of nodes in parts
}

// maxKept limits the total number of nodes in parts. If it is exceeded, all parts are dropped.
const maxKept = 1 << 20

// NewImporter returns an Importer that subtracts its work from a budget.
func NewImporter(to, from *types.Graph, budget *int) *Importer {
	return &Importer{to: to, from: from, budget: budget, parts: map[types.Hash]*part{},
		known: known{numbers: map[types.TagName]int32{}}}
}

// known holds what is the same in every unit: for each node of Importer.from, and for each string.
type known struct {
	content []types.Hash // hash of the node's content if no stub is pinned
	plain   []types.ID   // the node in the other graph with that content; 0: none yet
	tags    []int32      // of stubs and definitions: the number of the tag, from 1
	numbers map[types.TagName]int32
	strs    []types.Str
}

// extend adds the nodes that m.from has gained since the last unit.
func (m *Importer) extend() {
	of := func(id types.ID) types.Hash { return m.content[id] }
	for i := len(m.content); i < len(m.from.Nodes); i++ {
		n := &m.from.Nodes[i]
		var content types.Hash
		if n.Kind == types.KindStub {
			content = types.HashStub(n.Tag(), m.from.Strs.Hash(n.Name))
		} else if i > 0 {
			content = n.HashWith(&m.from.Strs, m.from.ElemsOf(n), of)
		}
		number := int32(0)
		if n.Kind == types.KindStub || n.IsDefinition() {
			t := n.TagName()
			if number = m.numbers[t]; number == 0 {
				number = int32(len(m.numbers) + 1)
				m.numbers[t] = number
			}
		}
		m.content, m.tags = append(m.content, content), append(m.tags, number)
	}
	m.plain = append(m.plain, make([]types.ID, len(m.content)-len(m.plain))...)
	m.grow(len(m.content), len(m.numbers)+1)
}

// Settle finds the pins of a unit's references. The parameter items has the unit's nodes; all types
// that they contain belong to the unit too. The parameter shared has the nodes that the unit has in
// common with others; it saves work, but doesn't change the result. See Import about scopes.
func (m *Importer) Settle(items, shared []types.ID, scopes [][]types.ID) error {
	m.extend()
	m.begin(items, shared, scopes)
	for scope := range scopes {
		if err := m.findSeveral(scopes[:scope+1]); err != nil {
			return err
		}
	}
	m.mark(m.pinned)
	return m.hash()
}

// findSeveral finds the tags that have different definitions in the given scopes, but don't if the
// last scope is left out. To see whether definitions are equal, it follows the references to all
// tags that have several definitions.
func (m *Importer) findSeveral(scopes [][]types.ID) error {
	scope := uint32(len(scopes))
	candidates := false
	for _, list := range scopes {
		for _, id := range list {
			t := &m.tagged[m.tags[id]]
			if t.scope != scope {
				t.scope, t.first, t.candidate = scope, id, false
			} else if t.first != id && t.several == 0 {
				t.candidate, candidates = true, true
			}
		}
	}
	if !candidates {
		return nil
	}
	m.mark(func(id types.ID, n *types.Node) bool {
		t := &m.tagged[m.tags[id]]
		return m.pinned(id, n) || t.scope == scope && t.candidate && m.means(n) != 0 &&
			m.from.Pin(n).B == uint64(scope-1)
	})
	if err := m.hash(); err != nil {
		return err
	}
	for _, list := range scopes {
		for _, id := range list {
			if t := &m.tagged[m.tags[id]]; t.candidate && !m.areEqual(t.first, id) {
				t.several = scope
			}
		}
	}
	return nil
}

// areEqual reports whether two definitions, or declarations, are equal.
func (m *Importer) areEqual(a, b types.ID) bool {
	if m.flags[a]&in != 0 && m.flags[b]&in != 0 {
		return m.hashes[a] == m.hashes[b]
	}
	return m.content[a] == m.content[b] && !m.leads(a) && !m.leads(b)
}

// leads reports whether the content of a definition depends on a stub with the flag "in".
func (m *Importer) leads(id types.ID) bool {
	n := &m.from.Nodes[id]
	return n.Kind != types.KindStub && (m.flags[n.Ref]&in != 0 ||
		slices.ContainsFunc(m.from.ElemsOf(n), func(e types.Elem) bool { return m.flags[e.Ref]&in != 0 }))
}

func (m *Importer) pinned(id types.ID, n *types.Node) bool {
	if m.means(n) == 0 || n.Tag() == types.TagTypedef {
		return m.means(n) != 0
	}
	t := &m.tagged[m.tags[id]]
	return t.several != 0 && m.from.Pin(n).B+1 >= uint64(t.several)
}

// means returns the definition that a stub resolves to in the unit, or 0 if that is left open.
func (m *Importer) means(n *types.Node) types.ID {
	if n.Ref != 0 && (n.Tag() == types.TagTypedef || m.flags[n.Ref]&listed != 0) {
		return n.Ref
	}
	return 0
}

// Add adds the nodes of the unit for which Settle was called last.
func (m *Importer) Add() error {
	m.intern()
	if p := m.common; p != nil && p.ids != nil {
		for i, id := range p.nodes {
			m.ids[id] = p.ids[i]
		}
	}
	var stubs []types.ID
	for _, id := range m.nodes {
		n := &m.from.Nodes[id]
		switch {
		case m.flags[id]&in == 0:
			if m.plain[id] == 0 {
				m.plain[id] = m.add(n, m.content[id])
			}
		case m.common != nil && m.common.ids != nil && m.flags[id]&shared != 0:
		case n.Kind == types.KindStub:
			m.ids[id] = m.to.PinnedStub(n.Tag(), m.strs[n.Name], m.hashes[n.Ref])
			stubs = append(stubs, id)
		default:
			m.ids[id] = m.add(n, types.Hash{})
		}
	}
	for _, id := range stubs {
		if err := m.to.Define(m.ids[id], m.ids[m.from.Node(id).Ref]); err != nil {
			return err
		}
	}
	if p := m.common; p != nil && p.ids == nil {
		p.ids = make([]types.ID, len(p.nodes))
		for i, id := range p.nodes {
			p.ids[i] = m.ids[id]
		}
	}
	return nil
}

// ID returns the node that Add has made for a node of the unit.
func (m *Importer) ID(id types.ID) types.ID {
	if m.flags[id]&in != 0 {
		return m.ids[id]
	}
	return m.plain[id]
}

// intern adds the strings that m.from has gained since the last unit.
func (m *Importer) intern() {
	if m.strs == nil {
		m.strs = []types.Str{0}
	}
	for s := types.Str(len(m.strs)); int(s) < m.from.Strs.Len(); s++ {
		m.strs = append(m.strs, m.to.Strs.InternHashed(m.from.Strs.Bytes(s), m.from.Strs.Hash(s)))
	}
}

// add adds a node. The nodes to which it refers must already have been added. The parameter content
// is the node's hash if the node contains no pin, otherwise zero.
func (m *Importer) add(n *types.Node, content types.Hash) types.ID {
	if id := m.to.Find(content); content != (types.Hash{}) && id != 0 {
		return id
	}
	if n.Kind == types.KindStub {
		return m.to.Stub(n.Tag(), m.strs[n.Name])
	}
	m.elems = m.elems[:0]
	for _, e := range m.from.ElemsOf(n) {
		m.elems = append(m.elems, types.Elem{Name: m.strs[e.Name], Ref: m.ID(e.Ref), Val: e.Val})
	}
	to := *n
	to.Name, to.Ref = m.strs[n.Name], m.ID(n.Ref)
	if r := &m.from.Nodes[n.Ref]; n.Kind == types.KindDeclTag && r.Kind == types.KindStub &&
		m.flags[n.Ref]&in != 0 {
		to.Ref = m.ID(r.Ref)
	}
	return m.to.Add(to, m.elems)
}
