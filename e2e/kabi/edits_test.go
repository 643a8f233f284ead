package kabi

import "slices"

// edit is a kind of change of a family. It returns false if the family has nothing to change.
type edit struct {
	name string
	do   func(m *maker, f *family) bool
}

// edits are what happens to headers. What an edit does to the layout depends on the struct.
var edits = slices.Concat(memberEdits, typeEdits, otherEdits)

var memberEdits = []edit{
	{"add a member in the middle", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		r.members = slices.Insert(r.members, m.IntN(len(r.members)), m.member(f.below(r)))
		return true
	}},
	{"add a member at the end", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		r.members = append(r.members, m.member(f.below(r)))
		return true
	}},
	{"add a small member", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		small := member{name: m.fresh("m"), typ: typ{name: "char"}}
		r.members = slices.Insert(r.members, m.IntN(len(r.members)+1), small)
		return true
	}},
	{"remove a member", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		i := m.IntN(len(r.members))
		r.members = slices.Delete(r.members, i, i+1)
		return len(r.members) > 0
	}},
	{"swap two members", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		i, j := m.IntN(len(r.members)), m.IntN(len(r.members))
		r.members[i], r.members[j] = r.members[j], r.members[i]
		return i != j
	}},
	{"rename a member", func(m *maker, f *family) bool {
		m.someMember(f).name = m.fresh("renamed")
		return true
	}},
	{"give a member another type", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		n := &r.members[m.IntN(len(r.members))]
		before := n.typ.declare("")
		n.typ = m.typ(f.below(r))
		n.with = nil
		return n.typ.declare("") != before
	}},
	{"put a member into an anonymous union", func(m *maker, f *family) bool {
		n := m.someMember(f)
		if n.with != nil || n.typ.bits > 0 {
			return false
		}
		n.with = &member{name: m.fresh("m"), typ: typ{name: "char"}}
		return true
	}},
	{"put two members into an anonymous struct", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		i := m.IntN(len(r.members))
		if i+1 == len(r.members) || r.members[i].with != nil || r.members[i+1].with != nil {
			return false
		}
		second := r.members[i+1]
		r.members = slices.Delete(r.members, i+1, i+2)
		r.members[i].with, r.members[i].both = &second, true
		return true
	}},
	{"use a reserved member", func(m *maker, f *family) bool {
		n := m.reservedOf(f)
		if n == nil {
			return false
		}
		used := member{name: m.fresh("m")}
		used.typ.name = pick(m, []string{"void", "int", "long"})
		used.typ.pointer = used.typ.name == "void"
		*n = member{name: used.name, typ: used.typ, with: &member{name: n.name, typ: n.typ}}
		return true
	}},
	{"rename a reserved member", func(m *maker, f *family) bool {
		n := m.reservedOf(f)
		if n == nil {
			return false
		}
		n.name = m.fresh("m")
		return true
	}},
}

var otherSign = map[string]string{"int": "unsigned int", "unsigned int": "int",
	"long": "unsigned long", "unsigned long": "long",
	"char": "unsigned char", "unsigned char": "char"}

func (m *maker) someMember(f *family) *member {
	r := &f.records[m.IntN(len(f.records))]
	return &r.members[m.IntN(len(r.members))]
}

func (m *maker) reservedOf(f *family) *member {
	for i := range f.records {
		for j := range f.records[i].members {
			n := &f.records[i].members[j]
			if len(n.name) > 4 && n.name[:4] == "kabi" && n.with == nil {
				return n
			}
		}
	}
	return nil
}

// below is the family with only those records that r can have as members.
func (f *family) below(r *record) *family {
	g := *f
	g.records = f.records[:slices.IndexFunc(f.records, func(x record) bool {
		return x.name == r.name
	})]
	return &g
}

// each calls do for all types that the code of a family has.
func (f *family) each(do func(t *typ)) {
	var walk func(t *typ)
	walk = func(t *typ) {
		do(t)
		for i := range t.params {
			walk(&t.params[i])
		}
	}
	members := func(list []member) {
		for i := range list {
			walk(&list[i].typ)
			if list[i].with != nil {
				walk(&list[i].with.typ)
			}
		}
	}
	for i := range f.records {
		members(f.records[i].members)
	}
	if f.function {
		members(f.params)
		walk(&f.result)
	} else {
		walk(&f.object)
	}
}

// changeType changes one of the types that do can change. If do returns false, its change is
// undone.
func (m *maker) changeType(f *family, do func(t *typ) bool) bool {
	var all []*typ
	f.each(func(t *typ) { all = append(all, t) })
	for _, i := range m.Perm(len(all)) {
		before := *all[i]
		if do(all[i]) {
			return true
		}
		*all[i] = before
	}
	return false
}
