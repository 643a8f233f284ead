package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// key is what types must share to be in one group.
type key struct {
	kind btf.Kind
	name uint32 // its number in the graph
	on   string // for DECL_TAG: the type that it tags
	// For DECL_TAG the component; for anonymous structs, unions and enums the label, so that only
	// types with equal records are in a group; for pointers and the like the content.
	more uint32
}

// group is the types of one key on both sides (index 0 is A), one node for each content.
type group struct {
	key   key
	own   [2][]uint32 // of the blobs
	base  [2][]uint32 // of their bases
	alone [2][]uint32 // those of own whose content the other side does not have
}

// collect puts the types of one side into groups: own are its blobs, all these and their bases.
func (c *comparison) collect(side int, own Side, all []placedBlob) {
	types, duplicates := 0, 0
	seen := make([]bool, c.contents)
	for pass := range 2 {
		for _, p := range all {
			isOwn := slices.Contains(own, p.Blob)
			if isOwn != (pass == 0) || !isOwn && c.opts.OwnOnly {
				continue
			}
			for i := range p.Types {
				n := p.at + uint32(i)
				known := seen[c.content[n]]
				seen[c.content[n]] = true
				if isOwn {
					types++
					if known {
						duplicates++
					}
				}
				if !known {
					c.group(side, n, isOwn)
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

// group puts a node into its group, if types like it are compared by themselves.
func (c *comparison) group(side int, n uint32, own bool) {
	kind := c.kind(n)
	asked := slices.Contains(c.opts.Kinds, kind)
	if c.opts.Kinds != nil && !asked {
		return
	}
	k := key{kind: kind, name: c.nodes[n].name}
	switch kind {
	case btf.KindDeclTag:
		k.more, k.on = c.nodes[n].typ.Extra, c.spellNamed(c.children(n)[0])
	case btf.KindPtr, btf.KindArray, btf.KindVolatile, btf.KindConst, btf.KindRestrict,
		btf.KindFuncProto, btf.KindTypeTag:
		if !asked {
			return
		}
		k.more = c.content[n]
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		if k.name == 0 {
			if c.uses[n] > 0 && !asked {
				return
			}
			k.more = c.label[n]
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

// report counts the contents that both sides have, and explains the others.
func (c *comparison) report() ([]Difference, Summary) {
	for _, g := range c.order {
		all := [2]contentSet{c.contentSet(g.own[0], g.base[0]), c.contentSet(g.own[1], g.base[1])}
		ownA := c.contentSet(g.own[0], nil)
		for side := range 2 {
			for _, n := range g.own[side] {
				switch {
				case !all[1-side].has(c.content[n]):
					g.alone[side] = append(g.alone[side], n)
				case side == 0 || !ownA.has(c.content[n]):
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
		// What they differ because of was not found: then they are listed themselves.
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

// contentSet is a set of contents: a list if it is small, else a map.
type contentSet struct {
	list []uint32
	set  map[uint32]bool
}

// contentSet returns the contents of nodes.
func (c *comparison) contentSet(nodes, more []uint32) contentSet {
	var s contentSet
	for _, l := range [2][]uint32{nodes, more} {
		for _, n := range l {
			s.list = append(s.list, c.content[n])
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

func (s contentSet) has(content uint32) bool {
	return s.set[content] || s.set == nil && slices.Contains(s.list, content)
}

// explainGroup appends the differences of a group: it pairs the types that only one side has, and
// explains how those of each pair differ. Indirect differences are counted, and appended if
// indirect is set.
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
		case p[1] == noPartner:
			add(OnlyA, &c.summary.OnlyA, p[0], "", c.otherDefinitions(g, 1))
		case p[0] == noPartner:
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

// otherDefinitions explains why a type has no partner although the other side, side, has
// definitions of its name: they have other partners. It returns "" if the other side has no
// definition.
func (c *comparison) otherDefinitions(g *group, side int) string {
	if n := len(g.own[side]); n > 0 && g.key.name != 0 && g.key.kind != btf.KindDeclTag {
		return fmt.Sprintf("a further definition, the other side has %d", n)
	}
	return ""
}
