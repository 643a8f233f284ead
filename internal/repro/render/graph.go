package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// The graph has a node for each of the first causes, and right of them one for the actions of a
// mnemonic and verdict that are equally far from their causes.
const (
	maxGraphCauses = 12
	maxColumns     = 7 // of actions; farther ones are in the last
	maxRows        = 16

	boxWidth, boxHeight = 185, 40
	gapX, gapY          = 62, 12
	laneHeight          = 6 // of a line that passes a column
	margin              = 8
)

// node is a box of the graph.
type node struct {
	Class       string // of CSS
	Line1       string
	Line2       string
	Title       string
	X, Y        int
	height      int
	column      int
	count       int
	name        string // what orders nodes that count the same
	left, edges float64
}

// edge is a line between boxes.
type edge struct {
	Path  string // of SVG
	Width string
	Title string
}

// graph is a drawing.
type graph struct {
	Width, Height int
	Nodes         []*node
	Edges         []edge
}

// nodeKey is what the actions of one node have in common.
type nodeKey struct {
	column   int
	mnemonic string
	verdict  repro.Verdict
}

type link struct{ from, to *node }

// draw lays out the graph of a report, nil if nothing has a cause.
func draw(r *repro.Report) *graph {
	if len(r.Causes) == 0 {
		return nil
	}
	g := &graph{}
	causes := g.causes(r)
	actions := g.actions(r)
	links := map[link]int{}
	byCause := newCounts(func(n int32) *node { return causes[n] })
	byAction := newCounts(func(n int32) *node { return actions[int(n)] })
	for _, i := range r.Listed {
		act := &r.Actions[i]
		to := actions[i]
		if to == nil {
			continue
		}
		inputs, others := act.Own()
		byCause.of(inputs).link(links, to)
		byCause.count(nil, others).link(links, to)
		byAction.of(act.Upstream()).link(links, to)
	}
	links = g.lanes(links)
	g.place(links)
	g.connect(links)
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n *node) bool { return n.Class == lane })
	return g
}

// count is how often nodes are in a list.
type count map[*node]int

// link adds links to a node from those that are left of it.
func (c count) link(links map[link]int, to *node) {
	for from, n := range c {
		if from.column < to.column {
			links[link{from, to}] += n
		}
	}
}

// counts has the counts of lists, which many actions have in common.
type counts struct {
	lists map[*repro.List]count
	node  func(number int32) *node // or nil
}

func newCounts(node func(int32) *node) *counts {
	return &counts{map[*repro.List]count{nil: nil}, node}
}

// of returns the count of a list.
func (c *counts) of(list *repro.List) count {
	var todo []*repro.List
	for l := list; c.lists[l] == nil && l != nil; l = l.Parent {
		todo = append(todo, l)
	}
	for _, l := range slices.Backward(todo) {
		c.lists[l] = c.count(c.lists[l.Parent], l.Items)
	}
	return c.lists[list]
}

// count returns a count with some numbers more.
func (c *counts) count(of count, numbers []int32) count {
	all := count{}
	maps.Copy(all, of)
	for _, n := range numbers {
		if from := c.node(n); from != nil {
			all[from]++
		}
	}
	return all
}

const lane = "lane"

// lanes cuts links that pass columns into ones from column to column, so that they don't cross a
// box: in each column that it passes, a link has a lane, which all links to one box share.
func (g *graph) lanes(links map[link]int) map[link]int {
	type place struct {
		to     *node
		column int
	}
	made := map[place]*node{}
	short := map[link]int{}
	for _, l := range sortLinks(links) {
		from := l.from
		for column := from.column + 1; column < l.to.column; column++ {
			n := made[place{l.to, column}]
			if n == nil {
				n = &node{Class: lane, Line1: l.to.Line1, column: column, height: laneHeight,
					name: l.to.name + fmt.Sprint(l.to.column)}
				made[place{l.to, column}] = n
				g.Nodes = append(g.Nodes, n)
			}
			short[link{from, n}] += links[l]
			n.count += links[l]
			from = n
		}
		short[link{from, l.to}] += links[l]
	}
	return short
}

// sortLinks returns links in an order that doesn't depend on the map.
func sortLinks(links map[link]int) []link {
	list := slices.Collect(maps.Keys(links))
	compare := func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(a.Y, b.Y),
			cmp.Compare(a.Class, b.Class), cmp.Compare(a.name, b.name))
	}
	slices.SortFunc(list, func(a, b link) int {
		return cmp.Or(compare(a.from, b.from), compare(a.to, b.to))
	})
	return list
}

// causes makes the nodes of the causes, by index: one for each of the first, one for the others.
func (g *graph) causes(r *repro.Report) []*node {
	of := make([]*node, len(r.Causes))
	var others *node
	for i := range r.Causes {
		c := &r.Causes[i]
		if i >= maxGraphCauses && len(r.Causes) > maxGraphCauses+1 {
			if others == nil {
				others = &node{Class: "cause", Line1: "other causes", name: "~", height: boxHeight}
				g.Nodes = append(g.Nodes, others)
			}
			others.count += 1
			others.Line2 = fmt.Sprint(others.count)
			others.Title = fmt.Sprintf("%d more causes; the list below has them", others.count)
			of[i] = others
			continue
		}
		text := causeText(c)
		kind, rest := c.Kind, shortHashes(c.Text)
		switch {
		case c.Kind == string(repro.Input):
			kind, rest = splitCause(text)
		case c.Action >= 0:
			rest = r.Actions[c.Action].Label
		}
		of[i] = &node{Class: "cause", Line1: cut(kind), Line2: cutLeft(rest), Title: text + " – " +
			reach(c), name: fmt.Sprintf("%06d", i), count: c.Direct + c.Downstream, height: boxHeight}
		g.Nodes = append(g.Nodes, of[i])
	}
	return of
}

