// Package survey walks over the shapes and the units of a link once, and makes lists that several
// stages of the link need. A list that only one stage needs is made there.
package survey

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Survey describes the shapes and the units, before anything is decided about them. Its parts are
// apart because each stage keeps only what later stages need.
type Survey struct {
	*Shapes
	*Held
	// Users lists, for each shape that leads to a stub, the types that refer to it, once for each
	// reference. Only shapes that lead to a stub can resolve to several types. Functions, variables,
	// sections and declaration tags are not listed.
	Users Lists[types.ID, types.ID]
}

// Shapes is what is needed until the types are written.
type Shapes struct {
	Graph *types.Graph
	Nodes []types.Node // of Graph
	// Kinds repeats the kind of each node in a compact array: a cache holds few of the large nodes.
	Kinds []types.Kind
	// Anonymous counts the anonymous nodes of each kind.
	Anonymous [btf.NumKinds]int
	Tags      Tags
	// Weight has, for each node, the number of linked units that hold it.
	Weight []uint64
}

// Candidates are FUNC or VAR nodes by name.
type Candidates = Lists[types.Str, Candidate]

// Candidate is a FUNC or VAR node, with copies of the fields that are needed most often.
type Candidate struct {
	Node types.ID
	Ref  types.ID
	Size uint32 // for a FUNC, its flags
}

// Held is what is needed until functions and variables are chosen.
type Held struct {
	Units     []object.Unit
	Functions Candidates // the FUNC nodes
	Variables Candidates // the VAR nodes
	Sections  []types.ID // the DATASEC nodes
	DeclTags  []types.ID // the DECL_TAG nodes
	// Selected is true for each unit that is linked. See Drop.
	Selected []bool
	// LinkedWeight is like Weight, but counts only already linked BTF; nil without such BTF.
	LinkedWeight []uint64

	candidates []types.ID // the functions and variables of all units, one unit after another
	ends       []int      // by unit: where its candidates end
}

// New returns a survey of units that share the graph g. From now on, g must not get new nodes.
func New(g *types.Graph, units []object.Unit) *Survey {
	s := &Survey{Shapes: &Shapes{Graph: g, Nodes: g.Nodes}, Held: &Held{Units: units}}
	s.listShapes()
	s.countHolders()
	return s
}

// listShapes lists the shapes by kind, name, tag and reference.
func (s *Survey) listShapes() {
	n := len(s.Nodes)
	strs := s.Graph.Strs.Len()
	s.Kinds = make([]types.Kind, n)
	s.Functions = NewLists[types.Str, Candidate](strs, n/2)
	s.Variables = NewLists[types.Str, Candidate](strs, 0)
	s.Tags = newTags(n, strs)
	s.Users = NewLists[types.ID, types.ID](n, n/2+len(s.Graph.Elems))
	leads := pages.Make[bool](n) // a stub can be reached
	for i := range s.Nodes {
		id, n := types.ID(i), &s.Nodes[i]
		s.Kinds[id] = n.Kind
		if n.Name == 0 {
			s.Anonymous[n.Kind%btf.NumKinds]++
		}
		switch n.Kind {
		case types.KindFunc:
			s.Functions.Add(n.Name, Candidate{id, n.Ref, n.Size})
		case types.KindVar:
			s.Variables.Add(n.Name, Candidate{id, n.Ref, n.Size})
		case types.KindDatasec:
			s.Sections = append(s.Sections, id)
		case types.KindDeclTag:
			s.DeclTags = append(s.DeclTags, id)
		case types.KindStub:
			s.Tags.add(s.Graph, id)
			leads[id] = true
		default:
			if n.IsDefinition() {
				s.Tags.add(s.Graph, id)
			}
			if n.Kind != types.KindEnum && n.Kind != types.KindEnum64 {
				s.listReferences(id, leads)
			}
		}
	}
}

// listReferences adds a shape to the users of the shapes that lead to a stub.
func (s *Survey) listReferences(id types.ID, leads []bool) {
	n := &s.Nodes[id]
	if leads[n.Ref] {
		leads[id] = true
		s.Users.Add(n.Ref, id)
	}
	elems := s.Graph.Elems[n.First : n.First+n.Count]
	for i := range elems {
		if r := elems[i].Ref; leads[r] {
			leads[id] = true
			s.Users.Add(r, id)
		}
	}
}

// countHolders counts, for each node, the units that hold it. It also lists each unit's candidates.
func (s *Survey) countHolders() {
	s.Weight = pages.Make[uint64](len(s.Nodes))
	s.Selected = make([]bool, len(s.Units))
	s.candidates = make([]types.ID, 0, s.Functions.Len()+s.Variables.Len())
	s.ends = make([]int, len(s.Units))
	kinds := s.Kinds
	for u := range s.Units {
		s.Selected[u] = true
		s.weigh(u, uint64(s.Units[u].Count))
		for _, id := range s.Units[u].Items {
			if k := kinds[id]; k == types.KindFunc || k == types.KindVar {
				s.candidates = append(s.candidates, id)
			}
		}
		s.ends[u] = len(s.candidates)
	}
}

// Drop removes a unit from the link, and subtracts it from the weights.
func (s *Survey) Drop(u int) {
	s.Selected[u] = false
	s.weigh(u, -uint64(s.Units[u].Count))
}

func (s *Survey) weigh(u int, count uint64) {
	unit, weight := &s.Units[u], s.Weight
	for _, id := range unit.Items {
		weight[id] += count
	}
	if !unit.FromBTF {
		return
	}
	if s.LinkedWeight == nil {
		s.LinkedWeight = make([]uint64, len(s.Nodes))
	}
	for _, id := range unit.Items {
		s.LinkedWeight[id] += count
	}
}

// CandidatesOf returns the functions and variables of a unit.
func (s *Held) CandidatesOf(u int) []types.ID {
	first := 0
	if u > 0 {
		first = s.ends[u-1]
	}
	return s.candidates[first:s.ends[u]]
}

// Named reports whether a shape is a named base type, a typedef or the definition of a tag.
func Named(n *types.Node) bool {
	switch n.Kind {
	case types.KindInt, types.KindFloat, types.KindTypedef:
		return n.Name != 0
	}
	return n.IsDefinition()
}
