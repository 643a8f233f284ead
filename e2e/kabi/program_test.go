package kabi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A family is an exported symbol with types of its own, so that a difference belongs to one symbol.
// The names of its types and of its symbol begin with its prefix.
type family struct {
	prefix   string
	records  []record // one has those before it as members
	colors   []enumerator
	number   typ  // the target of a typedef
	named    bool // whether members use the typedef
	hidden   bool // whether a struct is only declared
	object   typ  // the type of the symbol, if it is a variable
	function bool
	params   []member
	result   typ
	variadic bool
	removed  bool // whether the symbol is static
}

type record struct {
	keyword string // struct or union
	name    string
	members []member
	packed  bool
}

type member struct {
	name string
	typ  typ
	with *member // the other member of an anonymous union
}

// typ is a type in C. If it is not a pointer, constant is false, because the kernel has no such
// members.
type typ struct {
	name     string // of a base type, or with a keyword and a tag
	constant bool   // of what the pointer refers to
	pointer  bool
	array    int   // the number of elements; 0: not an array
	bits     int   // of a bit-field
	params   []typ // of a function to which a pointer refers; name is the type of its result
	callback bool  // whether it is a pointer to a function
}

type enumerator struct{ name, value string }

func (t typ) declare(name string) string {
	text := t.name + " "
	if t.constant {
		text = "const " + text
	}
	switch {
	case t.callback:
		return fmt.Sprintf("%s(*%s)(%s)", text, name, parameters(t.params, false))
	case t.pointer:
		text += "*"
	}
	text += name
	if t.array > 0 {
		text += fmt.Sprintf("[%d]", t.array)
	}
	if t.bits > 0 {
		text += fmt.Sprintf(" : %d", t.bits)
	}
	return text
}

func parameters(types []typ, variadic bool) string {
	var list []string
	for _, t := range types {
		list = append(list, t.declare(""))
	}
	if variadic && len(list) > 0 {
		list = append(list, "...")
	}
	if len(list) == 0 {
		return "void"
	}
	return strings.Join(list, ", ")
}

func (m member) declare() string {
	text := m.typ.declare(m.name) + ";"
	if m.with != nil {
		return "union { " + text + " " + m.with.declare() + " };"
	}
	return text
}

// source is the C code of a family.
func (f *family) source() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("enum %s_color {", f.prefix)
	for _, e := range f.colors {
		p("\t%s%s,", e.name, e.value)
	}
	p("};\ntypedef %s;", f.number.declare(f.prefix+"_number"))
	if f.hidden {
		p("struct %s_hidden;", f.prefix)
	} else {
		p("struct %s_hidden { int secret; };", f.prefix)
	}
	for _, r := range f.records {
		p("%s %s {", r.keyword, r.name)
		for _, m := range r.members {
			p("\t%s", m.declare())
		}
		if r.packed {
			p("} __attribute__((packed));")
		} else {
			p("};")
		}
	}
	static := ""
	if f.removed {
		static = "static __attribute__((used)) "
	}
	if !f.function {
		p("%s%s;", static, f.object.declare(f.prefix))
		return b.String()
	}
	var list []string
	for _, m := range f.params {
		list = append(list, m.typ.declare(m.name))
	}
	if f.variadic && len(list) > 0 {
		list = append(list, "...")
	}
	if len(list) == 0 {
		list = []string{"void"}
	}
	result := f.result.declare(f.prefix)
	// The value that it returns is in memory, so that any type will do.
	p("%s%s;", static, f.result.declare(f.prefix+"_result"))
	p("%s%s(%s) { return %s_result; }", static, result, strings.Join(list, ", "), f.prefix)
	return b.String()
}

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

// family makes a family. The names of its members depend on nothing else, so that it can be made
// again alone.
func (m *maker) family(prefix string) *family {
	f := &family{prefix: prefix, hidden: m.chance(70), function: m.chance(70), named: true}
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
		n.with = &member{name: m.fresh("m"), typ: m.typ(f)}
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
		if f.named {
			return typ{name: f.prefix + "_number"}
		}
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
