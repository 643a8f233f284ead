package random

import "fmt"

// tagWords are the texts of tags: a few, so that declarations often share one.
var tagWords = []string{"user", "rcu", "kfunc", "a longer one: x=1"}

// declTags chooses the declaration tags of one declaration, most often none.
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

// typeTag is a type with a tag: what a pointer to t would be a pointer to.
func (a *author) typeTag(to *form) *form {
	return &form{kind: formTypeTag, n: a.IntN(len(tagWords)), to: to}
}

// withTags writes declaration tags, to follow what they are tags of. They are not for C++.
func (g *generator) withTags(tags []string) *node {
	n := sequence()
	for _, t := range tags {
		if !g.cxx {
			n.kids = append(n.kids, optional(fmt.Sprintf(" __attribute__((btf_decl_tag(%q)))", t)))
		}
	}
	return n
}
