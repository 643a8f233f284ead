package kabi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/allowance"
)

// Allowance says which incompatible changes are allowed, and for which reason. It applies to the
// changes that match all its patterns.
type Allowance struct {
	Type   string `json:"type"` // "struct foo"
	Where  string `json:"where,omitempty"`
	Change string `json:"change,omitempty"`
	Reason string `json:"reason"`
	// Matched counts the changes, and the types on either side, that match the allowance.
	Matched int `json:"matched"`

	patterns [3]*regexp.Regexp // nil matches everything
}

var partNames = []string{"type", "where", "change"}

// String returns the allowance in the form that ParseAllowance reads.
func (a *Allowance) String() string {
	return allowance.String(partNames, []string{a.Type, a.Where, a.Change}, a.Reason)
}

// changeKinds are the values that change= may have.
var changeKinds = []diff.ChangeKind{diff.Added, diff.Removed, diff.Moved, diff.Resized,
	diff.Retyped, diff.Renamed, diff.Value, diff.Size, diff.Encoding, diff.Reordered, diff.Declared,
	diff.Other}

// ParseAllowance reads "type=struct foo where=member bar.* change=added # reason". In a value, *
// matches any characters. If there is only type=, all that is below the type is allowed to differ.
func ParseAllowance(text string) (a Allowance, err error) {
	values, reason, err := allowance.Parse(text, partNames...)
	if err == nil {
		a = Allowance{Type: values[0], Where: values[1], Change: values[2], Reason: reason}
		for i, v := range values {
			if v != "" {
				a.patterns[i] = regexp.MustCompile("^" + allowance.Expression(v) + "$")
			}
		}
		isKind := func(k diff.ChangeKind) bool { return a.patterns[2].MatchString(string(k)) }
		switch {
		case a.Type == "":
			err = errors.New("type= is missing; use type=* for all types")
		case a.Change != "" && !slices.ContainsFunc(changeKinds, isKind):
			err = fmt.Errorf("%q is not a kind of change; docs/diff.md lists them", a.Change)
		}
	}
	if err != nil {
		return a, fmt.Errorf("allowance %q: %w", shorten(text), err)
	}
	return a, nil
}

func (a *Allowance) matches(values ...string) bool {
	for i, v := range values {
		if a.patterns[i] != nil && !a.patterns[i].MatchString(v) {
			return false
		}
	}
	return true
}

// declare reports whether a struct or union is only declared in the reduced BTF, because everything
// in it is allowed to differ.
func (r *Report) declare(title string) bool {
	found := false
	for i := range r.Allowances {
		if a := &r.Allowances[i]; a.Where == "" && a.Change == "" && a.matches(title) {
			a.Matched++
			found = true
		}
	}
	if found {
		r.leftOut[title] = true
	}
	return found
}

// allow marks a difference if all its incompatible changes are allowed.
func (r *Report) allow(d *diff.Difference) {
	if d.Compatible {
		return
	}
	changes := d.Changes
	switch {
	case d.Class == diff.OnlyA:
		changes = []diff.Change{{Kind: diff.Removed, Breaks: true}}
	case d.Class == diff.OnlyB:
		changes = []diff.Change{{Kind: diff.Added, Breaks: true}}
	}
	reason := ""
	all := true
	for _, c := range changes {
		if !c.Breaks {
			continue
		}
		allowed := false
		for i := range r.Allowances {
			if a := &r.Allowances[i]; a.matches(d.Type, c.Where, string(c.Kind)) {
				a.Matched++
				allowed = true
				if reason == "" {
					reason = a.Reason
				}
			}
		}
		all = all && allowed
	}
	if all {
		d.Allowed = reason
	}
}
