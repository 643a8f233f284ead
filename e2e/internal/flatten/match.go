package flatten

import (
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// matcher looks for the same type on the other side.
type matcher struct {
	*Result
	relation
}

// match compares all roots of both sides, and adds to the result what content alone can't tell.
func (m *matcher) match() {
	candidates := map[btf.Type][]int{} // by root of either side: the pairs that it is in
	for _, w := range m.whole.roots {
		k := m.whole.key(w)
		others := m.own.named[k]
		if !local(k.class) {
			others = append(others[:len(others):len(others)], m.base.named[k]...)
		}
		for _, o := range others {
			at := m.add(pair{w, o})
			candidates[w] = append(candidates[w], at)
			candidates[o] = append(candidates[o], at)
		}
	}
	m.settle()

	same := map[btf.Type]bool{} // types of the whole BTF that were found
	for _, w := range m.whole.roots {
		same[w] = m.count(candidates[w])
	}
	for _, w := range m.whole.roots {
		if !same[w] {
			m.explain(w, candidates[w], same)
		}
	}
	for _, o := range m.own.roots {
		if !slices.ContainsFunc(candidates[o], m.isSame) {
			m.explain(o, candidates[o], same)
		}
	}
	m.Declared = m.countDeclared()
	if m.Indirect > 0 && len(m.Differences) == 0 {
		m.Differences = append(m.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.Leads, Name: "types that differ, and nothing says why"})
	}
}

func (m *matcher) isSame(at int) bool { return !m.pairs[at].differs }

// count counts a type of the whole BTF that is in these pairs, and reports whether it was found.
func (m *matcher) count(candidates []int) bool {
	m.Types++
	own := false
	for _, at := range candidates {
		switch p := &m.pairs[at]; {
		case p.differs:
		case m.base.nodes[p.ours] != nil:
			m.Base++
			return true
		default:
			own = true
		}
	}
	if own {
		m.Own++
	}
	return own
}

// countDeclared counts the tags that the base only declares and the module defines.
func (m *matcher) countDeclared() int {
	declared := map[string]bool{}
	for _, p := range m.pairs {
		if t := content.Tag(p.whole); t != "" && t == content.Tag(p.ours) && m.onlyDeclared(p.pair) {
			declared[t] = true
		}
	}
	return len(declared)
}

// explain reports why a type has no equal one among the candidates.
func (m *matcher) explain(t btf.Type, candidates []int, same map[btf.Type]bool) {
	class, name := content.NameOf(t)
	equal := false
	d := compare.Difference{Class: class, Kind: compare.Leads, Name: name}
	for _, at := range candidates {
		p := m.pairs[at]
		if !p.text || name != "" && content.Text(p.whole) != content.Text(p.ours) {
			continue // the definitions differ, which comparing them by content has told
		}
		equal = true
		m.relation.named(at, func(i int) {
			kid := m.pairs[i]
			if kid.differs && (same[kid.whole] || !kid.text && m.known(kid.whole)) {
				d.Leads = append(d.Leads, m.leads(i)...)
				d.Ours = append(d.Ours, "leads to "+m.text(kid.ours))
				d.Oracle = append(d.Oracle, "leads to "+m.text(kid.whole))
			}
		})
	}
	own := m.whole.nodes[t] == nil
	switch {
	case len(d.Leads) > 0:
		d.Extra = own
		m.Differences = append(m.Differences, d)
	case equal:
		m.Indirect++
	case name != "":
	case class != content.Enum && !own:
		m.Differences = append(m.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.OnlyOracle, Oracle: []string{m.text(t)}, Reason: reasonUnused})
	case own:
		m.Differences = append(m.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.OnlyOurs, Ours: []string{m.text(t)}})
	default:
		m.Differences = append(m.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.OnlyOracle, Oracle: []string{m.text(t)}})
	}
}

const reasonUnused = "nothing that is encoded refers to it, and it has no name"

// known reports whether ours has a definition that says the same as a type of the whole BTF.
func (m *matcher) known(w btf.Type) bool {
	k := m.whole.key(w)
	for _, s := range []*side{m.own, m.base} {
		for _, o := range s.named[k] {
			if content.Text(o) == content.Text(w) {
				return true
			}
		}
	}
	return false
}

func (m *matcher) text(t btf.Type) string {
	if m.base.nodes[t] != nil {
		return "(of the base) " + content.Text(t)
	}
	return content.Text(t)
}
