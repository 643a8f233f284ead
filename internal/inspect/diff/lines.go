package diff

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Line is one line of the definition of a type, as it is on both sides.
type Line struct {
	Old, New *Cell // in A and B; nil if the side doesn't have the line
}

// Cell is a line of a definition on one side, in C syntax.
type Cell struct {
	Text string // "struct list_head list;"
	Note string // "/*    8   16 */" (the offset and the size, in bytes), or "= 3"
	At   int64  // the number that Note begins with: an offset in bits, or a value; else 0

	Depth int    // how far the line is indented
	key   string // equal for lines that are the same member; "" for lines that have no name
}

// Changed reports whether a side lacks the line, or has a different text.
func (l Line) Changed() bool { return l.Old == nil || l.New == nil || l.Old.Text != l.New.Text }

// Moved reports whether the texts are equal, but not the offsets, sizes or values.
func (l Line) Moved() bool { return !l.Changed() && l.Old.Note != l.New.Note }

// Lines returns the definitions of a struct, union, enum or function on both sides, line by line.
// It returns nil for other kinds, and for types that only one side has.
// Rule: diff: definitions next to each other. Source: pahole class__fprintf.
func (d *Difference) Lines() []Line {
	a, b := d.pair[0], d.pair[1]
	if a == noPartner || b == noPartner {
		return nil
	}
	var sides [2][]Cell
	switch kind := d.c.kind(a); {
	case kind.IsComposite():
		for i, n := range d.pair {
			sides[i] = d.c.compositeLines(n)
		}
	case kind.IsEnum():
		for i, n := range d.pair {
			sides[i] = d.c.enumLines(n)
		}
	case kind == btf.KindFunc:
		x, y := d.c.signature(a), d.c.signature(b)
		if x == nil || y == nil {
			x, y = d.c.signatureLines(a), d.c.signatureLines(b)
		}
		sides = [2][]Cell{x, y}
	}
	return align(sides[0], sides[1])
}

// align puts the lines of two definitions side by side.
func align(a, b []Cell) []Line {
	keys := func(cells []Cell) []string {
		list := make([]string, len(cells))
		for i, c := range cells {
			list[i] = c.key
		}
		return list
	}
	to := match(keys(a), keys(b))
	for i := range to {
		if a[i].key == "" {
			to[i] = -1
		}
	}
	var out []Line
	pair := func(i, j int) {
		out = append(out, Line{&a[i], &b[j]})
	}
	same := func(i, j int) bool { return a[i].Depth == b[j].Depth && a[i].Text == b[j].Text }
	// gap aligns the lines between two pairs: equal lines at the start and at the end of the gap
	// become pairs too.
	gap := func(i, endA, j, endB int) {
		for ; i < endA && j < endB && same(i, j); i, j = i+1, j+1 {
			pair(i, j)
		}
		tail := 0
		for endA-tail > i && endB-tail > j && same(endA-1-tail, endB-1-tail) {
			tail++
		}
		for i < endA-tail || j < endB-tail {
			l := Line{}
			if i < endA-tail {
				l.Old = &a[i]
				i++
			}
			if j < endB-tail && (l.Old == nil || b[j].Depth == l.Old.Depth) {
				l.New = &b[j]
				j++
			}
			out = append(out, l)
		}
		for ; i < endA; i, j = i+1, j+1 {
			pair(i, j)
		}
	}
	i, j := 0, 0
	for at, in := range inOrder(to) {
		if in {
			gap(i, at, j, to[at])
			pair(at, to[at])
			i, j = at+1, to[at]+1
		}
	}
	gap(i, len(a), j, len(b))
	return out
}

// compositeLines writes a struct or union. It writes anonymous structs and unions in it in place.
func (c *comparison) compositeLines(n uint32) []Cell {
	out := []Cell{{Text: c.title(n) + " {", key: "{"}}
	out = c.memberLines(out, n, 0, "", 1)
	return append(out, Cell{Text: "};", Note: sizeNote(c.nodes[n].typ), key: "}"})
}

