package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
)

// key identifies a group: all types in the group have this key.
type key struct {
	kind btf.Kind
	name uint32 // its number in the graph
	on   string // for DECL_TAG: the type that it tags
	// The field more depends on the kind. For DECL_TAG, it is the component. For anonymous structs,
	// unions and enums, it is the label: what a record has apart from its references. For other
	// kinds, such as pointers, it is the content.
	more uint32
}

// group has the types of both sides (index 0 is A) that have the same key. From each side, it has
// only one type of each content.
type group struct {
	key   key
	own   [2][]uint32 // the types in the blobs themselves
	bases int         // how many more types are in the bases
	alone [2][]uint32 // the types in own whose content the other side does not have
}

// place says where one side has a type with a given content.
type place uint8

const (
	nowhere place = iota
	inBase
	inOwn
)

// collect puts the types of one side into groups. In the parameter all, the side's blobs come first
// (the parameter own is their number), then their bases.
func (c *comparison) collect(side, own int, all []placedBlob) {
	types := [2]*int{&c.summary.TypesA, &c.summary.TypesB}[side]
	duplicates := [2]*int{&c.summary.DuplicatesA, &c.summary.DuplicatesB}[side]
	seen := make([]bool, c.contents)
	c.has[side] = make([]place, c.contents)
	for i, p := range all {
		isOwn := i < own
		if isOwn {
			*types += len(p.Types)
		}
		for n := p.at; n < p.at+uint32(len(p.Types)); n++ {
			if known := &seen[c.content[n]]; !*known {
				*known = true
				c.group(side, n, isOwn)
			} else if isOwn {
				*duplicates++
			}
		}
	}
}

// group puts a node into its group, if types of its sort are compared separately.
func (c *comparison) group(side int, n uint32, own bool) {
	kind := c.kind(n)
	asked := slices.Contains(c.opts.Kinds, kind)
	if c.opts.Kinds != nil && !asked {
		return
	}
	if c.opts.Names != nil && !slices.ContainsFunc(c.opts.Names, func(name dump.Name) bool {
		return name.Is(c.nodes[n].typ, c.name(n))
	}) {
		return
	}
	k := key{kind: kind, name: c.nodes[n].name}
	switch {
	case kind == btf.KindDeclTag:
		k.more, k.on = c.nodes[n].typ.Extra, c.spellNamed(c.children(n)[0])
	case partOfOther(kind):
		if !asked {
			return
		}
		k.more = c.content[n]
	case k.name == 0 && (kind.IsComposite() || kind.IsEnum()):
		if c.uses[n] > 0 && !asked {
			return
		}
		k.more = c.label[n]
	}
	g := c.groups[k]
	if g == nil {
		g = &group{key: k}
		c.groups[k] = g
		c.order = append(c.order, g)
	}
	if own {
		c.has[side][c.content[n]] = inOwn
		g.own[side] = append(g.own[side], n)
	} else {
		c.has[side][c.content[n]] = inBase
		g.bases++
	}
}

// report counts the types that both sides have with the same content, and returns the differences
// between the others.
func (c *comparison) report() ([]Difference, Summary) {
	for _, g := range c.order {
		for side := range 2 {
			for _, n := range g.own[side] {
				switch other := c.has[1-side][c.content[n]]; {
				case other == nowhere:
					g.alone[side] = append(g.alone[side], n)
				case side == 0 || other == inBase: // the others have already been counted
					c.summary.Equal++
				}
			}
		}
	}
	alone := 0
	for _, g := range c.order {
		alone += len(g.alone[0]) + len(g.alone[1])
	}
	list := make([]Difference, 0, alone)
	for _, g := range c.order {
		list = c.groupDifferences(g, list)
	}
	listed := c.findCauses(list)
	kinds := map[btf.Kind]*KindSummary{}
	for i := range list {
		d := &list[i]
		n := d.pair[0]
		if n == noPartner {
			n = d.pair[1]
		}
		k := kinds[c.kind(n)]
		if k == nil {
			k = &KindSummary{Kind: d.Kind}
			kinds[c.kind(n)] = k
		}
		c.summary.count(d, k)
	}
	c.summary.Kinds = []KindSummary{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		c.summary.Kinds = append(c.summary.Kinds, *kinds[kind])
	}
	// If no difference is a cause (because of Options.Kinds, for example), the Indirect ones are
	// listed.
	if c.opts.Indirect || len(listed) == 0 {
		listed = listed[:0]
		for i := range list {
			listed = append(listed, int32(i))
			c.complete(&list[i])
		}
	}
	slices.SortFunc(listed, func(i, j int32) int { return byImportance(&list[i], &list[j]) })
	out := make([]Difference, len(listed))
	for i, k := range listed {
		out[i] = list[k]
	}
	return out, c.summary
}

// groupDifferences appends the differences of a group: it pairs the types that only one side has.
func (c *comparison) groupDifferences(g *group, out []Difference) []Difference {
	a, b := g.alone[0], g.alone[1]
	if len(a)+len(b) == 0 {
		return out
	}
	for _, p := range c.pair(a, b) {
		d := Difference{Kind: strings.ToLower(g.key.kind.String()), Changes: []Change{}, c: c, pair: p}
		switch {
		case p[1] == noPartner:
			d.Class, d.Note = OnlyA, c.otherDefinitions(g, 1)
			d.Compatible = g.key.kind == btf.KindLocsec // see sites
		case p[0] == noPartner:
			d.Class, d.Note, d.Compatible = OnlyB, c.otherDefinitions(g, 0), true
		default:
			w := c.changesOf(p[0], p[1], maxPairs)
			d.Class, d.Compatible = w.class(), true
			if w.changes != nil {
				d.Changes = w.changes
			}
			for _, x := range w.changes {
				d.Compatible = d.Compatible && !x.Breaks
			}
		}
		if g.key.kind == btf.KindFwd && (d.Class == OnlyA || d.Class == OnlyB) {
			d.Class, d.Note, d.Compatible = Forward, string(d.Class), true
		}
		if d.Class != Indirect {
			c.complete(&d)
		}
		out = append(out, d)
	}
	return out
}

// complete adds to a difference that will be listed what the others don't need: its title and a
// note.
func (c *comparison) complete(d *Difference) {
	n := d.pair[0]
	if n == noPartner {
		n = d.pair[1]
	}
	d.Type = c.title(n)
	if d.Class == Indirect && len(d.Changes) == 0 {
		where, what := c.follow(d).note()
		d.Note = strings.TrimPrefix(where+": "+what, ": ")
	}
}

// otherDefinitions explains why a type has no partner although the other side (the parameter side)
// has definitions of the same name: all of them already have partners. It returns "" if the other
// side has no such definition.
func (c *comparison) otherDefinitions(g *group, side int) string {
	if n := len(g.own[side]); n > 0 && g.key.name != 0 && g.key.kind != btf.KindDeclTag {
		return fmt.Sprintf("an additional definition; the other side has only %d", n)
	}
	return ""
}
