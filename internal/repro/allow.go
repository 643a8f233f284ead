package repro

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/allowance"
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

var partNames = []string{"label", "mnemonic", "output", "verdict"}

// String returns the allowance in the form that ParseAllowance reads.
func (a *Allowance) String() string {
	verdict := strings.ReplaceAll(a.Verdict, " ", "_")
	return allowance.String(partNames, []string{a.Label, a.Mnemonic, a.Output, verdict}, a.Reason)
}

// ParseAllowance reads "mnemonic=Genrule label=//docs/... output=*/stamp.txt # reason". In a value,
// * matches any characters. At the end of a label, ... matches all packages and targets below.
// The pattern after output= must match the first output, or any output that differs. In the name of
// a verdict, _ represents a space.
// Rule: two builds: differences that are expected.
func ParseAllowance(text string) (Allowance, error) {
	values, reason, err := allowance.Parse(text, partNames...)
	if err != nil {
		return Allowance{}, fmt.Errorf("allowance %q: %w", text, err)
	}
	verdict := &values[3]
	*verdict = strings.ReplaceAll(*verdict, "_", " ")
	if *verdict != "" &&
		(Verdict(*verdict) == Same || !slices.Contains(Verdicts, Verdict(*verdict))) {
		return Allowance{}, fmt.Errorf("allowance %q: %q is not a verdict of actions that differ", text,
			*verdict)
	}
	a := Allowance{Label: values[0], Mnemonic: values[1], Output: values[2], Verdict: *verdict,
		Reason: reason}
	for i, v := range values {
		if v != "" {
			a.patterns[i] = glob(v, partNames[i] == "label")
		}
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
	return regexp.MustCompile("^" + allowance.Expression(text) + below + "$")
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

// allow marks an action that differs if an allowance matches it, or if it differs only because
// outputs of marked actions differ.
func (c *comparison) allow(act *Action, k *keyDiff) {
	if act.Verdict == Same {
		return
	}
	for n := range c.report.Allowances {
		if a := &c.report.Allowances[n]; a.matches(act) {
			a.Matched++
			act.Allowed = cmp.Or(act.Allowed, a.Reason)
		}
	}
	if act.Allowed == "" && len(k.roots) == 0 && k.from != nil && k.from.Allowed != "" {
		act.Allowed = "downstream: " + strings.TrimPrefix(k.from.Allowed, "downstream: ")
	}
}
