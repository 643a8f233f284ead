package chart

// Bars is a panel with groups of bars. Each group has its own scale: its longest bar is as
// long as that of any other group.
type Bars struct {
	Title  string
	Groups []Group
}

// Group is a group of bars with a heading.
type Group struct {
	Name string
	Bars []Bar
}

// Bar is one bar. Its label comes after it.
type Bar struct {
	Label string
	Value float64
}

const (
	barLength = 260
	barSpace  = 190 // for the label of the longest bar
	barHeight = 14
	barGap    = 4
	headLines = 18
	groupGap  = 12
)

func (b Bars) size() (float64, float64) {
	h := 28.0
	for _, g := range b.Groups {
		h += headLines + float64(len(g.Bars))*(barHeight+barGap) + groupGap
	}
	return barLength + barSpace, h
}

func (b Bars) draw(c *canvas) {
	c.text(0, 14, "start", title, b.Title)
	y := 28.0
	for _, g := range b.Groups {
		c.text(0, y+12, "start", bold, g.Name)
		y += headLines
		longest := 0.0
		for _, bar := range g.Bars {
			longest = max(longest, bar.Value)
		}
		for i, bar := range g.Bars {
			length := 0.0
			if longest > 0 {
				length = max(1, bar.Value/longest*barLength)
			}
			c.rect(0, y, length, barHeight, colors[i%len(colors)])
			c.text(length+6, y+11, "start", "", bar.Label)
			y += barHeight + barGap
		}
		y += groupGap
	}
}
