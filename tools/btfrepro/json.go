package main

import (
	"io"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// version is the version of the JSON. It increases when a field changes its meaning or is removed,
// not when a field is added.
const version = 2

type document struct {
	Format  string `json:"format"` // "btfrepro"
	Version int    `json:"version"`
	A       string `json:"a"` // the names of the logs
	B       string `json:"b"`

	Differ     int                   `json:"differ"`  // actions that differ and are not allowed to
	Allowed    int                   `json:"allowed"` // actions that differ but are allowed to
	Verdicts   map[repro.Verdict]int `json:"verdicts"`
	Cached     int                   `json:"same_by_cache"`
	Causes     []repro.Cause         `json:"causes"`
	Actions    []*repro.Action       `json:"actions"` // those that differ
	Allowances []repro.Allowance     `json:"allowances"`
}

// writeJSON writes a report; the parameters a and b are the names of the logs.
func writeJSON(w io.Writer, r *repro.Report, a, b string) error {
	d := document{Format: "btfrepro", Version: version, A: a, B: b, Verdicts: r.Counts,
		Cached: r.Cached, Causes: append([]repro.Cause{}, r.Causes...), Actions: []*repro.Action{},
		Allowances: append([]repro.Allowance{}, r.Allowances...)}
	d.Differ, d.Allowed = r.Differing()
	for _, i := range r.Listed {
		if r.Actions[i].Verdict != repro.Same {
			d.Actions = append(d.Actions, &r.Actions[i])
		}
	}
	return message.WriteJSON(w, &d)
}
