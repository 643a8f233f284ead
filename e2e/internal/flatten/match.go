package flatten

import (
	"fmt"

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
	candidates := make([][]int, len(m.whole.roots))
	partners := map[btf.Type][]int{} // of a root of the split BTF
	for i, w := range m.whole.roots {
		k := m.whole.key(w)
		others := m.own.named[k]
		if !local(k.class) {
			others = append(others[:len(others):len(others)], m.base.named[k]...)
		}
		for _, o := range others {
			at := m.add(pair{w, o})
			candidates[i] = append(candidates[i], at)
			partners[o] = append(partners[o], at)
		}
	}
	m.settle()

	same := map[btf.Type]bool{} // types of the whole BTF that were found
	for i, w := range m.whole.roots {
		m.Types++
		own, base := false, false
		for _, at := range candidates[i] {
			if p := &m.pairs[at]; !p.differs {
				if m.base.nodes[p.ours] != nil {
					base = true
				} else {
					own = true
				}
			}
		}
		same[w] = own || base
		switch {
		case base:
			m.Base++
		case own:
			m.Own++
		}
	}
	for i, w := range m.whole.roots {
		if !same[w] {
			m.explain(w, candidates[i], same, "in ours")
		}
	}
	for _, o := range m.own.roots {
		found := false
		for _, at := range partners[o] {
			found = found || !m.pairs[at].differs
		}
		if !found {
			m.explain(o, partners[o], same, "in the oracle's")
		}
	}
	declared := map[string]bool{}
	for _, p := range m.pairs {
		if p.text && tag(p.whole) != "" && m.onlyDeclared(p.pair) {
			declared[tag(p.whole)] = true
		}
	}
	m.Declared = len(declared)
	if m.Indirect > 0 && len(m.Differences) == 0 {
		m.report(content.Struct, "", fmt.Sprintf("%d types differ, and nothing says why", m.Indirect))
	}
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
