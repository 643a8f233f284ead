package oracle

import (
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// TestByUnits has three units with struct s: one that defines tag t as "1", one as "2", and one
// that only declares t.
func TestByUnits(t *testing.T) {
	units := []unit{
		{"struct s": {"8: a"}, "struct t": {"1"}},
		{"struct s": {"8: a"}, "struct t": {"2"}},
		{"struct s": {"8: a"}},
		{"struct r": {"8: a"}, "struct t": {"1"}},
	}
	for _, c := range []struct {
		what         string
		name         string
		extra        bool
		ours, oracle string
		want         string
	}{
		{"ours lacks what a unit says", "s", false, "1", "2", ""},
		{"ours lacks what no unit says", "s", false, "1", "3", reasonAnyDefinition},
		{"ours has what a unit says", "s", true, "1", "2", reasonLostDefinition},
		{"ours has what no unit says, but one only declares it", "s", true, "3", "2",
			reasonAnyDefinition},
		{"ours has what no unit says", "r", true, "2", "1", ""},
		{"ours lacks the only one", "r", false, "2", "1", ""},
	} {
		d := compare.Difference{Class: content.Struct, Kind: compare.Leads, Name: c.name, Extra: c.extra,
			Leads: []compare.Lead{{Tag: "struct t", Ours: c.ours, Oracle: c.oracle}}}
		if got := byUnits(units, &d); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
