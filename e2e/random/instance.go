package random

import (
	"fmt"
	"strconv"
)

// instance returns the type that f means in the current scope. The type may be incomplete, or a
// function type.
func (g *generator) instance(f *form) *ctype {
	switch f.kind {
	case formBase:
		b := bases[f.n]
		switch {
		case b.name == "_Bool" && (g.cxx || g.modern):
			b.name = "bool"
		case b.name == "typeof(nullptr)" && g.cxx:
			b.name = "decltype(nullptr)"
		case f.n > firstModern && g.cxx: // g++ lacks the base types that C23 added
			b = bases[f.n-firstModern]
		}
		return &ctype{kind: base, text: b.name, bits: b.bits}
	case formTag:
		return g.reference(f.n)
	case formDefine:
		if !g.cxx && g.canDefine(f.n) {
			return g.define(f.n)
		}
		return g.reference(f.n)
	case formAlias:
		if a := g.visibleAlias(g.words.aliases[f.n].name); a != nil {
			return &ctype{kind: aliased, alias: a}
		}
	case formPointer:
		return &ctype{kind: pointer, to: g.instance(f.to)}
	case formArray:
		to := g.object(f.to)
		if to.endsOpen() {
			to = &ctype{kind: pointer, to: to}
		}
		length := ""
		if f.n >= 0 {
			length = strconv.Itoa(f.n)
		}
		return &ctype{kind: array, text: length, to: to}
	case formFunction:
		return g.function(f, nil)
	case formTypeTag:
		to := g.instance(f.to)
		if g.cxx {
			return to
		}
		return &ctype{kind: qualified, to: to,
			text: fmt.Sprintf("__attribute__((btf_type_tag(%q)))", tagWords[f.n])}
	case formConst, formVolatile:
		to := g.instance(f.to)
		if to.isFunction() || to.isArray() {
			return to
		}
		qualifier := "const"
		if f.kind == formVolatile {
			qualifier = "volatile"
		}
		for t := to; t.kind == qualified; t = t.to {
			if t.text == qualifier {
				return to
			}
		}
		return &ctype{kind: qualified, text: qualifier, to: to}
	case formRecord:
		if g.noBodies == 0 {
			t := &ctype{kind: body}
			t.body = g.record(f, "", t)
			return t
		}
	case formEnum:
		if g.noBodies == 0 {
			return &ctype{kind: body, body: g.enum(f, "")}
		}
	}
	return g.instance(&form{kind: formBase})
}

// object is like instance, but returns a pointer to the type if objects of the type can't exist.
func (g *generator) object(f *form) *ctype {
	t := g.instance(f)
	if !t.complete() {
		t = &ctype{kind: pointer, to: t}
	}
	return t
}

// function returns a function type. If names isn't nil, it has the parameters' names, and the scope
// of the parameters stays open for the function's body.
func (g *generator) function(f *form, names []string) *ctype {
	// C++ allows no definitions in prototypes. With clang, a definition in a function's parameters
	// is visible in the whole file if the function returns a pointer to a function.
	if g.cxx || names != nil && !g.vla {
		g.noBodies++
		defer func() { g.noBodies-- }()
	}
	t := &ctype{kind: function, scalar: true, to: g.object(f.to)}
	if t.to.isArray() {
		t.to = &ctype{kind: pointer, to: t.to}
	}
	g.enter()
	g.prototypes++
	for i, p := range f.params {
		name := ""
		if names != nil {
			name = names[i]
			g.take(name)
		}
		param := g.object(p)
		if param.kind != pointer && param.kind != base || param.text == "typeof(nullptr)" {
			t.scalar = false
		}
		written := declare(param, name)
		if name != "" {
			written = sequence(written, g.withTags(g.declTags()))
		}
		t.params = append(t.params, optional(written))
	}
	g.prototypes--
	if f.variadic && len(f.params) > 0 {
		t.params = append(t.params, optional("..."))
	}
	if names == nil {
		g.leave()
	}
	return t
}

// reference returns the type that tag n means in the current scope. If the tag isn't declared
// there, the reference declares it.
func (g *generator) reference(n int) *ctype {
	w := g.words.tags[n]
	t := g.visible(w.name)
	if t == nil && w.variants[0].kind == formRecord {
		t = g.declareTag(w.variants[0].keyword, w.name)
	}
	if t == nil || t.varying || t.keyword == "enum" && !t.complete {
		return g.instance(&form{kind: formBase})
	}
	return &ctype{kind: tagged, tag: t}
}

// canDefine reports whether tag n can be defined in the innermost scope.
func (g *generator) canDefine(n int) bool {
	t := g.scope.tags[g.words.tags[n].name]
	return g.noBodies == 0 && g.nested < 2 && (t == nil || !t.complete && !t.open)
}

