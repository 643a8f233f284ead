// Package diff compares the content of two BTFs, whatever their ids and order.
//
// The types of both sides make one graph; its coarsest bisimulation says which types have equal
// content, exactly and with cycles. Definitions that share a kind and a name are compared as sets.
// A type that differs only because a type that it refers to differs is counted, not listed, unless
// asked for.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// Side is one side of a comparison: a blob, with its bases behind it. Several blobs, as a linker
// concatenates them, are one side too.
type Side []*btf.Blob

// Options chooses what is compared and listed.
type Options struct {
	// Kinds keeps the named kinds; nil means all. Pointers, arrays and the like are compared where
	// named types and unreferenced structs, unions and enums use them; asked for here, they are
	// compared by themselves.
	Kinds []btf.Kind
	// OwnOnly compares the blobs' own types alone. Otherwise a type that is new on one side and in
	// a base of the other is no difference.
	OwnOnly bool
	// Indirect also lists types that differ only through types that are listed.
	Indirect bool
}

// Class sorts differences.
type Class string

const (
	OnlyA   Class = "only in A"
	OnlyB   Class = "only in B"
	Differs Class = "differs"
	// Forward: the only difference is that one side declares what the other defines.
	Forward Class = "forward"
	// Indirect: the types that it refers to differ.
	Indirect Class = "indirect"
)

// Difference is one difference.
type Difference struct {
	Class Class  `json:"class"`
	Kind  string `json:"kind"`            // such as "struct"
	Type  string `json:"type"`            // such as "struct foo" or `decl_tag "kfunc" on func foo`
	Where string `json:"where,omitempty"` // such as "member bar.baz"; "" for the type itself
	What  string `json:"what,omitempty"`  // such as "type u32 vs u64"
}