// splitCause splits "source file lib/a.c" before the file.
func splitCause(text string) (kind, file string) {
	for _, k := range []string{"source file", "external file", "generated file", "input"} {
		if len(text) > len(k) && text[:len(k)+1] == k+" " {
			return k, text[len(k)+1:]
		}
	}
	return "input", text
}

// actions makes the nodes of the actions that have causes, by index of the action.
func (g *graph) actions(r *repro.Report) map[int]*node {
	groups := map[nodeKey][]int{}
	for _, i := range r.Listed {
		act := &r.Actions[i]
		if len(act.Causes) > 0 {
			k := nodeKey{1 + min(act.Deeper, maxColumns-1), act.Mnemonic, act.Verdict}
			groups[k] = append(groups[k], i)
		}
	}
	columns := map[int][]nodeKey{}
	for k := range groups {
		columns[k.column] = append(columns[k.column], k)
	}
	of := map[int]*node{}
	for column := range maxColumns + 1 {
		keys := columns[column]
		slices.SortFunc(keys, func(x, y nodeKey) int {
			return cmp.Or(cmp.Compare(len(groups[y]), len(groups[x])), cmp.Compare(x.mnemonic, y.mnemonic),
				cmp.Compare(x.verdict, y.verdict))
		})
		if len(keys) > maxRows+1 {
			var others []int
			for _, k := range keys[maxRows:] {
				others = append(others, groups[k]...)
			}
			keys = append(keys[:maxRows:maxRows], nodeKey{column: column, mnemonic: "other mnemonics"})
			groups[keys[maxRows]] = others
		}
		for _, k := range keys {
			list := groups[k]
			n := &node{Class: class(k.verdict), Line1: cut(k.mnemonic), column: column,
				Line2: strings.TrimSuffix(fmt.Sprintf("%d × %s", len(list), k.verdict), " × "),
				count: len(list), name: k.mnemonic + string(k.verdict), height: boxHeight}
			n.Title = fmt.Sprintf("%s %s: %s", k.mnemonic, k.verdict, message.Count(len(list), "action"))
			for _, i := range list[:min(len(list), 5)] {
				n.Title += "\n" + r.Actions[i].Label
			}
			g.Nodes = append(g.Nodes, n)
			for _, i := range list {
				of[i] = n
			}
		}
	}
	return of
}

// place puts the nodes in columns. In each they are in the order of the means of the places of the
// nodes that lead to them, so that few lines cross.
func (g *graph) place(links map[link]int) {
	columns := map[int][]*node{}
	last := 0
	for _, n := range g.Nodes {
		columns[n.column] = append(columns[n.column], n)
		last = max(last, n.column)
	}
	x := margin
	for column := range last + 1 {
		list := columns[column]
		if len(list) == 0 {
			continue
		}
		if column > 0 {
			for _, n := range list {
				n.left, n.edges = 0, 0
			}
			for l := range links {
				if l.to.column == column {
					l.to.left += float64(2*l.from.Y + l.from.height) // whole: sums have no order
					l.to.edges++
				}
			}
			slices.SortFunc(list, func(a, b *node) int {
				return cmp.Or(cmp.Compare(a.left/max(1, a.edges), b.left/max(1, b.edges)),
					cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
			})
		}
		y := margin
		for _, n := range list {
			n.X, n.Y = x, y
			y += n.height + gapY
		}
		g.Height = max(g.Height, y-gapY+margin)
		x += boxWidth + gapX
	}
	g.Width = x - gapX + margin
}

// connect draws the lines.
func (g *graph) connect(links map[link]int) {
	for _, l := range sortLinks(links) {
		x1, y1 := l.from.X+boxWidth, l.from.Y+l.from.height/2
		x2, y2 := l.to.X, l.to.Y+l.to.height/2
		bend := (x2 - x1) / 2
		g.Edges = append(g.Edges, edge{
			Path: fmt.Sprintf("M%d %d C%d %d %d %d %d %d",
				x1, y1, x1+bend, y1, x2-bend, y2, x2, y2),
			Width: width(links[l]),
			Title: fmt.Sprintf("%s → %s: %d", l.from.Line1, l.to.Line1, links[l]),
		})
	}
	for _, n := range g.Nodes {
		if n.Class == lane {
			y := n.Y + n.height/2
			g.Edges = append(g.Edges, edge{Path: fmt.Sprintf("M%d %d H%d", n.X, y, n.X+boxWidth),
				Width: width(n.count), Title: fmt.Sprintf("→ %s: %d", n.Line1, n.count)})
		}
	}
}

// width is that of a line that stands for so many inputs.
func width(count int) string { return fmt.Sprintf("%.1f", 1.2+math.Log10(float64(count))) }

// class is the CSS class of a verdict.
func class(v repro.Verdict) string {
	return map[repro.Verdict]string{repro.Same: "same", repro.NonDeterministic: "nondet",
		repro.KeyChanged: "key", repro.Downstream: "down", repro.CutOff: "cut",
		repro.OnlyA: "only", repro.OnlyB: "only", "": "cause"}[v]
}

const maxText = 27 // characters in a box

func cut(s string) string {
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return s
}

// cutLeft keeps the end, which says most of a path.
func cutLeft(s string) string {
	if r := []rune(s); len(r) > maxText {
		return "…" + string(r[len(r)-maxText+1:])
	}
	return s
}
