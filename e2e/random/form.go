package random

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// formKind says what a form stands for.
type formKind int

const (
	formBase     formKind = iota // base type n
	formTag                      // what tag n means where the form is used
	formDefine                   // a definition of tag n in place, where C allows it
	formAlias                    // what typedef name n means there
	formPointer                  // a pointer
	formArray                    // an array of n elements, -1: flexible
	formFunction                 // a function
	formConst                    // a const type
	formVolatile                 // a volatile type
	formRecord                   // a struct or union definition
	formEnum                     // an enum definition
)

// form is a C type apart from scopes: tags and typedef names are numbers of the vocabulary, and
// what they mean is up to the place where the form is used.
type form struct {
	kind     formKind
	n        int
	keyword  string // of records: struct or union
	packed   bool
	aligned  bool
	method   bool // C++: the record has a method
	variadic bool
	to       *form // also what a function returns
	params   []*form
	members  []member
	values   []enumerator
}

type member struct {
	name  string // "" for an anonymous struct, union or bit-field
	form  *form
	width int // of a bit-field; 0: not one; -1: of width 0
}

type enumerator struct {
	name, value string
}

// word is a name of the vocabulary with its possible definitions. The first is the usual one, most
// others differ from it in one place.
type word struct {
	name     string
	variants []*form
}

// vocabulary is what the units of a program have in common.
type vocabulary struct {
	tags    []word
	aliases []word
}

// Base types, with the width of their widest bit-field.
var bases = []struct {
	name string
	bits int
}{
	{"int", 32}, {"unsigned int", 32}, {"long", 64}, {"unsigned long", 64}, {"char", 8},
	{"unsigned char", 8},
	{"short", 16}, {"_Bool", 1}, {"long long", 64}, {"signed char", 8}, {"unsigned short", 16},
	{"double", 0}, {"float", 0}, {"__int128", 0},
}

const firstFloat = 11 // the first of bases that can't be a bit-field

type author struct {
	*rand.Rand
	tags, aliases int
	enums         int // numbers the names of enumerators
}

// chance is true in percent cases of a hundred.
func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

func newVocabulary(r *rand.Rand) *vocabulary {
	a := &author{Rand: r, tags: 2 + r.IntN(4), aliases: 1 + r.IntN(4)}
	v := &vocabulary{}
	for i := range a.tags {
		v.tags = append(v.tags, word{name: fmt.Sprintf("t%d", i), variants: a.variants(i)})
	}
	for i := range a.aliases {
		w := word{name: fmt.Sprintf("u%d", i)}
		for range 1 + a.IntN(3) {
			w.variants = append(w.variants, a.target())
		}
		v.aliases = append(v.aliases, w)
	}
	return v
}

// variants makes the definitions of tag n.
func (a *author) variants(n int) []*form {
	first := a.record(0)
	if a.chance(15) {
		first = a.enum()
	}
	// Chains of tags are what conflicts spread along.
	if first.kind == formRecord && n+1 < a.tags && a.chance(60) {
		first.members = append([]member{{name: "next", form: &form{kind: formPointer,
			to: &form{kind: formTag, n: n + 1}}}}, first.members...)
	}
	all := []*form{first}
	for range a.IntN(3) {
		switch {
		case a.chance(75):
			all = append(all, a.changed(all[a.IntN(len(all))]))
		case a.chance(30):
			all = append(all, a.enum())
		default:
			all = append(all, a.record(0))
		}
	}
	return all
}

// target is what a typedef name may stand for.
func (a *author) target() *form {
	switch a.IntN(8) {
	case 0:
		return a.function()
	case 1:
		return a.record(1)
	case 2:
		return a.enum()
	case 3, 4:
		return &form{kind: formTag, n: a.IntN(a.tags)}
	}
	return a.form(1)
}

func (a *author) baseType() *form { return &form{kind: formBase, n: a.IntN(len(bases))} }

// form makes any type that an object can have.
func (a *author) form(depth int) *form {
	if depth > 3 {
		return a.baseType()
	}
	switch n := a.IntN(100); {
	case n < 25:
		return a.baseType()
	case n < 50:
		return &form{kind: formPointer, to: a.pointee(depth)}
	case n < 65:
		return &form{kind: formTag, n: a.IntN(a.tags)}
	case n < 73:
		return &form{kind: formAlias, n: a.IntN(a.aliases)}
	case n < 81:
		return &form{kind: formArray, n: 1 + a.IntN(4), to: a.form(depth + 1)}
	case n < 84:
		return &form{kind: formVolatile, to: a.form(depth + 1)}
	case n < 89:
		return &form{kind: formDefine, n: a.IntN(a.tags)}
	case n < 92:
		return a.enum()
	}
	return a.record(depth + 1)
}

func (a *author) pointee(depth int) *form {
	switch n := a.IntN(100); {
	case n < 50:
		return &form{kind: formTag, n: a.IntN(a.tags)}
	case n < 60:
		return &form{kind: formConst, to: a.form(depth + 1)}
	case n < 80:
		return a.function()
	}
	return a.form(depth + 1)
}

