package modules

import (
	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// key is what a type and its candidates on the other side have in common.
type key struct {
	class content.Class
	name  string // for an anonymous type, the text of its definition
}

// side holds the types in one blob, without those in its base.
type side struct {
	// roots are the types for which a comparison looks for an equal type on the other side, in the
	// order of the blob. They are types with a name, anonymous enums (because of their enumerators),
	// and types to which no other type on this side refers.
	roots []btf.Type
	named map[key][]btf.Type
	nodes map[btf.Type]*node
}

// node is the text of a type's definition, and the types to which the type refers.
type node struct {
	text string
	refs []btf.Type
}

// read returns a side with all types in spec.
func read(spec *btf.Spec) (*side, error) {
	all, err := content.Types(spec)
	if err != nil {
		return nil, err
	}
	s := &side{named: map[key][]btf.Type{}, nodes: map[btf.Type]*node{}}
	used := map[btf.Type]bool{}
	for _, t := range all {
		for _, ref := range s.node(t).refs {
			used[ref] = true
		}
		if f, ok := t.(*btf.Func); ok {
			used[f.Type] = true
		}
	}
	for _, t := range all {
		k := s.key(t)
		if k.class == content.Forward || t.TypeName() == "" && k.class != content.Enum && used[t] {
			continue
		}
		s.roots = append(s.roots, t)
		s.named[k] = append(s.named[k], t)
	}
	return s, nil
}

func (s *side) node(t btf.Type) *node {
	n := s.nodes[t]
	if n == nil {
		n = &node{}
		n.text, n.refs = content.Shape(t)
		s.nodes[t] = n
	}
	return n
}

func (s *side) key(t btf.Type) key {
	class, name := content.NameOf(t)
	if name == "" {
		name = s.node(t).text
	}
	return key{class, name}
}

// pair is a type in the whole BTF, and a type in the split BTF or its base that may be the same
// type.
type pair struct{ whole, ours btf.Type }

// relation finds the pairs whose types are the same, at any depth. It is the largest such relation:
// two types count as the same unless something shows that they differ. So cycles of references need
// no special care.
//
// If the whole BTF only declares a tag, the type on our side may be any definition of that tag. If
// the base only declares a tag that the whole BTF defines, the types count as the same too, because
// types in the base can't refer to the module's definition.
type relation struct {
	whole, own, base *side

	index map[pair]int
	pairs []state
}

type state struct {
	pair
	kids, users []int
	differs     bool
}

// sameText reports whether the two definitions have the same text. If the type has no name, it
// always returns true.
func (p pair) sameText() bool {
	return p.whole.TypeName() == "" || content.Text(p.whole) == content.Text(p.ours)
}

// add adds a pair, and all pairs on which it depends. It returns the pair's index.
func (r *relation) add(p pair) int {
	at, known := r.index[p]
	if known {
		return at
	}
	at = len(r.pairs)
	r.index[p] = at
	r.pairs = append(r.pairs, state{pair: p})
	t := content.Tag(p.whole)
	if t != "" && t == content.Tag(p.ours) && (declares(p.whole) || r.onlyDeclared(p)) {
		return at
	}
	w, o := r.whole.node(p.whole), r.ours(p.ours)
	if w.text != o.text {
		r.pairs[at].differs = true
		return at
	}
	for n := range w.refs {
		kid := r.add(pair{w.refs[n], o.refs[n]})
		r.pairs[at].kids = append(r.pairs[at].kids, kid)
		r.pairs[kid].users = append(r.pairs[kid].users, at)
	}
	return at
}

// onlyDeclared reports whether the pair has a declaration in the base and a definition in the whole
// BTF.
func (r *relation) onlyDeclared(p pair) bool {
	return declares(p.ours) && !declares(p.whole) && r.base.nodes[p.ours] != nil
}

// ours returns the node of a type in the split BTF or its base.
func (r *relation) ours(t btf.Type) *node {
	if n := r.base.nodes[t]; n != nil {
		return n
	}
	return r.own.node(t)
}

// settle marks each pair that depends on a differing pair as differing.
func (r *relation) settle() {
	var work []int
	for i := range r.pairs {
		if r.pairs[i].differs {
			work = append(work, i)
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, user := range r.pairs[i].users {
			if u := &r.pairs[user]; !u.differs {
				u.differs = true
				work = append(work, user)
			}
		}
	}
}

// declares reports whether t is a tag without a definition.
func declares(t btf.Type) bool {
	switch t := t.(type) {
	case *btf.Fwd:
		return true
	case *btf.Enum:
		return t.Name != "" && len(t.Values) == 0
	}
	return false
}