func (c *comparison) memberLines(
	out []Cell, n uint32, start uint64, path string, depth int,
) []Cell {
	t, kids := c.nodes[n].typ, c.children(n)
	for i, m := range c.nodes[n].blob.MembersOf(t) {
		c.work.fieldsLeft--
		off, bits := m.Bits(t.KFlag)
		f := field{name: c.element(n, i), node: kids[i], off: start + uint64(off), bits: bits}
		name := message.Printable(f.name)
		cell := Cell{Note: c.place(f).note(), At: int64(f.off), Depth: depth}
		if !c.kind(f.node).IsComposite() || c.nodes[f.node].name != 0 || depth > maxSpell ||
			len(out) >= maxFields || c.work.fieldsLeft <= 0 {
			cell.key = path + f.name
			cell.Text = c.declare(f.node, name, maxSpell) + ";"
			if bits > 0 {
				cell.Text = fmt.Sprintf("%s : %d;", strings.TrimSuffix(cell.Text, ";"), bits)
			}
			out = append(out, cell)
			continue
		}
		inner, open := path, Cell{Text: c.nestWord(f.node) + " {", Depth: depth}
		cell.Text = "};"
		if f.name != "" {
			inner = path + f.name + "."
			open.key, cell.key = inner+"{", inner+"}"
			cell.Text = "} " + name + ";"
		}
		out = append(out, open)
		out = c.memberLines(out, f.node, f.off, inner, depth+1)
		out = append(out, cell)
	}
	return out
}

// note is the offset and the size of a member, as pahole writes them.
func (p *Place) note() string { return fmt.Sprintf("/* %5s %5d */", p.at(), p.Bytes) }

func sizeNote(t *btf.Type) string { return fmt.Sprintf("/* size: %d */", t.SizeOrType) }

func (c *comparison) enumLines(n uint32) []Cell {
	t := c.nodes[n].typ
	out := []Cell{{Text: c.title(n) + " {", key: "{"}}
	for i, e := range c.nodes[n].blob.EnumsOf(t) {
		name := c.element(n, i)
		out = append(out, Cell{message.Printable(name), "= " + number(e.Value, t.KFlag),
			int64(e.Value), 1, name})
	}
	return append(out, Cell{Text: "};", Note: sizeNote(t), key: "}"})
}

// longSignature is how many bytes a function's declaration may have on one line.
const longSignature = 56

// signature writes a function's declaration on one line. If it is longer than longSignature, it
// returns nil.
func (c *comparison) signature(n uint32) []Cell {
	var params []string
	lines := c.signatureLines(n)
	if lines == nil {
		return nil
	}
	for _, l := range lines[1 : len(lines)-1] {
		params = append(params, l.Text)
	}
	text := lines[0].Text + strings.Join(params, ", ") + lines[len(lines)-1].Text
	if len(text) > longSignature {
		return nil
	}
	return []Cell{{Text: text, key: "f"}}
}

// signatureLines writes a function's declaration with one parameter a line.
func (c *comparison) signatureLines(n uint32) []Cell {
	proto := c.children(n)[0]
	if c.kind(proto) != btf.KindFuncProto {
		return nil
	}
	kids := c.children(proto)
	// The return type may be a pointer to a function; then the text goes on after the parameters.
	const mark = "\x00"
	name := message.Printable(c.name(n))
	before, after, _ := strings.Cut(c.declare(kids[0], name+mark, maxSpell), mark)
	out := []Cell{{Text: before + "(", key: "("}}
	for i, k := range kids[1:] {
		name := c.element(proto, i)
		out = append(out, Cell{Text: c.parameter(k, name).Text, Depth: 1, key: name})
	}
	return append(out, Cell{Text: ")" + after + ";", key: ")"})
}
