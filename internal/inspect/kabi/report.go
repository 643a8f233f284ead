package kabi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Report is the result of a comparison.
type Report struct {
	Symbols int `json:"symbols"` // how many symbols of the list have BTF in A or B
	// Missing are the symbols of the list that have BTF neither in A nor in B.
	Missing []string `json:"missing"`

	// Differences by what they mean for modules. Differences that follow from others don't count.
	Incompatible int `json:"incompatible"`
	Compatible   int `json:"compatible"`
	Larger       int `json:"larger"`  // of Compatible: structs that modules must not allocate
	Allowed      int `json:"allowed"` // incompatible, but allowed

	Allowances []Allowance `json:"allowances"`

	leftOut   map[string]bool // titles of types that aren't compared: all in them is allowed
	inModules int             // how many of Missing are exported by modules
}

// String is the verdict in one line.
func (r *Report) String() string {
	s := fmt.Sprintf("kABI of %s: %s, %d compatible", message.Count(r.Symbols, "symbol"),
		message.Count(r.Incompatible, "incompatible difference"), r.Compatible)
	if r.Larger > 0 {
		s += fmt.Sprintf(" (%d larger, if modules don't allocate them)", r.Larger)
	}
	if r.Allowed > 0 {
		s += fmt.Sprintf(", %d allowed", r.Allowed)
	}
	if n := len(r.leftOut); n > 0 {
		s += fmt.Sprintf(", %s not compared", message.Count(n, "allowed type"))
	}
	return s
}

// MissingText says which symbols were not found, or returns "". The parameter where says in which
// files they were looked up.
func (r *Report) MissingText(where string) string {
	if len(r.Missing) == 0 {
		return ""
	}
	what := "BTF has functions and per-CPU variables"
	if r.inModules > 0 {
		what += fmt.Sprintf("; %d are exported by modules", r.inModules)
	}
	return fmt.Sprintf("%d of %s not found in %s (%s): %s", len(r.Missing),
		message.Count(r.Symbols+len(r.Missing), "symbol"), where, what, some(r.Missing, 10))
}

// Unmatched are the allowances that have matched nothing, of those that whole says: those with only
// type=, or all.
func (r *Report) Unmatched(whole bool) (list []*Allowance) {
	for i := range r.Allowances {
		a := &r.Allowances[i]
		if a.Matched == 0 && (!whole || a.Where == "" && a.Change == "") {
			list = append(list, a)
		}
	}
	return list
}

func newReport(allow []Allowance) *Report {
	return &Report{Allowances: slices.Clone(allow), leftOut: map[string]bool{}}
}

func (r *Report) countSymbols(list []Symbol, sides [2]*reached) {
	all := sides[0].names()
	maps.Copy(all, sides[1].names())
	r.Symbols = len(all)
	for _, s := range list {
		if !all[s.Name] {
			r.Missing = append(r.Missing, s.Name)
			if s.Module != "" && s.Module != "vmlinux" {
				r.inModules++
			}
		}
	}
	r.Missing = slices.Compact(r.Missing) // the list is sorted
}