// String is the difference as one line: "differs: struct foo: member bar.baz: type u32 vs u64".
func (d Difference) String() string {
	parts := []string{string(d.Class), d.Type}
	for _, p := range []string{d.Where, d.What} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Summary counts.
type Summary struct {
	TypesA   int `json:"types_a"`  // own types of side A
	TypesB   int `json:"types_b"`  //
	Equal    int `json:"equal"`    // compared types, by content, that both sides have
	OnlyA    int `json:"only_a"`   //
	OnlyB    int `json:"only_b"`   //
	Differs  int `json:"differs"`  //
	Forward  int `json:"forward"`  //
	Indirect int `json:"indirect"` // counted whether they are listed or not
	// own types of equal content to one before them, of any kind; no difference
	DuplicatesA int `json:"duplicates_a"`
	DuplicatesB int `json:"duplicates_b"` //
}

// Same says whether nothing differs.
func (s Summary) Same() bool { return s.OnlyA+s.OnlyB+s.Differs+s.Forward+s.Indirect == 0 }

// String is the summary as one line.
func (s Summary) String() string {
	if s.Same() {
		return fmt.Sprintf("equal: %d types compared (%d in A, %d in B)", s.Equal, s.TypesA, s.TypesB)
	}
	return fmt.Sprintf("%d equal, %d only in A, %d only in B, %d differ, %d forward declarations, %d differ only through those (%d types in A, %d in B)",
		s.Equal, s.OnlyA, s.OnlyB, s.Differs, s.Forward, s.Indirect, s.TypesA, s.TypesB)
}

// Compare lists what differs, sorted by class, then by type.
func Compare(a, b Side, opts Options) ([]Difference, Summary) {
	total := 0
	for _, s := range []Side{a, b} {
		for _, x := range s {
			for ; x != nil; x = x.Base {
				total += len(x.Types)
			}
		}
	}
	c := &comparison{graph: newGraph(total), opts: opts, groups: map[key]*group{}}
	sides := [2][]placed{c.add(a), c.add(b)}
	c.countUses()
	c.class, c.classCount = c.classes()
	for i, s := range [2]Side{a, b} {
		c.collect(i, s, sides[i])
	}
	return c.report()
}

// key is what definitions must share to be compared with each other.
type key struct {
	kind  btf.Kind
	name  uint32
	label uint32 // DECL_TAG: the component; types without a name: the label; others: the class
	on    string // DECL_TAG: what it tags
}

// group is the definitions of one key on both sides: a node for each content.
type group struct {
	key   key
	own   [2][]uint32
	base  [2][]uint32 // from bases, only to match with
	alone [2][]uint32 // of own: those that the other side has not
}

type comparison struct {
	*graph
	opts       Options
	class      []uint32
	classCount int
	groups     map[key]*group
	order      []*group
	summary    Summary
}

// collect puts one side's types into groups.
func (c *comparison) collect(side int, own Side, all []placed) {
	types, duplicates := 0, 0
	seen := make([]bool, c.classCount)
	for pass := range 2 {
		for _, p := range all {
			isOwn := slices.Contains(own, p.blob)
			if isOwn != (pass == 0) || !isOwn && c.opts.OwnOnly {
				continue
			}
			for i := range p.blob.Types {
				n := p.at + uint32(i)
				known := seen[c.class[n]]
				seen[c.class[n]] = true
				if isOwn {
					types++
					if known {
						duplicates++
					}
				}
				if !known {
					c.root(side, n, isOwn)
				}
			}
		}
	}
	if side == 0 {
		c.summary.TypesA, c.summary.DuplicatesA = types, duplicates
	} else {
		c.summary.TypesB, c.summary.DuplicatesB = types, duplicates
	}
}

// root puts a node into its group, if nodes like it are compared by themselves.
func (c *comparison) root(side int, n uint32, own bool) {
	kind := c.kind(n)
	asked := slices.Contains(c.opts.Kinds, kind)
	if c.opts.Kinds != nil && !asked {
		return
	}
	k := key{kind: kind, name: c.nodes[n].name}
	switch kind {
	case btf.KindDeclTag:
		k.label, k.on = c.nodes[n].typ.Extra, c.spellNamed(c.children(n)[0])
	case btf.KindPtr, btf.KindArray, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindFuncProto, btf.KindTypeTag:
		if !asked {
			return
		}
		k.label = c.class[n]
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		if k.name == 0 {
			if c.uses[n] > 0 && !asked {
				return
			}
			k.label = c.label[n]
		}
	}
	g := c.groups[k]
	if g == nil {
		g = &group{key: k}
		c.groups[k] = g
		c.order = append(c.order, g)
	}
	if own {
		g.own[side] = append(g.own[side], n)
	} else {
		g.base[side] = append(g.base[side], n)
	}
}

// report matches the groups' contents and explains the rest.
func (c *comparison) report() ([]Difference, Summary) {
	for _, g := range c.order {
		all := [2]classSet{c.classSet(g.own[0], g.base[0]), c.classSet(g.own[1], g.base[1])}
		ownA := c.classSet(g.own[0], nil)
		for side := range 2 {
			for _, n := range g.own[side] {
				switch {
				case !all[1-side].has(c.class[n]):
					g.alone[side] = append(g.alone[side], n)
				case side == 0 || !ownA.has(c.class[n]):
					c.summary.Equal++
				}
			}
		}
	}
	var out []Difference
	for _, g := range c.order {
		out = c.explainGroup(g, c.opts.Indirect, out)
	}
	if len(out) == 0 && c.summary.Indirect > 0 {
		// Nothing to be found that they differ through: then they are told themselves.
		c.summary.Indirect = 0
		for _, g := range c.order {
			out = c.explainGroup(g, true, out)
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Where, b.Where), cmp.Compare(a.What, b.What))
	})
	return out, c.summary
}

// classSet is a few classes; a map only where there are many.
type classSet struct {
	list []uint32
	set  map[uint32]bool
}

func (c *comparison) classSet(nodes, more []uint32) classSet {
	var s classSet
	for _, l := range [2][]uint32{nodes, more} {
		for _, n := range l {
			s.list = append(s.list, c.class[n])
		}
	}
	if len(s.list) > 16 {
		s.set = make(map[uint32]bool, len(s.list))
		for _, x := range s.list {
			s.set[x] = true
		}
	}
	return s
}

func (s classSet) has(class uint32) bool {
	return s.set[class] || s.set == nil && slices.Contains(s.list, class)
}

