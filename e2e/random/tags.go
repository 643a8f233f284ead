package random

import "fmt"

// tagWords are the texts of tags. There are only a few, so that declarations often share one.
var tagWords = []string{"user", "rcu", "kfunc", "a longer one: x=1"}

// declTags chooses the declaration tags of one declaration, usually none.
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

// typeTag returns the given type with a random type tag on it. The result is for use as
// the target of a pointer.
func (a *author) typeTag(to *form) *form {
	return &form{kind: formTypeTag, n: a.IntN(len(tagWords)), to: to}
}

// withTags writes declaration tags, after the declaration. C++ programs have none.
func (g *generator) withTags(tags []string) *node {
	n := sequence()
	for _, t := range tags {
		if !g.cxx {
			n.kids = append(n.kids, optional(fmt.Sprintf(" __attribute__((btf_decl_tag(%q)))", t)))
		}
	}
	return n
}
