package main

import (
	"fmt"
	"html"
	"strings"
)

// A box of the graph, with the place of its upper left corner.
type box struct {
	x, y  int
	title string
	lines []string
	file  bool // something that is read, not an action
}

const (
	boxWidth  = 216
	boxHeight = 78
	ink       = "#1f2328"
	edge      = "#59636e"
)

// graphSVG draws the kinds of actions, with how many there are and how long they took.
func graphSVG(m *model) []byte {
	const column, row = 254, 108
	at := func(c, r int) (int, int) { return 16 + c*column, 40 + r*row }
	var boxes []box
	place := map[string]box{}
	add := func(name string, c, r int, b box) {
		b.x, b.y = at(c, r)
		place[name] = b
		boxes = append(boxes, b)
	}
	action := func(mnemonic string, modules bool, c, r int) {
		for _, s := range m.Steps {
			if s.Mnemonic == mnemonic && s.Modules == modules {
				add(fmt.Sprint(mnemonic, modules), c, r, box{title: mnemonic, lines: s.lines()})
			}
		}
	}
	add("objects", 0, 0, box{title: "objects", lines: []string{"of vmlinux"}, file: true})
	add("vmlinux", 0, 1, box{title: "vmlinux", lines: []string{"the linked kernel"}, file: true})
	add("ko", 0, 2, box{title: "modules", lines: []string{"objects, *.ko"}, file: true})
	action("BtfGen", false, 1, 0)
	action("BtfMerge", false, 2, 0)
	action("BtfFacts", false, 1, 1)
	action("BtfLink", false, 3, 1)
	action("BtfBase", false, 3, 2)
	action("BtfGen", true, 1, 2)
	action("BtfFacts", true, 1, 3)
	action("BtfLink", true, 3, 3)

	var b strings.Builder
	width, height := 16+4*column-(column-boxWidth)+16, 40+4*row-(row-boxHeight)+16
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" `+
		`viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12" fill="%[3]s">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" `+
		`orient="auto"><path d="M0 0L8 4L0 8z" fill="%[4]s"/></marker></defs>
<rect width="%[1]d" height="%[2]d" fill="#ffffff"/>
<text x="16" y="22" font-size="14" font-weight="bold">A build from nothing: actions, and the time `+
		`of all of them together</text>
`, width, height, ink, edge)
	for _, e := range [][2]string{
		{"objects", "BtfGenfalse"}, {"BtfGenfalse", "BtfMergefalse"}, {"BtfMergefalse", "BtfLinkfalse"},
		{"vmlinux", "BtfFactsfalse"}, {"BtfFactsfalse", "BtfLinkfalse"},
		{"BtfLinkfalse", "BtfBasefalse"}, {"BtfBasefalse", "BtfLinktrue"},
		{"ko", "BtfGentrue"}, {"BtfGentrue", "BtfLinktrue"},
		{"ko", "BtfFactstrue"}, {"BtfFactstrue", "BtfLinktrue"},
	} {
		from, ok := place[e[0]]
		to, also := place[e[1]]
		if !ok || !also {
			continue
		}
		fmt.Fprintf(&b, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" marker-end=\"url(#tip)\"/>\n",
			curve(from, to), edge)
	}
	for _, x := range boxes {
		x.draw(&b)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// curve is the path of an edge: down within a column, else to the right.
func curve(from, to box) string {
	if from.x == to.x {
		x := from.x + boxWidth/2
		return fmt.Sprintf("M%d %dL%d %d", x, from.y+boxHeight, x, to.y)
	}
	x0, y0, x1, y1 := from.x+boxWidth, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	half := (x1 - x0) / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x0, y0, x0+half, y0, x1-half, y1, x1, y1)
}

func (x box) draw(b *strings.Builder) {
	fill := "#ddf4ff"
	if x.file {
		fill = "#f6f8fa"
	}
	fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" "+
		"fill=\"%s\" stroke=\"%s\"/>\n", x.x, x.y, boxWidth, boxHeight, fill, edge)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", x.x+8, x.y+17,
		html.EscapeString(x.title))
	for i, line := range x.lines {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x.x+8, x.y+34+17*i,
			html.EscapeString(line))
	}
}

// lines say what a box says of a step.
func (s step) lines() []string {
	actions := "an action of " + seconds(s.Milliseconds)
	if s.Actions > 1 {
		actions = fmt.Sprintf("%d actions, %s, up to %s", s.Actions, seconds(s.Milliseconds),
			seconds(s.Longest))
	}
	return []string{actions, "read " + byteText(s.In), "written " + byteText(s.Out)}
}

func seconds(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

func byteText(n int64) string {
	switch {
	case n < 1e5:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1e6:
		return fmt.Sprintf("%.0f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
