package random

import (
	"fmt"
	"math/rand/v2"
)

type formKind int

const (
	formBase     formKind = iota // base type n
	formTag                      // the type that tag n means where the form is used
	formDefine                   // a definition of tag n where the form is used, if C allows it
	formAlias                    // the type that typedef name n means where the form is used
	formPointer                  // a pointer
	formArray                    // an array with n elements; if n is -1, a flexible array
	formFunction                 // a function
	formConst                    // a const type
	formVolatile                 // a volatile type
	formTypeTag                  // a type with type tag n
	formRecord                   // a struct or union definition
	formEnum                     // an enum definition
)

// form is a C type without scopes: tags and typedef names are numbers in the vocabulary, and their
// meaning depends on the place where the form is used.
type form struct {
	kind     formKind
	n        int
	keyword  string // a record's keyword: struct or union
	packed   bool
	aligned  bool
	method   bool     // whether the record has a method (only in C++)
	tags     []string // declaration tags of a record
	integer  string   // an enum's underlying type; "" if the compiler chooses it
	variadic bool
	to       *form // the type of the target, of the elements, or of a function's result
	params   []*form
	members  []member
	values   []enumerator
}

type member struct {
	name  string // "" for an anonymous struct, union or bit-field
	form  *form
	width int // the width of a bit-field; 0 for other members; -1 for a bit-field with width 0
	tags  []string
}

type enumerator struct {
	name, value string
}

// bases are the base types, each with the width of the widest bit-field of that type.
var bases = []struct {
	name string
	bits int
}{
	{"int", 32}, {"unsigned int", 32}, {"long", 64}, {"unsigned long", 64}, {"char", 8},
	{"unsigned char", 8},
	{"short", 16}, {"_Bool", 1}, {"long long", 64}, {"signed char", 8}, {"unsigned short", 16},
	{"double", 0}, {"float", 0}, {"__int128", 0},
	{"typeof(nullptr)", 0}, {"_BitInt(7)", 7}, {"unsigned _BitInt(33)", 33}, {"_BitInt(100)", 0},
}

const (
	firstFloat  = 11 // the first base type that no bit-field can have
	firstModern = 14 // the first base type that only C23 has
)

type author struct {
	*rand.Rand
	tags, aliases     int
	enums             int  // how many enums were written; part of the enumerators' names
	annotated, modern bool // as in Options
}

// chance returns true with the given probability, in percent.
func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

func newAuthor(r *rand.Rand, o Options) *author {
	return &author{Rand: r, tags: 2 + r.IntN(4), aliases: 1 + r.IntN(4), annotated: o.Annotated,
		modern: o.Modern}
}

// target returns a random type for a typedef name.
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

func (a *author) baseType() *form {
	if a.modern && a.chance(20) {
		return &form{kind: formBase, n: firstModern + a.IntN(len(bases)-firstModern)}
	}
	return &form{kind: formBase, n: a.IntN(firstModern)}
}

func (a *author) bases() int {
	if a.modern {
		return len(bases)
	}
	return firstModern
}

// form returns a random type for an object.
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
	if a.annotated && a.chance(15) {
		return a.typeTag(a.pointee(depth + 1))
	}
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

// parameter returns a random type for a parameter or a function's result, often a pointer.
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
		method: a.chance(40), tags: a.declTags()}
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
	m := a.untagged(name, depth)
	if m.name != "" {
		m.tags = a.declTags()
	}
	return m
}

func (a *author) untagged(name string, depth int) member {
	switch n := a.IntN(100); {
	case n < 15:
		to := &form{kind: formBase, n: a.IntN(firstFloat)}
		switch a.IntN(4) {
		case 0:
			to = &form{kind: formAlias, n: a.IntN(a.aliases)}
		case 1:
			to = &form{kind: formTag, n: a.IntN(a.tags)} // this may be the tag of an enum
		}
		return member{name: name, form: to, width: 1 + a.IntN(12)}
	case n < 17:
		return member{form: &form{kind: formBase}, width: a.IntN(5) - 1}
	case n < 22 && depth < 2:
		return member{form: a.distinctive(a.record(depth+1), name)}
	}
	return member{name: name, form: a.form(depth + 1)}
}

// distinctive renames the members of an anonymous record so that their names don't clash.
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
	if a.modern && a.chance(40) {
		e.packed, e.integer = false, []string{"unsigned char", "short", "long"}[a.IntN(3)]
	}
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
