package kabi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A family is an exported symbol with types that no other symbol has, so that a difference belongs
// to one symbol. The names of its types and of its symbol begin with its prefix.
type family struct {
	prefix   string
	records  []record // one has those before it as members
	colors   []enumerator
	number   typ  // the target of a typedef
	hidden   bool // whether a struct is only declared
	object   typ  // the type of the symbol, if it is a variable
	function bool
	params   []member
	result   typ
	variadic bool
	static   bool // whether the symbol is static
	removed  bool // whether there is no symbol
}

type record struct {
	keyword string // struct or union
	name    string
	members []member
	packed  bool
	aligned bool // to 32 bytes
}

type member struct {
	name string
	typ  typ
	with *member // the other member of an anonymous union or struct
	both bool    // whether it is a struct
}

// typ is a type in C.
type typ struct {
	name     string // of a base type, or with a keyword and a tag
	constant bool
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
		return fmt.Sprintf("%s(*%s)(%s)", text, name, parameters(t.params))
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

func parameters(types []typ) string {
	list := []string{}
	for _, t := range types {
		list = append(list, t.declare(""))
	}
	return cmp.Or(strings.Join(list, ", "), "void")
}

func (m member) declare() string {
	text := m.typ.declare(m.name) + ";"
	switch {
	case m.with == nil:
		return text
	case m.both:
		return "struct { " + text + " " + m.with.declare() + " };"
	}
	return "union { " + text + " " + m.with.declare() + " };"
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
		var attributes string
		if r.packed {
			attributes += " __attribute__((packed))"
		}
		if r.aligned {
			attributes += " __attribute__((aligned(32)))"
		}
		p("}%s;", attributes)
	}
	if f.removed {
		return b.String()
	}
	static := ""
	if f.static {
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
	// What it returns is in memory, so that any type will do.
	p("static %s;", f.result.declare(f.prefix+"_result"))
	p("%s%s(%s) { return %s_result; }", static, f.result.declare(f.prefix),
		cmp.Or(strings.Join(list, ", "), "void"), f.prefix)
	return b.String()
}

// memberNames lists the members of structs and unions.
func (f *family) memberNames() (names []string) {
	for _, r := range f.records {
		for _, m := range r.members {
			names = append(names, m.name)
		}
	}
	return names
}

// drop removes members, but leaves one in each struct or union.
func (f *family) drop(names map[string]bool) {
	for i := range f.records {
		r := &f.records[i]
		for j := len(r.members) - 1; j >= 0 && len(r.members) > 1; j-- {
			if names[r.members[j].name] {
				r.members = slices.Delete(r.members, j, j+1)
			}
		}
	}
}
