package random

import "fmt"

// tagWords are the texts of tags. There are only a few, so that declarations often share one.
var tagWords = []string{"user", "rcu", "kfunc", "a longer one: x=1"}

// declTags chooses the declaration tags for a declaration. Usually it returns none.
func (a *author) declTags() []string {
	if !a.annotated || !a.chance(20) {
		return nil
	}
	var all []string
	for range 1 + a.IntN(2) {
		all = append(all, tagWords[a.IntN(len(tagWords))])
	}
	return all
}

// typeTag returns a type with a random type tag. Only pointers may have the result as their
// target.
func (a *author) typeTag(to *form) *form {
	return &form{kind: formTypeTag, n: a.IntN(len(tagWords)), to: to}
}

// withTags writes declaration tags, which follow a declaration. In C++, it writes nothing.
func (g *generator) withTags(tags []string) *node {
	n := sequence()
	for _, t := range tags {
		if !g.cxx {
			n.kids = append(n.kids, optional(fmt.Sprintf(" __attribute__((btf_decl_tag(%q)))", t)))
		}
	}
	return n
}
