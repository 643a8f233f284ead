package diff

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
)

// Definitions describes how the definitions of one name in a blob and its bases differ.
type Definitions struct {
	c    *comparison
	all  []placedBlob // the blob and its bases
	left int          // how many pairs of types may still be visited
}

// NewDefinitions prepares to compare the types of b and its bases.
func NewDefinitions(b *btf.Blob) *Definitions {
	c := &comparison{graph: newGraph(Side{b}), work: newWork()}
	all := c.add(Side{b})
	c.content, c.contents = refine.Classes(c.label, c.first, c.kids)
	return &Definitions{c, all, allPairs}
}

// Pair is the difference between two types.
type Pair struct {
	Where string // "member bar.baz"; "" for the type itself
	What  string // "bit offset 64 vs 32"; "" if they are equal
	// Through is nil unless the types differ only because types that they refer to differ. Then it
	// has the ids of two types that they refer to, with the same name and different records.
	Through *[2]uint32
}

// maxPairs limits how many pairs of types are visited to explain one difference; allPairs limits
// how many are visited for all explanations of a Definitions. Only hostile input reaches these
// limits; explanations are then less exact.
const (
	maxPairs = 10000
	allPairs = 1 << 20
)

// Explain compares the types with the ids a and b, which have the same kind and name. It describes
// the first difference in their records or, if their records are equal, the nearest difference in
// types that they refer to. The parameter names says what to call the two definitions in texts such
// as "only in NAME".
func (d *Definitions) Explain(a, b uint32, names [2]string) Pair {
	start := [2]uint32{nodeOf(d.all, a), nodeOf(d.all, b)}
	if d.c.content[start[0]] == d.c.content[start[1]] {
		return Pair{}
	}
	w := d.changes(start)
	where, what, _ := firstChange(w.changes, names)
	if len(w.changes) == 0 {
		where, what = w.note()
	}
	pair := Pair{Where: where, What: what}
	if w.class() != Indirect {
		return pair
	}
	seen := map[[2]uint32]bool{start: true}
	queue := [][2]uint32{start}
	defer func() { d.left = max(0, d.left-len(seen)) }()
	for i := 0; i < len(queue) && len(queue) < maxPairs && d.left > 0; i++ {
		if p := queue[i]; i > 0 && d.changes(p).class() != Indirect {
			pair.Through = &[2]uint32{d.c.nodes[p[0]].id, d.c.nodes[p[1]].id}
			return pair
		}
		queue = d.c.differingChildren(queue[i], seen, queue)
	}
	return pair
}

func (d *Definitions) changes(p [2]uint32) *walker {
	budget := min(d.left, maxPairs)
	w := d.c.changesOf(p[0], p[1], budget)
	d.left -= budget - w.budget
	return w
}

// differingChildren compares the types to which the two types in p refer at the same place,
// directly or through types without a name. It appends to out the pairs with the same name but
// different content. It skips the pairs in seen, and adds the pairs that it visits to seen.
func (c *comparison) differingChildren(
	p [2]uint32, seen map[[2]uint32]bool, out [][2]uint32,
) [][2]uint32 {
	ka, kb := c.children(p[0]), c.children(p[1])
	for i := range min(len(ka), len(kb)) {
		a, b := ka[i], kb[i]
		if c.content[a] == c.content[b] || seen[[2]uint32{a, b}] || len(seen) > 4*maxPairs {
			continue
		}
		seen[[2]uint32{a, b}] = true
		if c.name(a) != "" && c.kind(a) != btf.KindTypeTag {
			if c.nodes[a].name == c.nodes[b].name {
				out = append(out, [2]uint32{a, b})
			}
			continue
		}
		out = c.differingChildren([2]uint32{a, b}, seen, out)
	}
	return out
}
