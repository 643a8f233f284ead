package chart

import (
	"fmt"
	"strings"
)

// Curves is a panel with lines through points, and single points, over axes that begin at 0, or
// over logarithmic ones.
type Curves struct {
	Title, X, Y string // Y is written above its axis
	Curves      []Curve
	Log         bool // both axes; all values are above 0
}

// Curve is a line through points in the order of X, or a mark for a single one.
type Curve struct {
	Name   string
	Points []Point
	Dashed bool // a line to compare with, without marks
}

// Point is a point of a curve.
type Point struct{ X, Y float64 }

const (
	plotWidth  = 260
	plotHeight = 220
	plotLeft   = 48
	plotTop    = 56
	legendTop  = plotTop + plotHeight + 58 // below the name of the axis
	legendLine = 18
)

func (p Curves) size() (float64, float64) {
	return plotLeft + plotWidth + 24, legendTop + 4 + float64(len(p.Curves))*legendLine
}

func (p Curves) draw(c *canvas) {
	horizontal, vertical := p.axes()
	scale := func(q Point) (x, y float64) {
		return plotLeft + horizontal.at(q.X)*plotWidth, plotTop + plotHeight*(1-vertical.at(q.Y))
	}
	c.text(0, 14, "start", title, p.Title)
	c.text(0, plotTop-14, "start", "", p.Y)
	for _, v := range vertical.ticks() {
		y := plotTop + plotHeight*(1-vertical.at(v))
		c.line(plotLeft, y, plotLeft+plotWidth, y, `stroke="`+faint+`"`)
		c.text(plotLeft-6, y+4, "end", "", number(v))
	}
	for _, v := range horizontal.ticks() {
		x := plotLeft + horizontal.at(v)*plotWidth
		c.line(x, plotTop+plotHeight, x, plotTop+plotHeight+5, `stroke="`+ink+`"`)
		c.text(x, plotTop+plotHeight+19, "middle", "", number(v))
	}
	c.line(plotLeft, plotTop+plotHeight, plotLeft+plotWidth, plotTop+plotHeight, `stroke="`+ink+`"`)
	c.text(plotLeft+plotWidth, plotTop+plotHeight+36, "end", "", p.X)
	y := float64(legendTop)
	for i, curve := range p.Curves {
		color := colors[i%len(colors)]
		line := fmt.Sprintf(`stroke="%s" stroke-width="2"`, color)
		if curve.Dashed {
			line = fmt.Sprintf(`stroke="%s" stroke-dasharray="5 4"`, color)
		}
		path := make([]string, len(curve.Points))
		for k, q := range curve.Points {
			px, py := scale(q)
			path[k] = number(px) + "," + number(py)
			if !curve.Dashed {
				mark(c, px, py, color)
			}
		}
		if len(path) > 1 {
			fmt.Fprintf(c, "<polyline points=\"%s\" fill=\"none\" %s/>\n", strings.Join(path, " "), line)
			c.line(plotLeft, y, plotLeft+24, y, line)
		}
		if !curve.Dashed {
			mark(c, plotLeft+12, y, color)
		}
		c.text(plotLeft+32, y+4, "start", "", curve.Name)
		y += legendLine
	}
}

func mark(c *canvas, x, y float64, color string) {
	fmt.Fprintf(c, "<circle cx=\"%s\" cy=\"%s\" r=\"4\" fill=\"%s\"/>\n", number(x), number(y), color)
}
