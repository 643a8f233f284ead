// Package chart draws panels side by side, as SVG. The same numbers
// give the same bytes. It replaces a plotting library, which would bring a dozen modules
// and fonts.
package chart

import (
	"fmt"
	"html"
	"strings"
)

// Panel is one picture of a figure.
type Panel interface {
	size() (width, height float64)
	draw(c *canvas)
}

// colors of series, in order; the first one is for the reference.
var colors = []string{"#9198a1", "#0969da", "#bc4c00", "#1a7f37", "#8250df"}

const (
	ink    = "#1f2328"
	faint  = "#d1d9e0"
	margin = 16
)

// SVG draws panels from left to right.
func SVG(panels ...Panel) []byte {
	var c canvas
	x, height := float64(margin), 0.0
	for _, p := range panels {
		w, h := p.size()
		fmt.Fprintf(&c, "<g transform=\"translate(%s,%d)\">\n", number(x), margin)
		p.draw(&c)
		c.WriteString("</g>\n")
		x, height = x+w+2*margin, max(height, h)
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" `+
		`viewBox="0 0 %[1]s %[2]s" font-family="sans-serif" font-size="12" fill="%[3]s">
<rect width="%[1]s" height="%[2]s" fill="#ffffff"/>
%[4]s</svg>
`, number(x-margin), number(height+2*margin), ink, c.String())
}

// canvas collects elements.
type canvas struct{ strings.Builder }

// number writes a coordinate, or the label of a tick, without needless digits.
func number(v float64) string {
	s := fmt.Sprintf("%.2f", v)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// text writes s with its baseline at y; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, style, s string) {
	fmt.Fprintf(c, "<text x=\"%s\" y=\"%s\" text-anchor=\"%s\"%s>%s</text>\n", number(x), number(y),
		anchor, style, html.EscapeString(s))
}

func (c *canvas) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(c, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"/>\n", number(x),
		number(y), number(w), number(h), fill)
}

const (
	bold  = ` font-weight="bold"`
	title = ` font-weight="bold" font-size="14"`
)
