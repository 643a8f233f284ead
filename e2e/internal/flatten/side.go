package flatten

import (
	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// key is what types are looked up by.
type key struct {
	class content.Class
	name  string // of an anonymous type, the text of its definition
}

// side is the types of one BTF, without those of its base.
type side struct {
	// roots are the types that are compared for their own sake, in the order of the file: those with
	// a name, anonymous enums, for the names of their constants, and what no type of the side refers
	// to.
	roots []btf.Type
	named map[key][]btf.Type
	nodes map[btf.Type]*node
}

// node is the definition of a type, without what it refers to.
type node struct {
	text string
	refs []btf.Type
}

// read takes in all types of spec.
func read(spec *btf.Spec) (*side, error) {
	s := &side{named: map[key][]btf.Type{}, nodes: map[btf.Type]*node{}}
	used := map[btf.Type]bool{}
	var all []btf.Type
	for t, err := range spec.All() {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
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

// declares reports whether t is a tag without its definition.
func declares(t btf.Type) bool {
	switch t := t.(type) {
	case *btf.Fwd:
		return true
	case *btf.Enum:
		return t.Name != "" && len(t.Values) == 0
	}
	return false
}
