package kabi

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// maker makes families. next makes names unique.
type maker struct {
	*rand.Rand
	next int
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func pick[T any](m *maker, list []T) T { return list[m.IntN(len(list))] }

func (m *maker) fresh(prefix string) string {
	m.next++
	return fmt.Sprintf("%s%d", prefix, m.next)
}

var bases = []string{"int", "unsigned int", "long", "unsigned long", "char", "unsigned char",
	"short", "_Bool"}

// family makes a family.
func (m *maker) family(prefix string) *family {
	f := &family{prefix: prefix, hidden: m.chance(70), function: m.chance(70)}
	for range 2 + m.IntN(3) {
		f.colors = append(f.colors, enumerator{name: m.fresh(prefix + "_C")})
	}
	f.number = typ{name: pick(m, bases)}
	for i := range 1 + m.IntN(3) {
		r := record{keyword: "struct", name: fmt.Sprintf("%s_%c", prefix, 'a'+i)}
		if m.chance(20) {
			r.keyword = "union"
		}
		for range 2 + m.IntN(5) {
			r.members = append(r.members, m.member(f))
		}
		if m.chance(25) {
			r.members = append(r.members, m.reserved())
		}
		if i > 0 { // so that most types are reached
			below := f.records[i-1]
			t := typ{name: below.keyword + " " + below.name, pointer: m.chance(50)}
			r.members = slices.Insert(r.members, m.IntN(len(r.members)),
				member{name: m.fresh("m"), typ: t})
		}
		f.records = append(f.records, r)
	}
	top := f.records[len(f.records)-1]
	first := typ{name: top.keyword + " " + top.name, pointer: true}
	if f.object = first; m.chance(50) {
		f.object.pointer = false
		f.object.array = max(0, m.IntN(4)-1)
	}
	if f.params = []member{{name: m.fresh("p"), typ: first}}; m.chance(10) {
		f.params[0].typ.pointer = false
	}
	for range m.IntN(3) {
		f.params = append(f.params, member{name: m.fresh("p"), typ: m.scalar(f)})
	}
	f.result = m.scalar(f)
	return f
}

func (m *maker) reserved() member {
	return member{name: m.fresh("kabi_reserved"), typ: typ{name: "unsigned long"}}
}

func (m *maker) member(f *family) member {
	n := member{name: m.fresh("m"), typ: m.typ(f)}
	if m.chance(5) && n.typ.bits == 0 {
		n.with, n.both = &member{name: m.fresh("m"), typ: m.typ(f)}, m.chance(40)
		n.with.typ.bits = 0
	}
	return n
}

// typ is the type of a member.
func (m *maker) typ(f *family) typ {
	switch m.IntN(12) {
	case 0:
		t := m.scalar(f)
		t.array = 1 + m.IntN(4)
		return t
	case 1:
		return typ{name: "unsigned int", bits: 1 + m.IntN(8)}
	case 2:
		if len(f.records) > 0 {
			r := pick(m, f.records)
			return typ{name: r.keyword + " " + r.name}
		}
	case 3:
		t := m.scalar(f)
		t.constant = false // gcc drops it from results
		if t.pointer {
			t = typ{name: "void"}
		}
		t.callback = true
		for range m.IntN(3) {
			t.params = append(t.params, m.scalar(f))
		}
		return t
	}
	return m.scalar(f)
}

// scalar is a type that functions take and return.
func (m *maker) scalar(f *family) typ {
	switch m.IntN(6) {
	case 0:
		return typ{name: "enum " + f.prefix + "_color"}
	case 1:
		return typ{name: f.prefix + "_number"}
	case 2, 3:
		return typ{name: m.pointee(f), pointer: true, constant: m.chance(30)}
	}
	return typ{name: pick(m, bases)}
}

func (m *maker) pointee(f *family) string {
	names := []string{"void", "char", "struct " + f.prefix + "_hidden", f.prefix + "_number"}
	for _, r := range f.records {
		names = append(names, r.keyword+" "+r.name)
	}
	return pick(m, names)
}
