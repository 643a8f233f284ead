package flatten

import (
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// pair is a type of the whole BTF, and one of the split BTF or its base that may be the same.
type pair struct{ whole, ours btf.Type }

// relation says which pairs of types are the same, as deep as they go. It is the greatest one: a
// pair is the same unless something shows that it is not. So cycles of types need no care.
type relation struct {
	whole, own, base *side

	index map[pair]int
	pairs []state
	todo  []int // pairs whose children are to be added
}

type state struct {
	pair
	kids, users []int
	text        bool // the definitions are equal but for what they refer to
	differs     bool
}

// add adds a pair, and all pairs that it depends on.
func (r *relation) add(p pair) int {
	at := r.enter(p)
	for len(r.todo) > 0 {
		i := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		w, o := r.whole.node(r.pairs[i].whole), r.ours(r.pairs[i].ours)
		for n := range w.refs {
			kid := r.enter(pair{w.refs[n], o.refs[n]})
			r.pairs[i].kids = append(r.pairs[i].kids, kid)
			r.pairs[kid].users = append(r.pairs[kid].users, i)
		}
	}
	return at
}

func (r *relation) enter(p pair) int {
	if at, ok := r.index[p]; ok {
		return at
	}
	at := len(r.pairs)
	r.index[p] = at
	s := state{pair: p}
	switch t := content.Tag(p.whole); {
	case t != "" && t == content.Tag(p.ours) && (declares(p.whole) || r.onlyDeclared(p)):
		s.text = true
	case r.whole.node(p.whole).text == r.ours(p.ours).text:
		s.text = true
		r.todo = append(r.todo, at)
	default:
		s.differs = true
	}
	r.pairs = append(r.pairs, s)
	return at
}

// onlyDeclared reports whether the base only declares what the module defines. A type of the base
// can't refer to one of the module.
func (r *relation) onlyDeclared(p pair) bool {
	return declares(p.ours) && !declares(p.whole) && r.base.nodes[p.ours] != nil
}

// ours returns the node of a type of the split BTF or its base.
func (r *relation) ours(t btf.Type) *node {
	if n := r.base.nodes[t]; n != nil {
		return n
	}
	return r.own.node(t)
}

// settle makes each pair differ that depends on one that does.
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

// named calls visit for the pairs of named types that a pair refers to, directly or through types
// without a name.
func (r *relation) named(at int, visit func(kid int)) {
	seen := map[int]bool{at: true}
	work := []int{at}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, kid := range r.pairs[i].kids {
			if seen[kid] {
				continue
			}
			seen[kid] = true
			if r.pairs[kid].whole.TypeName() != "" {
				visit(kid)
			} else {
				work = append(work, kid)
			}
		}
	}
}

// leads returns the tags through which a pair differs: those whose definitions differ by
// themselves. Each is listed once.
func (r *relation) leads(at int) []compare.Lead {
	var list []compare.Lead
	seen := map[int]bool{at: true}
	work := []int{at}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		if p := &r.pairs[i]; !p.text {
			lead := compare.Lead{Tag: content.Tag(p.whole), Ours: content.Signature(p.ours),
				Oracle: content.Signature(p.whole)}
			if !slices.Contains(list, lead) {
				list = append(list, lead)
			}
		}
		for _, kid := range r.pairs[i].kids {
			if !seen[kid] && r.pairs[kid].differs {
				seen[kid] = true
				work = append(work, kid)
			}
		}
	}
	return list
}
