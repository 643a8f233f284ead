package kabi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestParseAllowance(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"type=struct foo where=member bar.* change=added # it is new",
			"type=struct foo where=member bar.* change=added # it is new"},
		{"type=struct foo", `allowance "type=struct foo": a reason is missing`},
		{"where=member x # why", "type= is missing"},
		{"type=struct foo change=* # all", "type=struct foo change=* # all"},
		{"type=a change=grown # why", `"grown" is not a kind of change`},
	} {
		a, err := ParseAllowance(c.text)
		got := a.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// TestAllow compares two kernels that differ incompatibly in two structs and a function.
func TestAllow(t *testing.T) {
	a := compile(t, `struct in { long a, b; }; struct s { struct in *in; int x; int y; };
		void f(struct s *s) {} void g(int a) {} void h(void) {}`)
	b := compile(t, `struct in { long b, a; }; struct s { struct in *in; short x; int z, y; };
		void f(struct s *s) {} void g(long a) {}`)
	all := []string{"type=struct s where=member * # x", "type=struct s change=size # y",
		"type=struct in # in", "type=func ? # no", "type=func g where=parameter * change=retyped # g",
		"type=func h change=removed # h", "type=struct none # none"}
	for _, c := range []struct {
		allow []string
		want  string // the counts, then how often each allowance has matched
	}{
		{nil, "4 incompatible, 0 allowed []"},
		{all[:1], "3 incompatible, 1 allowed [2]"},
		{all[1:2], "4 incompatible, 0 allowed [0]"},
		{all[2:3], "3 incompatible, 0 allowed [2]"},
		{all, "0 incompatible, 3 allowed [2 0 2 0 1 1 0]"},
	} {
		o := Options{Symbols: symbols(t, "f g h")}
		for _, text := range c.allow {
			a := must.Get(ParseAllowance(text))(t)
			o.Allow = append(o.Allow, a)
		}
		r, result, err := Compare(FromSide(diff.Side{a}), FromSide(diff.Side{b}), [2]string{}, o)
		must.OK(t, err)
		matched := []int{}
		for _, a := range r.Allowances {
			matched = append(matched, a.Matched)
		}
		got := fmt.Sprintf("%d incompatible, %d allowed %v", r.Incompatible, r.Allowed, matched)
		if got != c.want {
			t.Errorf("%v: %s, want %s\n%s", c.allow, got, c.want, describe(result.Differences))
		}
	}
}
