package render

import (
	"io"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// version is that of the JSON. It changes when a field changes its meaning or goes; new fields
// don't change it.
const version = 1

// document is the JSON of a report.
type document struct {
	Format  string `json:"format"` // "btfrepro"
	Version int    `json:"version"`
	A       string `json:"a"` // the names of the logs
	B       string `json:"b"`

	Differ     int               `json:"differ"`  // actions that differ and are not allowed to
	Allowed    int               `json:"allowed"` // those that are
	Total      repro.Count       `json:"total"`
	Mnemonics  []repro.Count     `json:"mnemonics"`
	Causes     []repro.Cause     `json:"causes"`
	Actions    []*repro.Action   `json:"actions"` // that differ; those that are the same are counted
	Renamed    []repro.Renamed   `json:"renamed_configurations"`
	Allowances []repro.Allowance `json:"allowances"`
}

// JSON writes a report of the logs with the names a and b.
func JSON(w io.Writer, r *repro.Report, a, b string) error {
	d := document{Format: "btfrepro", Version: version, A: a, B: b, Total: r.Total,
		Mnemonics: emptyNotNull(r.Counts), Causes: emptyNotNull(r.Causes),
		Actions: []*repro.Action{}, Renamed: emptyNotNull(r.Renamed),
		Allowances: emptyNotNull(r.Allowances)}
	d.Differ, d.Allowed = differing(r)
	for _, i := range r.Listed {
		if r.Actions[i].Verdict != repro.Same {
			d.Actions = append(d.Actions, &r.Actions[i])
		}
	}
	return message.WriteJSON(w, &d)
}

func emptyNotNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
