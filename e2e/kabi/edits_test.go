package kabi

import "slices"

// edit is a kind of change of a family. It returns false if the family has nothing to change.
type edit struct {
	name string
	do   func(m *maker, f *family) bool
}

// edits are what happens to headers. Each name is what the programmer meant; what it does to the
// layout depends on the struct.
var edits = []edit{
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
	{"use a reserved member", func(m *maker, f *family) bool {
		n := m.reservedOf(f)
		if n == nil {
			return false
		}
		used := member{name: m.fresh("m"), typ: typ{name: pick(m, []string{"void", "int", "long"})}}
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
	{"change a sign", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			other, ok := otherSign[t.name]
			if !ok || t.pointer || t.bits > 0 {
				return false
			}
			t.name = other
			return true
		})
	}},
	{"change a length", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			if t.array == 0 {
				return false
			}
			t.array = t.array%4 + 1
			return true
		})
	}},
	{"change a width", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			if t.bits == 0 {
				return false
			}
			t.bits = t.bits%8 + 1
			return true
		})
	}},
	{"add or drop a const", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			t.constant = !t.constant
			return t.pointer
		})
	}},
	{"point to another type", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			before := t.name
			t.name = m.pointee(f)
			return t.pointer && t.name != before
		})
	}},
	{"change a callback", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			switch n := m.IntN(4); {
			case !t.callback:
				return false
			case n == 0:
				t.name = pick(m, bases)
			case n == 1 && len(t.params) > 0:
				t.params = t.params[1:]
			default:
				t.params = slices.Insert(slices.Clone(t.params), 0, typ{name: "int"})
			}
			return true
		})
	}},
	{"pack a struct", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		r.packed = !r.packed
		return true
	}},
	{"turn a struct into a union", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		if r.keyword == "union" {
			return false
		}
		f.each(func(t *typ) {
			if t.name == "struct "+r.name {
				t.name = "union " + r.name
			}
		})
		r.keyword = "union"
		return true
	}},
	{"add an enumerator at the end", func(m *maker, f *family) bool {
		f.colors = append(f.colors, enumerator{name: m.fresh(f.prefix + "_C")})
		return true
	}},
	{"add an enumerator before others", func(m *maker, f *family) bool {
		f.colors = slices.Insert(f.colors, m.IntN(len(f.colors)),
			enumerator{name: m.fresh(f.prefix + "_C")})
		return true
	}},
	{"remove an enumerator", func(m *maker, f *family) bool {
		i := m.IntN(len(f.colors))
		f.colors = slices.Delete(f.colors, i, i+1)
		return len(f.colors) > 0
	}},
	{"rename an enumerator", func(m *maker, f *family) bool {
		f.colors[m.IntN(len(f.colors))].name = m.fresh(f.prefix + "_R")
		return true
	}},
	{"change the value of an enumerator", func(m *maker, f *family) bool {
		f.colors[m.IntN(len(f.colors))].value = pick(m, []string{" = 100", " = -1", " = 1L << 40"})
		return true
	}},
	{"change a typedef", func(m *maker, f *family) bool {
		before := f.number.name
		f.number.name = pick(m, bases)
		return before != f.number.name
	}},
	{"replace a typedef with its type", func(m *maker, f *family) bool {
		return m.changeType(f, func(t *typ) bool {
			if t.name != f.prefix+"_number" {
				return false
			}
			t.name = f.number.name
			return true
		})
	}},
	{"define or undefine a struct", func(m *maker, f *family) bool {
		f.hidden = !f.hidden
		return true
	}},
	{"add a parameter", func(m *maker, f *family) bool {
		n := member{name: m.fresh("p"), typ: m.scalar(f)}
		f.params = slices.Insert(f.params, m.IntN(len(f.params)+1), n)
		return f.function
	}},
	{"remove a parameter", func(m *maker, f *family) bool {
		if len(f.params) == 0 {
			return false
		}
		i := m.IntN(len(f.params))
		f.params = slices.Delete(f.params, i, i+1)
		return f.function
	}},
	{"rename a parameter", func(m *maker, f *family) bool {
		if len(f.params) == 0 {
			return false
		}
		f.params[m.IntN(len(f.params))].name = m.fresh("renamed")
		return f.function
	}},
	{"give a parameter another type", func(m *maker, f *family) bool {
		if len(f.params) == 0 {
			return false
		}
		f.params[m.IntN(len(f.params))].typ = m.scalar(f)
		return f.function
	}},
	{"give the result another type", func(m *maker, f *family) bool {
		f.result = m.scalar(f)
		return f.function
	}},
	{"make a function variadic", func(m *maker, f *family) bool {
		f.variadic = true
		return f.function
	}},
	{"give a variable another type", func(m *maker, f *family) bool {
		f.object = m.scalar(f)
		return !f.function
	}},
	{"remove a symbol", func(m *maker, f *family) bool {
		f.removed = true
		return true
	}},
}

var otherSign = map[string]string{"int": "unsigned int", "unsigned int": "int",
	"long": "unsigned long", "unsigned long": "long", "char": "unsigned char", "unsigned char": "char"}

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

// changeType changes one of the types that do can change. If do returns false, its change is undone.
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
