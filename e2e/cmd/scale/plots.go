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
			panel := chart.Curves{
				Title: name, X: "executors, or cores of one machine", Y: "seconds", Log: true,
			}
			kbuild := chart.Curve{Name: "Kbuild, one machine"}
			ours := chart.Curve{Name: "rules_btf, executors"}
			local := chart.Curve{Name: "rules_btf, one machine", Dashed: true}
			for _, n := range executors {
				x := float64(n)
				kbuild.Points = append(kbuild.Points,
					chart.Point{X: x, Y: e.KbuildResult(r.measured, r.kernel, n).Wall})
				ours.Points = append(ours.Points, chart.Point{X: x, Y: r.at(e, n).Wall})
				local.Points = append(local.Points, chart.Point{X: x, Y: r.onOne(e, n).Wall})
			}
			panel.Curves = []chart.Curve{kbuild, ours, local}
			panels = append(panels, panel)
		}
	}
	return chart.SVG(panels...)
}
