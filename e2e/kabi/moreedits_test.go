package kabi

import "slices"

var typeEdits = []edit{
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
	{"align a struct", func(m *maker, f *family) bool {
		r := &f.records[m.IntN(len(f.records))]
		r.aligned = !r.aligned
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
}

var otherEdits = []edit{
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
	{"make a symbol static", func(m *maker, f *family) bool {
		f.static = true
		return true
	}},
}