// define writes a definition of tag n; canDefine(n) must be true.
func (g *generator) define(n int) *ctype {
	w := g.words.tags[n]
	declared := g.scope.tags[w.name]
	var fitting []*form
	for _, v := range w.variants {
		if keyword := v.tagKeyword(); (declared == nil || declared.keyword == keyword) &&
			(!g.cxx || keyword == w.variants[0].tagKeyword()) {
			fitting = append(fitting, v)
		}
	}
	if len(fitting) == 0 {
		return g.reference(n)
	}
	f := fitting[g.IntN(len(fitting))]
	t := g.declareTag(f.tagKeyword(), w.name)
	t.open = true
	g.nested++
	defer func() { g.nested-- }()
	c := &ctype{kind: body, tag: t}
	if f.kind == formEnum {
		c.body = g.enum(f, w.name)
		t.bits = 32
		switch {
		case f.packed, f.integer == "unsigned char":
			t.bits = 8
		case f.integer == "short":
			t.bits = 16
		}
	} else {
		c.body = g.record(f, w.name, c)
	}
	t.open, t.complete, t.flexible = false, true, c.flexible
	return c
}

func (f *form) tagKeyword() string {
	if f.kind == formEnum {
		return "enum"
	}
	return f.keyword
}

func (g *generator) head(f *form, name string) *node {
	n := sequence(f.tagKeyword())
	if f.packed {
		n.kids = append(n.kids, text(" __attribute__((packed))"))
	}
	if f.aligned {
		n.kids = append(n.kids, text(" __attribute__((aligned(32)))"))
	}
	n = sequence(n, g.withTags(f.tags))
	if name != "" {
		name = " " + name
	}
	if f.integer != "" && (name != "" || g.prototypes == 0) { // clang refuses it in parameters
		name += " : " + f.integer
	}
	return sequence(n, name, " {\n")
}

// record writes the definition of a struct or union, and sets t.flexible if appropriate.
func (g *generator) record(f *form, name string, t *ctype) *node {
	n := sequence(g.head(f, name))
	written := map[string]bool{}
	for i, m := range f.members {
		if m.name != "" && written[m.name] {
			continue
		}
		written[m.name] = m.name != ""
		if m.form.kind == formArray && m.form.n < 0 {
			if i == 0 || f.keyword != "struct" {
				continue
			}
			t.flexible = true
		}
		n.kids = append(n.kids, optional(g.member(m), g.withTags(m.tags), ";\n"))
	}
	if f.method && g.cxx {
		n.kids = append(n.kids, optional("int get() { return sizeof(*this); }\n"))
	}
	n.kids = append(n.kids, text("}"))
	return n
}

func (g *generator) member(m member) *node {
	if m.width < 0 {
		return text("int : 0")
	}
	if m.name == "" && m.form.kind == formRecord {
		plain := *m.form
		plain.method = false
		if g.cxx { // in C++, an anonymous member can't define types
			g.noBodies++
			defer func() { g.noBodies-- }()
		}
		t := &ctype{kind: body}
		n := g.record(&plain, "", t)
		return n
	}
	t := g.instance(m.form)
	if width := min(m.width, t.fieldBits()); width > 0 {
		return sequence(declare(t, m.name), fmt.Sprintf(" : %d", width))
	}
	if m.form.kind == formArray && m.form.n < 0 {
		return declare(t, m.name)
	}
	name := m.name
	if name == "" {
		g.fresh++
		name = fmt.Sprintf("pad%d", g.fresh)
	}
	if !t.complete() || t.endsOpen() {
		t = &ctype{kind: pointer, to: t}
	}
	return declare(t, name)
}

func (g *generator) enum(f *form, name string) *node {
	n := sequence(g.head(f, name))
	negative := false
	for _, v := range f.values {
		negative = negative || len(v.value) > 0 && v.value[0] == '-'
	}
	for i, v := range f.values {
		if !g.take(v.name) {
			g.fresh++
			v.name = fmt.Sprintf("%s_%d", v.name, g.fresh)
			g.take(v.name)
		}
		switch {
		case f.integer != "" && len(v.value) > 1:
			v.value = strconv.Itoa(i)
		case v.value == "~0ul" && (negative || i+1 < len(f.values)), i > 0 && v.value == "":
			v.value = strconv.Itoa(i)
		}
		if v.value != "" {
			v.name += " = " + v.value
		}
		n.kids = append(n.kids, optional(v.name, ",\n"))
	}
	n.kids = append(n.kids, text("}"))
	return n
}
