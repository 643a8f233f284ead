package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/chart"
)

// most is how many modules are drawn.
const most = 12

// sizesSVG draws how large the kernel's BTF is, and that of modules.
func sizesSVG(m *model) []byte {
	bars := chart.Bars{Title: "Bytes of BTF"}
	kernel := chart.Group{Name: "the kernel"}
	modules := chart.Group{Name: "modules: what they add to it"}
	for _, f := range m.Result {
		bar := chart.Bar{Label: fmt.Sprintf("%s: %s", f.Name, byteText(f.Bytes)), Value: float64(f.Bytes)}
		if f.Name == "vmlinux" {
			kernel.Bars = append(kernel.Bars, bar)
		} else if len(modules.Bars) < most {
			modules.Bars = append(modules.Bars, bar)
		}
	}
	bars.Groups = []chart.Group{kernel, modules}
	return chart.SVG(bars)
}

// edit is a row of the table of edits: how many actions run, with the default grain.
type edit struct {
	name string
	runs []int // of each mnemonic
}

// readEdits reads the table of what runs after an edit. A cell with two numbers has the default
// grain's last.
func readEdits(page string) (edits []edit, err error) {
	_, table, ok := strings.Cut(page, "\n| edit |")
	if !ok {
		return nil, errors.New("it has no table of edits")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for i, line := range strings.Split(table, "\n") {
		if i < 2 {
			continue // its head
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		e := edit{name: strings.TrimSpace(cells[0])}
		for _, cell := range cells[2:] {
			numbers := strings.Split(cell, ",")
			n, err := strconv.Atoi(strings.TrimSpace(numbers[len(numbers)-1]))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			e.runs = append(e.runs, n)
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// editsSVG draws how many actions run after each edit, beside those of a build from nothing.
func editsSVG(edits []edit) []byte {
	group := chart.Group{Name: "actions of BTF that run"}
	for i, e := range edits {
		sum := 0
		for _, n := range e.runs {
			sum += n
		}
		name, _, _ := strings.Cut(e.name, ":")
		if i == 0 {
			name = "a build from nothing"
		}
		group.Bars = append(group.Bars, chart.Bar{Label: fmt.Sprintf("%d: %s", sum, name),
			Value: float64(sum)})
	}
	return chart.SVG(chart.Bars{Title: "What an edit runs again", Groups: []chart.Group{group}})
}
