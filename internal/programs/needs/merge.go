package needs

import (
	"maps"
	"slices"
)

// merged is a type with all members that several requests want.
// Rule: .needs: canonical local types.
type merged struct {
	want    want // without ref and members
	ref     *merged
	members map[string]*mergedMember
	text    string // of an exact type, which is never changed
}

// mergedMember is a member of a merged type. Its type (of) is nil for enumerators and void.
type mergedMember struct {
	bits uint32
	of   *merged
}

// newMerged copies a type.
func newMerged(w *want) *merged {
	m := &merged{want: *w}
	if w.exact {
		m.text = w.text()
		return m
	}
	m.want.ref, m.want.members, m.members = nil, nil, map[string]*mergedMember{}
	m.add(w)
	return m
}

// agrees reports whether a type can be added to m: the parts that both types have must be the same.
func (m *merged) agrees(w *want) bool {
	if m.want.exact || w.exact {
		return m.want.exact && w.exact && m.text == w.text()
	}
	if m.want.kind != w.kind || m.want.name != w.name || m.want.size != w.size ||
		m.want.extra != w.extra || (m.ref == nil) != (w.ref == nil) {
		return false
	}
	if m.ref != nil && !m.ref.agrees(w.ref) {
		return false
	}
	for _, x := range w.members {
		have := m.members[x.name]
		if have == nil {
			continue
		}
		if have.bits != x.bits || (have.of == nil) != (x.of == nil) ||
			have.of != nil && !have.of.agrees(x.of) {
			return false
		}
	}
	return true
}

// add adds the parts of a type that agrees with m.
func (m *merged) add(w *want) {
	if m.want.exact {
		return
	}
	m.want.nelems = max(m.want.nelems, w.nelems)
	if w.ref != nil {
		m.ref = m.ref.mergedWith(w.ref)
	}
	for _, x := range w.members {
		have := m.members[x.name]
		if have == nil {
			have = &mergedMember{bits: x.bits}
			m.members[x.name] = have
		}
		if x.of != nil {
			have.of = have.of.mergedWith(x.of)
		}
	}
}

// mergedWith does the same as add, and returns m. If m is nil, it returns a copy of the type.
func (m *merged) mergedWith(w *want) *merged {
	if m == nil {
		return newMerged(w)
	}
	m.add(w)
	return m
}

// result returns the merged type with its members sorted by name.
func (m *merged) result() *want {
	w := m.want
	if w.exact {
		return &w
	}
	if m.ref != nil {
		w.ref = m.ref.result()
	}
	for _, name := range slices.Sorted(maps.Keys(m.members)) {
		x := m.members[name]
		added := member{name: name, bits: x.bits}
		if x.of != nil {
			added.of = x.of.result()
		}
		w.members = append(w.members, added)
	}
	return &w
}
