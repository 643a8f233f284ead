package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/e2e/internal/chart"
)

// draw writes comparison.svg and linearity.svg to dir, each if its parts were measured.
func (b *bench) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if len(b.contests) > 0 {
		if err := os.WriteFile(filepath.Join(dir, "comparison.svg"), b.comparison(), 0o666); err != nil {
			return err
		}
	}
	if len(b.shards) > 0 {
		return os.WriteFile(filepath.Join(dir, "linearity.svg"), b.linearity(), 0o666)
	}
	return nil
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