// explainGroup pairs what only one side has and says how the pairs differ. Indirect differences are
// counted, and listed if asked for.
func (c *comparison) explainGroup(g *group, indirect bool, out []Difference) []Difference {
	a, b := g.alone[0], g.alone[1]
	if len(a)+len(b) == 0 {
		return out
	}
	add := func(class Class, count *int, n uint32, where, what string) {
		if g.key.kind == btf.KindFwd && (class == OnlyA || class == OnlyB) {
			what, class, count = string(class), Forward, &c.summary.Forward
		}
		*count++
		out = append(out, Difference{class, strings.ToLower(g.key.kind.String()), c.title(n), where,
			what})
	}
	for _, p := range c.pair(a, b) {
		switch {
		case p[1] == none:
			add(OnlyA, &c.summary.OnlyA, p[0], "", c.otherDefinitions(g, 1))
		case p[0] == none:
			add(OnlyB, &c.summary.OnlyB, p[1], "", c.otherDefinitions(g, 0))
		default:
			switch e := c.explain(p[0], p[1]); e.class {
			case Forward:
				add(Forward, &c.summary.Forward, p[0], e.where, e.what)
			case Indirect:
				if !indirect {
					c.summary.Indirect++
					continue
				}
				add(Indirect, &c.summary.Indirect, p[0], e.where, e.what)
			default:
				add(Differs, &c.summary.Differs, p[0], e.where, e.what)
			}
		}
	}
	return out
}

// otherDefinitions says that the other side has definitions of the name, which have other partners.
func (c *comparison) otherDefinitions(g *group, side int) string {
	if n := len(g.own[side]); n > 0 && g.key.name != 0 && g.key.kind != btf.KindDeclTag {
		return fmt.Sprintf("a further definition, the other side has %d", n)
	}
	return ""
}

// pair finds partners among definitions of one name: first those with the most in common. none
// stands for no partner.
func (c *comparison) pair(a, b []uint32) [][2]uint32 {
	var pairs [][2]uint32
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	take := func(i, j int) {
		usedA[i], usedB[j] = true, true
		pairs = append(pairs, [2]uint32{a[i], b[j]})
	}
	if len(a)+len(b) > 2 {
		c.pairByText(a, b, take)
	}
	const many = 256 // with more pairs to choose from, definitions are paired as they come
	if n := len(a) * len(b); n > 1 && n <= many {
		for want := 2; want > 0; want-- {
			for i := range a {
				for j := range b {
					if !usedA[i] && !usedB[j] && c.likeness(a[i], b[j]) >= want {
						take(i, j)
					}
				}
			}
		}
	}
	j := 0
	for i := range a {
		if usedA[i] {
			continue
		}
		for j < len(b) && usedB[j] {
			j++
		}
		if j < len(b) {
			take(i, j)
		} else {
			pairs = append(pairs, [2]uint32{a[i], none})
		}
	}
	for j := range b {
		if !usedB[j] {
			pairs = append(pairs, [2]uint32{none, b[j]})
		}
	}
	return pairs
}

// pairByText pairs definitions whose records read the same, so that only types that they refer to
// differ.
func (c *comparison) pairByText(a, b []uint32, take func(i, j int)) {
	text := func(n uint32) string {
		var t strings.Builder
		fmt.Fprint(&t, c.label[n])
		for _, k := range c.children(n) {
			t.WriteByte(0)
			t.WriteString(c.spell(k))
		}
		return t.String()
	}
	byText := map[string][]int{}
	for j := range b {
		k := text(b[j])
		byText[k] = append(byText[k], j)
	}
	for i := range a {
		k := text(a[i])
		if js := byText[k]; len(js) > 0 {
			take(i, js[0])
			byText[k] = js[1:]
		}
	}
}

// likeness is 2 if two records are equal but for references, 1 if size and number of elements are.
func (c *comparison) likeness(a, b uint32) int {
	if c.label[a] == c.label[b] {
		return 2
	}
	if x, y := c.nodes[a].typ, c.nodes[b].typ; x.SizeOrType == y.SizeOrType && x.Vlen == y.Vlen {
		return 1
	}
	return 0
}
