package repro

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Allowance says which differences are allowed, and for which reason. It applies to the actions
// that match all its patterns.
type Allowance struct {
	Label    string `json:"label,omitempty"`
	Mnemonic string `json:"mnemonic,omitempty"`
	Output   string `json:"output,omitempty"`
	Verdict  string `json:"verdict,omitempty"`
	Reason   string `json:"reason"`
	// Matched counts the actions that differ and match the allowance.
	Matched int `json:"matched"`

	patterns [4]*regexp.Regexp // one per part; nil matches everything
}

// String returns the allowance in the form that ParseAllowance reads.
func (a *Allowance) String() string {
	var b strings.Builder
	for _, p := range a.parts() {
		if *p.value != "" {
			fmt.Fprintf(&b, "%s=%s ", p.name, strings.ReplaceAll(*p.value, " ", "_"))
		}
	}
	return b.String() + "# " + a.Reason
}

type part struct {
	name  string
	value *string
}

func (a *Allowance) parts() [4]part {
	return [4]part{{"label", &a.Label}, {"mnemonic", &a.Mnemonic}, {"output", &a.Output},
		{"verdict", &a.Verdict}}
}

// ParseAllowance reads "mnemonic=Genrule label=//docs/... output=*/stamp.txt # reason". In a value,
// * matches any characters. At the end of a label, ... matches all packages and targets below.
// The pattern after output= must match the first output, or any output that differs. In the name of
// a verdict, _ represents a space.
func ParseAllowance(text string) (Allowance, error) {
	var a Allowance
	patterns, reason, ok := strings.Cut(text, "#")
	a.Reason = strings.TrimSpace(reason)
	if !ok || a.Reason == "" {
		return a, fmt.Errorf("allowance %q: a reason is missing; write it after #", text)
	}
	words := strings.Fields(patterns)
	if len(words) == 0 {
		return a, fmt.Errorf("allowance %q: it has no pattern", text)
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		parts := a.parts()
		i := slices.IndexFunc(parts[:], func(p part) bool { return p.name == name })
		if i < 0 || value == "" {
			return a, fmt.Errorf("allowance %q: %q must be label=, mnemonic=, output= or verdict="+
				" followed by a pattern", text, word)
		}
		if *parts[i].value != "" {
			return a, fmt.Errorf("allowance %q: it has %s= twice", text, name)
		}
		if name == "verdict" {
			value = strings.ReplaceAll(value, "_", " ")
			if Verdict(value) == Same || !slices.Contains(Verdicts, Verdict(value)) {
				return a, fmt.Errorf("allowance %q: %q is not a verdict of actions that differ", text, value)
			}
		}
		*parts[i].value = value
		a.patterns[i] = glob(value, name == "label")
	}
	return a, nil
}

// glob makes a regular expression from a pattern that may have * in it.
func glob(text string, label bool) *regexp.Regexp {
	below := ""
	if label {
		if before, ok := strings.CutSuffix(text, "/..."); ok {
			text, below = before, "(/.*|:.*)?"
			if before == "" || strings.HasSuffix(before, "/") {
				below = ".*" // all packages: //...
			}
		}
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
	return regexp.MustCompile("^" + expr + below + "$")
}

// matches reports whether the allowance applies to an action. A label in the main repository
// matches with and without @@ at its beginning.
func (a *Allowance) matches(act *Action) bool {
	is := func(i int, value string) bool {
		return a.patterns[i] == nil || a.patterns[i].MatchString(value)
	}
	output := is(2, act.Output)
	for _, o := range act.Outputs {
		output = output || is(2, o.Path)
	}
	return (is(0, act.Label) || is(0, strings.TrimPrefix(act.Label, "@@"))) && is(1, act.Mnemonic) &&
		output && is(3, string(act.Verdict))
}

// allow marks the actions that an allowance matches, and those that differ only because outputs of
// marked actions differ.
func (c *comparison) allow(list []Allowance) {
	r := c.report
	r.Allowances = slices.Clone(list)
	for _, i := range c.order() {
		act := &r.Actions[i]
		for n := range r.Allowances {
			if a := &r.Allowances[n]; a.matches(act) {
				a.Matched++
				if act.Allowed == "" {
					act.Allowed = a.Reason
				}
			}
		}
		if act.Allowed != "" || act.Verdict != Downstream && act.Verdict != CutOff {
			continue
		}
		if from := act.Upstream(); from != nil && len(act.own) == 0 && act.causeList() == nil {
			if reason := c.allowedBy(from); reason != "" {
				act.Allowed = "downstream: " + strings.TrimPrefix(reason, "downstream: ")
			}
		}
	}
}

// allowedBy returns why the actions in a list are allowed to differ: the reason for the first
// action. It returns "" if one of these actions isn't allowed to differ.
func (c *comparison) allowedBy(l *List) string {
	var todo []*List
	for at := l; at != nil && !at.judged; at = at.Parent {
		todo = append(todo, at)
	}
	for _, at := range slices.Backward(todo) {
		at.judged = true
		first := c.report.Actions[at.Items[0]].Allowed
		all := !slices.ContainsFunc(at.Items, func(i int32) bool {
			return c.report.Actions[i].Allowed == ""
		})
		switch {
		case !all:
		case at.Parent == nil:
			at.reason = first
		default:
			at.reason = at.Parent.reason
		}
	}
	return l.reason
}
