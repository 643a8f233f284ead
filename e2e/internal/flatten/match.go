package flatten

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// matcher looks for the same type on the other side.
type matcher struct {
	*Result
	relation
	said map[string]bool // differences that were reported
}

// match compares all roots of both sides, and adds to the result what content alone can't tell.
func (m *matcher) match() {
	m.said = map[string]bool{}
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
			m.explain(w, candidates[w], same, "in ours")
		}
	}
	for _, o := range m.own.roots {
		if !slices.ContainsFunc(candidates[o], m.isSame) {
			m.explain(o, candidates[o], same, "in the oracle's")
		}
	}
	m.Declared = m.countDeclared()
	if m.Indirect > 0 && len(m.Differences) == 0 {
		m.report(content.Struct, "", fmt.Sprintf("%d types differ, and nothing says why", m.Indirect))
	}
}

func (m *matcher) isSame(at int) bool { return !m.pairs[at].differs }

// count counts a type of the whole BTF that is in these pairs, and tells whether it was found.
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
		if t := tag(p.whole); t != "" && t == tag(p.ours) && m.onlyDeclared(p.pair) {
			declared[t] = true
		}
	}
	return len(declared)
}

// explain reports why a type has no equal one among the candidates.
func (m *matcher) explain(t btf.Type, candidates []int, same map[btf.Type]bool, where string) {
	class, name := content.NameOf(t)
	equal, said := false, false
	for _, at := range candidates {
		p := m.pairs[at]
		if !p.text || name != "" && content.Text(p.whole) != content.Text(p.ours) {
			continue // the definitions differ, which comparing them by content has told
		}
		equal = true
		m.tags(at, func(kid state) {
			if kid.differs && (same[kid.whole] || !kid.text && m.known(kid.whole)) {
				m.report(class, name, fmt.Sprintf("leads to another definition: %s; oracle: %s",
					m.text(kid.ours), m.text(kid.whole)))
				said = true
			}
		})
	}
	switch {
	case equal && !said:
		m.Indirect++
	case !equal && name == "" && class != content.Enum && m.whole.nodes[t] != nil:
		m.Differences = append(m.Differences, compare.Difference{Class: content.Nameless,
			Kind: compare.OnlyOracle, Oracle: []string{m.text(t)}, Reason: reasonUnused})
	case !equal && name == "":
		m.report(content.Nameless, "", "not "+where+": "+m.text(t))
	}
}

const reasonUnused = "nothing that is encoded refers to it, and it has no name"

// known tells whether ours has a definition that says the same as a type of the whole BTF.
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

func (m *matcher) report(class content.Class, name, what string) {
	if id := string(class) + " " + name + what; !m.said[id] {
		m.said[id] = true
		m.Differences = append(m.Differences, compare.Difference{Class: class, Kind: compare.Differs,
			Name: name, Ours: []string{what}})
	}
}
