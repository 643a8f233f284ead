package repro

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestParseAllowance(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"label=//a/... # it has the time", ""},
		{"mnemonic=Genrule output=*/stamp.txt verdict=key_changed # why", ""},
		{"label=//a", "a reason is missing"},
		{"label=//a #  ", "a reason is missing"},
		{"# why", "it has no pattern"},
		{"//a # why", `"//a" must be label=`},
		{"label= # why", `"label=" must be`},
		{"name=x # why", `"name=x" must be`},
		{"label=a label=b # why", "it has label= twice"},
		{"verdict=same # why", `"same" is not a verdict of actions that differ`},
		{"verdict=other # why", `"other" is not a verdict`},
	} {
		a, err := ParseAllowance(c.text)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.text, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", c.text, err)
		case a.String() != c.text:
			t.Errorf("%s became %s", c.text, a.String())
		}
	}
}

func TestMatches(t *testing.T) {
	act := Action{Verdict: KeyChanged, Mnemonic: "Genrule", Label: "@@//a/b:c",
		Outputs: []OutputChange{{Path: "bazel-out/k8/bin/a/b/c.txt"}}}
	for patterns, want := range map[string]bool{
		"label=//a/b:c": true, "label=@@//a/b:c": true, "label=//a/...": true, "label=//...": true,
		"label=//a/b/...": true, "label=//a/b": false, "label=//a/bb/...": false, "label=*:c": true,
		"label=//a/*:d": false, "mnemonic=Gen": false, "mnemonic=Gen*": true, "output=*/c.txt": true,
		"output=c.txt": false, "output=*/cxtxt": false, "verdict=key_changed": true,
		"verdict=cut-off": false, "label=//... mnemonic=Genrule output=*.txt": true,
		"label=//... mnemonic=Other": false,
	} {
		a, err := ParseAllowance(patterns + " # why")
		if err != nil || a.matches(&act) != want {
			t.Errorf("%s: %v, want %v; %v", patterns, !want, want, err)
		}
	}
}

// TestAllow allows an action to differ, and thereby the actions that differ only because of it.
func TestAllow(t *testing.T) {
	chain := func(l *execlogtest.Builder, b bool) {
		x := action(l, "x", pick(b, "1", "2"), execlogtest.Spawn{})
		y := action(l, "y", pick(b, "1", "2"), execlogtest.Spawn{}, x)
		action(l, "z", pick(b, "1", "2"), execlogtest.Spawn{}, y)
		other := action(l, "other", pick(b, "1", "2"), execlogtest.Spawn{})
		action(l, "both", pick(b, "1", "2"), execlogtest.Spawn{}, y, other)
	}
	for _, c := range []struct {
		allow string
		want  string // labels of actions that differ but aren't allowed to
	}{
		{"label=//:x # time", "//:both //:other"},
		{"label=//:other # time", "//:both //:x //:y //:z"},
		{"label=//:z # time", "//:both //:other //:x //:y"},
		{"label=//:* verdict=non-deterministic # time", ""},
		{"label=//:none # time", "//:both //:other //:x //:y //:z"},
	} {
		a := must.Get(ParseAllowance(c.allow))(t)
		r := compare(t, chain, Options{Allow: []Allowance{a}})
		var got []string
		for i := range r.Actions {
			if r.Actions[i].Allowed == "" {
				got = append(got, r.Actions[i].Label)
			}
		}
		if s := strings.Join(got, " "); s != c.want || differs(r) != (s != "") {
			t.Errorf("%s: %s differ, want %s", c.allow, s, c.want)
		}
		if none := c.allow == "label=//:none # time"; (r.Allowances[0].Matched == 0) != none {
			t.Errorf("%s: %d matches", c.allow, r.Allowances[0].Matched)
		}
	}
}
