package diff

import "github.com/rules-btf/rules_btf/internal/btf"

// Definitions explains how types of one blob differ that have the same name.
type Definitions struct {
	c    *comparison
	at   map[*btf.Blob]uint32
	b    *btf.Blob
	left int // pairs of types that may still be looked at in all
}

// NewDefinitions prepares the types of b and its bases.
func NewDefinitions(b *btf.Blob) *Definitions {
	total := 0
	for x := b; x != nil; x = x.Base {
		total += len(x.Types)
	}
	c := &comparison{graph: newGraph(total)}
	d := &Definitions{c: c, at: map[*btf.Blob]uint32{}, b: b, left: allPairs}
	for _, p := range c.add(Side{b}) {
		d.at[p.blob] = p.at
	}
	c.class, c.classCount = c.classes()
	return d
}

// Pair is how two types of one name differ.
type Pair struct {
	Where string // such as "member bar.baz"; "" for the type itself
	What  string // such as "bit offset 64 vs 32"; "" if they are equal
	// Through is set if the two differ only because types that they refer to do: the ids of two of
	// these, of one name, that differ by themselves.
	Through *[2]uint32
}

// maxPairs bounds how many pairs of types are looked at to find what two types differ through, and
// allPairs how many for all explanations together. It takes hostile input to get there; then a
// difference is told in fewer words.
const (
	maxPairs = 10000
	allPairs = 1 << 24
)

// Explain compares the types with the ids a and b, which are to be called as in names. Of several
// differences it tells the first one of their own, in the order of the record; else the nearest one
// in what they refer to.
func (d *Definitions) Explain(a, b uint32, names [2]string) Pair {
	start := [2]uint32{d.node(a), d.node(b)}
	if d.c.class[start[0]] == d.c.class[start[1]] {
		return Pair{}
	}
	first := d.explain(start, names)
	pair := Pair{Where: first.where, What: first.what}
	if first.class != Indirect {
		return pair
	}
	seen := map[[2]uint32]bool{start: true}
	queue := [][2]uint32{start}
	defer func() { d.left = max(0, d.left-len(seen)) }()
	for i := 0; i < len(queue) && len(queue) < maxPairs && d.left > 0; i++ {
		if p := queue[i]; i > 0 && d.explain(p, names).class != Indirect {
			pair.Through = &[2]uint32{d.id(p[0]), d.id(p[1])}
			return pair
		}
		queue = d.c.differingChildren(queue[i], seen, queue)
	}
	return pair
}

func (d *Definitions) explain(p [2]uint32, names [2]string) explanation {
	budget := min(d.left, maxPairs)
	x := explainer{d.c, names, true, map[[2]uint32]bool{}, budget}
	e := x.types(p[0], p[1])
	d.left -= budget - x.budget
	return e
}

func (d *Definitions) node(id uint32) uint32 {
	for b := d.b; b != nil; b = b.Base {
		if i := id - b.StartID; id >= b.StartID && i < uint32(len(b.Types)) {
			return d.at[b] + i
		}
	}
	return missingNode
}

func (d *Definitions) id(n uint32) uint32 {
	b := d.c.nodes[n].blob
	return b.StartID + n - d.at[b]
}

// differingChildren appends the pairs of named types, equal in name but not in content, that two
// types lead to in the same way, through types without a name.
func (c *comparison) differingChildren(p [2]uint32, seen map[[2]uint32]bool,
	out [][2]uint32) [][2]uint32 {
	ka, kb := c.children(p[0]), c.children(p[1])
	for i := range min(len(ka), len(kb)) {
		a, b := ka[i], kb[i]
		if c.class[a] == c.class[b] || seen[[2]uint32{a, b}] || len(seen) > 4*maxPairs {
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
