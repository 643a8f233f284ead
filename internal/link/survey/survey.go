// Package survey walks over the shapes and the units of a link once, and makes lists that several
// stages of the link need.
package survey

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Survey describes the shapes and the units, before anything is decided about them.
type Survey struct {
	Graph *types.Graph
	Nodes []types.Node // of Graph
	Units []object.Unit

	// Kinds repeats the kind of each node in a compact array: a cache holds few of the large nodes.
	Kinds []types.Kind
	// Anonymous counts the anonymous nodes of each kind.
	Anonymous [btf.NumKinds]int
	Functions Candidates // the FUNC nodes
	Variables Candidates // the VAR nodes
	Sections  []types.ID // the DATASEC nodes
	DeclTags  []types.ID // the DECL_TAG nodes
	Tags      Tags
	// Users lists, for each shape that leads to a stub, the types that refer to it, once for each
	// reference. Only shapes that lead to a stub can resolve to several types. Functions, variables,
	// sections and declaration tags are not listed. resolve.Resolve frees this list.
	Users Lists[types.ID, types.ID]

	Held
}

// Candidates are FUNC or VAR nodes by name.
type Candidates = Lists[types.Str, Candidate]

// Candidate is a FUNC or VAR node, with copies of the fields that are needed most often.
type Candidate struct {
	Node types.ID
	Ref  types.ID
	Size uint32 // for a FUNC, its flags
}

// Held says which units are linked, and how many of these hold each shape.
type Held struct {
	// Selected is true for each unit that is linked. See Drop.
	Selected []bool
	// Weight has, for each node, the number of linked units that hold it.
	Weight []uint64
	// LinkedWeight is like Weight, but counts only already linked BTF; nil without such BTF.
	LinkedWeight []uint64

	candidates []types.ID // the functions and variables of all units, one unit after another
	ends       []int      // by unit: where its candidates end
}

// New returns a survey of units that share the graph g. From now on, g must not get new nodes.
// Shapes, References and Holders fill in the survey. Holders must run after Shapes; References may
// run at the same time.
func New(g *types.Graph, units []object.Unit) *Survey {
	return &Survey{Graph: g, Nodes: g.Nodes, Units: units}
}

// Shapes lists the shapes by kind, name and tag.
func (s *Survey) Shapes() {
	n := len(s.Nodes)
	strs := s.Graph.Strs.Len()
	s.Kinds = make([]types.Kind, n)
	s.Functions = NewLists[types.Str, Candidate](strs, n/2)
	s.Variables = NewLists[types.Str, Candidate](strs, 0)
	s.Tags = newTags(n, strs)
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
		default:
			if n.IsDefinition() {
				s.Tags.add(s.Graph, id)
			}
		}
	}
}

// References fills in Users.
func (s *Survey) References() {
	n := len(s.Nodes)
	s.Users = NewLists[types.ID, types.ID](n, n/2+len(s.Graph.Elems))
	leads := pages.Make[bool](n) // a stub can be reached
	for i := range s.Nodes {
		id, n := types.ID(i), &s.Nodes[i]
		switch n.Kind {
		case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag,
			types.KindEnum, types.KindEnum64:
			continue
		case types.KindStub:
			leads[id] = true
			continue
		}
		if leads[n.Ref] {
			leads[id] = true
			s.Users.Add(n.Ref, id)
		}
		elems := s.Graph.Elems[n.First : n.First+n.Count]
		for j := range elems {
			if r := elems[j].Ref; leads[r] {
				leads[id] = true
				s.Users.Add(r, id)
			}
		}
	}
}

// Holders counts, for each node, the units that hold it. It also lists the candidates of each unit.
func (s *Survey) Holders() {
	s.Weight = pages.Make[uint64](len(s.Nodes))
	s.Selected = make([]bool, len(s.Units))
	s.candidates = make([]types.ID, 0, s.Functions.Len()+s.Variables.Len())
	s.ends = make([]int, len(s.Units))
	for u := range s.Units {
		s.Selected[u] = true
		s.weigh(u, uint64(s.Units[u].Count))
		for _, id := range s.Units[u].Items {
			if k := s.Kinds[id]; k == types.KindFunc || k == types.KindVar {
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
func (s *Survey) CandidatesOf(u int) []types.ID {
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
