package render

import (
	"io"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// version is the version of the JSON. It increases when a field changes its meaning or is removed,
// not when a field is added.
const version = 1

type document struct {
	Format  string `json:"format"` // "btfrepro"
	Version int    `json:"version"`
	A       string `json:"a"` // the names of the logs
	B       string `json:"b"`

	Differ     int               `json:"differ"`  // actions that differ and are not allowed to
	Allowed    int               `json:"allowed"` // actions that differ but are allowed to
	Total      repro.Count       `json:"total"`
	Mnemonics  []repro.Count     `json:"mnemonics"`
	Causes     []repro.Cause     `json:"causes"`
	Actions    []*repro.Action   `json:"actions"` // those that differ; the others are only counted
	Renamed    []repro.Renamed   `json:"renamed_configurations"`
	Allowances []repro.Allowance `json:"allowances"`
}

// JSON writes a report; the parameters a and b are the names of the logs.
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
