package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/chart"
)

// draw writes comparison.svg and modules.svg to dir, each if its parts were measured.
func (b *bench) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, d := range []struct {
		name     string
		measured int
		draw     func() []byte
	}{
		{"comparison.svg", len(b.contests), b.comparison},
		{"modules.svg", len(b.trees), b.modulesDrawing},
	} {
		if d.measured == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, d.name), d.draw(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// modulesDrawing draws what a module costs, and the bytes of all modules, for each tree.
func (b *bench) modulesDrawing() []byte {
	cpu := chart.Bars{Title: "Processor time for each module"}
	bytes := chart.Bars{Title: "BTF of all modules"}
	for _, t := range b.trees {
		name := fmt.Sprintf("%s: %d modules", t.name, t.modules)
		times, sizes := chart.Group{Name: name}, chart.Group{Name: name}
		for i, c := range t.cpu {
			label := fmt.Sprintf("%s: %.1f ms", c.way, 1000*c.seconds)
			if i > 0 {
				label += ", " + fraction(t.cpu[0].seconds/c.seconds)
			}
			times.Bars = append(times.Bars, chart.Bar{Label: label, Value: c.seconds})
		}
		for i, s := range t.sizes {
			label := fmt.Sprintf("%s: %.1f MB", s.what, float64(s.bytes)/1e6)
			if i > 0 {
				label += fmt.Sprintf(", %.0f%%", 100*float64(s.bytes)/float64(t.sizes[0].bytes))
			}
			sizes.Bars = append(sizes.Bars, chart.Bar{Label: label, Value: float64(s.bytes)})
		}
		cpu.Groups, bytes.Groups = append(cpu.Groups, times), append(bytes.Groups, sizes)
	}
	return chart.SVG(cpu, bytes)
}

// comparison draws the wall time and the memory of all contests.
func (b *bench) comparison() []byte {
	wall, memory := chart.Bars{Title: "Wall time"}, chart.Bars{Title: "Peak memory"}
	for _, c := range b.contests {
		theirs, _, _ := c.pahole.Wall()
		ours, _, _ := c.ours.Wall()
		wall.Groups = append(wall.Groups, chart.Group{Name: c.name, Bars: []chart.Bar{
			{Label: "pahole: " + rounded(theirs), Value: theirs.Seconds()},
			{Label: fmt.Sprintf("rules_btf: %s, %s", rounded(ours), timeRatio(c.pahole, c.ours)),
				Value: ours.Seconds()},
		}})
		memory.Groups = append(memory.Groups, chart.Group{Name: c.name, Bars: []chart.Bar{
			{Label: fmt.Sprintf("pahole: %d MB", c.pahole.Peak()>>20), Value: float64(c.pahole.Peak())},
			{Label: fmt.Sprintf("rules_btf: %d MB, %s", c.ours.Peak()>>20, memoryRatio(c.pahole, c.ours)),
				Value: float64(c.ours.Peak())},
		}})
	}
	return chart.SVG(wall, memory)
}
