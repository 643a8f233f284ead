package main

import (
	"github.com/rules-btf/rules_btf/e2e/internal/chart"
	"github.com/rules-btf/rules_btf/e2e/scale"
)

// draw draws the wall time over the number of executors, a panel for each of three edits.
func (r *reporting) draw() []byte {
	var panels []chart.Panel
	for _, name := range []string{"cold", "type in vmlinux", "body in vmlinux"} {
		for i := range scale.Edits {
			e := &scale.Edits[i]
			if e.Name != name {
				continue
			}
			panel := chart.Curves{Title: name, X: "executors, or cores of one machine", Y: "seconds", Log: true}
			kbuild, ours := chart.Curve{Name: "Kbuild, pahole"}, chart.Curve{Name: "rules_btf"}
			critical := chart.Curve{Name: "critical path", Dashed: true}
			for _, n := range executors {
				x, result := float64(n), r.at(e, n)
				kbuild.Points = append(kbuild.Points,
					chart.Point{X: x, Y: e.KbuildResult(r.measured, r.kernel, n).Wall})
				ours.Points = append(ours.Points, chart.Point{X: x, Y: result.Wall})
				critical.Points = append(critical.Points, chart.Point{X: x, Y: result.Critical})
			}
			panel.Curves = []chart.Curve{kbuild, ours, critical}
			panels = append(panels, panel)
		}
	}
	return chart.SVG(panels...)
}
