package random

import (
	"fmt"
	"slices"
)

// word is a name in the vocabulary, with its possible definitions. The first definition of a tag is
// new; most of the others are copies of an earlier definition with one change.
type word struct {
	name     string
	variants []*form
}

// vocabulary has the names that the units of a program share.
type vocabulary struct {
	tags      []word
	aliases   []word
	functions map[string][]*form // the usual prototypes of functions that several units define
}

func (a *author) vocabulary() *vocabulary {
	v := &vocabulary{functions: map[string][]*form{}}
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
	for _, name := range slices.Concat(staticFunctions, sharedFunctions) {
		f := a.function()
		v.functions[name] = []*form{f, f, a.changed(f)}
	}
	return v
}

func (a *author) variants(n int) []*form {
	first := a.record(0)
	if a.chance(15) {
		first = a.enum()
	}
	// With a chain of tags, one tag's conflict spreads to the tags that lead to it.
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

// changed returns a copy of f with one difference.
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
		switch n := a.IntN(10); {
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
		case n == 5 && a.annotated:
			c.tags = a.declTags()
		case n == 6 && m.name != "":
			m.tags = a.declTags()
		default:
			m.form = a.changed(m.form)
		}
	case formBase:
		c.n = (c.n + 1) % a.bases()
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
	case formPointer, formConst, formVolatile, formTypeTag:
		c.to = a.changed(c.to)
	}
	return &c
}