func (a *author) function() *form {
	f := &form{kind: formFunction, to: a.parameter(), variadic: a.chance(10)}
	for range a.IntN(4) {
		f.params = append(f.params, a.parameter())
	}
	return f
}

// parameter is the type of a parameter or of what a function returns: most often a pointer.
func (a *author) parameter() *form {
	switch n := a.IntN(100); {
	case n < 50:
		return &form{kind: formPointer, to: a.pointee(3)}
	case n < 75:
		return a.baseType()
	}
	return a.form(3)
}

func (a *author) record(depth int) *form {
	r := &form{kind: formRecord, keyword: "struct", packed: a.chance(8), aligned: a.chance(5),
		method: a.chance(40)}
	if a.chance(20) {
		r.keyword = "union"
	}
	for i := range 1 + a.IntN(max(4-depth, 1)) {
		r.members = append(r.members, a.member(fmt.Sprintf("m%d", i), depth))
	}
	if r.keyword == "struct" && depth == 0 && a.chance(8) {
		r.members = append(r.members, member{name: "open", form: &form{kind: formArray, n: -1,
			to: a.baseType()}})
	}
	return r
}

func (a *author) member(name string, depth int) member {
	switch n := a.IntN(100); {
	case n < 15:
		to := &form{kind: formBase, n: a.IntN(firstFloat)}
		switch a.IntN(4) {
		case 0:
			to = &form{kind: formAlias, n: a.IntN(a.aliases)}
		case 1:
			to = &form{kind: formTag, n: a.IntN(a.tags)} // it may be an enum
		}
		return member{name: name, form: to, width: 1 + a.IntN(12)}
	case n < 17:
		return member{form: &form{kind: formBase}, width: a.IntN(5) - 1}
	case n < 22 && depth < 2:
		return member{form: a.distinctive(a.record(depth+1), name)}
	}
	return member{name: name, form: a.form(depth + 1)}
}

// distinctive renames the members of an anonymous record so that they clash with no others.
func (a *author) distinctive(r *form, name string) *form {
	for i := range r.members {
		if r.members[i].name == "" && r.members[i].form.kind == formRecord {
			a.distinctive(r.members[i].form, fmt.Sprintf("%s_%d", name, i))
		} else if r.members[i].name != "" {
			r.members[i].name = name + "_" + r.members[i].name
		}
	}
	return r
}

var enumValues = []string{"0", "1", "2", "7", "-1", "-3", "200", "40000", "0x7fffffff",
	"0x80000000",
	"-0x7fffffff - 1", "1l << 40", "-(1l << 40)", "~0ul"}

func (a *author) enum() *form {
	a.enums++
	e := &form{kind: formEnum, packed: a.chance(15)}
	for i := range 1 + a.IntN(3) {
		v := enumerator{name: fmt.Sprintf("E%d_%d", a.enums, i)}
		if a.chance(50) {
			v.value = enumValues[a.IntN(6)]
			if a.chance(30) {
				v.value = enumValues[a.IntN(len(enumValues))]
			}
		}
		e.values = append(e.values, v)
	}
	return e
}

// changed is f with one difference.
func (a *author) changed(f *form) *form {
	c := *f
	switch c.kind {
	case formEnum:
		c.values = slices.Clone(c.values)
		v := &c.values[a.IntN(len(c.values))]
		if a.chance(50) {
			v.name += "x"
		} else {
			v.value = enumValues[a.IntN(len(enumValues))]
		}
	case formRecord:
		c.members = slices.Clone(c.members)
		i := a.IntN(len(c.members))
		m := &c.members[i]
		switch n := a.IntN(8); {
		case n == 0 && m.name != "" && m.form.n != -1:
			m.name += "x"
		case n == 1 && len(c.members) > 1:
			c.members = slices.Delete(c.members, i, i+1)
		case n == 2 && c.members[len(c.members)-1].form.n != -1:
			c.members = append(c.members, member{name: "more", form: a.form(1)})
		case n == 3 && m.width > 0:
			m.width = 1 + a.IntN(12)
		case n == 4:
			c.packed = !c.packed
		default:
			m.form = a.changed(m.form)
		}
	case formBase:
		c.n = (c.n + 1) % len(bases)
		if f.n < firstFloat {
			c.n = (f.n + 1) % firstFloat
		}
	case formTag, formDefine:
		c.n = a.IntN(a.tags)
	case formAlias:
		c.n = a.IntN(a.aliases)
	case formFunction:
		if len(c.params) > 0 && a.chance(70) {
			c.params = slices.Clone(c.params)
			i := a.IntN(len(c.params))
			c.params[i] = a.changed(c.params[i])
		} else {
			c.variadic = !c.variadic
		}
	case formArray:
		if c.n > 0 && a.chance(50) {
			c.n++
		} else {
			c.to = a.changed(c.to)
		}
	case formPointer, formConst, formVolatile:
		c.to = a.changed(c.to)
	}
	return &c
}
