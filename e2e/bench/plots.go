package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/chart"
)

// draw writes comparison.svg, linearity.svg and modules.svg to dir, each if its parts were
// measured.
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
		{"linearity.svg", len(b.shards), b.linearity},
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

// linearity draws time and memory over the size of the DWARF, with pahole's on the whole kernel if
// it was measured on one thread.
func (b *bench) linearity() []byte {
	const x = "MB of DWARF"
	last := b.shards[len(b.shards)-1]
	whole := last.bytes / 1e6
	var wall, cpu, memory []chart.Point
	for _, s := range b.shards {
		median, _, _ := s.Wall()
		wall = append(wall, chart.Point{X: s.bytes / 1e6, Y: median.Seconds()})
		cpu = append(cpu, chart.Point{X: s.bytes / 1e6, Y: s.CPU().Seconds()})
		memory = append(memory, chart.Point{X: s.bytes / 1e6, Y: float64(s.Peak() >> 20)})
	}
	beside := chart.Curves{Title: "Time, beside pahole", X: x, Y: "seconds"}
	room := chart.Curves{Title: "Peak memory", X: x, Y: "MB"}
	for _, c := range b.contests {
		if c.name == "vmlinux, -j1" {
			median, _, _ := c.pahole.Wall()
			const name = "pahole -J -j1"
			beside.Curves = append(beside.Curves, chart.Curve{Name: name,
				Points: []chart.Point{{X: whole, Y: median.Seconds()}}})
			room.Curves = append(room.Curves, chart.Curve{Name: name,
				Points: []chart.Point{{X: whole, Y: float64(c.pahole.Peak() >> 20)}}})
		}
	}
	alone := chart.Curves{Title: "Time, one thread", X: x, Y: "seconds", Curves: []chart.Curve{
		{Name: "proportional", Points: []chart.Point{{}, wall[len(wall)-1]}, Dashed: true},
		{Name: "btfgen object -j1: wall", Points: wall},
		{Name: "user + sys", Points: cpu}}}
	beside.Curves = append(beside.Curves, chart.Curve{Name: "btfgen object -j1: wall", Points: wall})
	room.Curves = append(room.Curves, chart.Curve{Name: "btfgen object -j1", Points: memory})
	return chart.SVG(alone, beside, room)
}
