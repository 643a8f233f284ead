package oracle

import (
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
)

func TestByOther(t *testing.T) {
	d := compare.Difference{Ours: []string{"func f static (a *struct s, b typedef u8) int"},
		Oracle: []string{"func f static (x *struct s, b typedef u8) int"}}
	ab, xb := [][]string{{"a", "b"}}, [][]string{{"x", "b"}}
	for _, c := range []struct {
		kept, others [][]string
		want         bool
	}{{ab, xb, true}, {ab, ab, false}, {xb, ab, false}, {xb, xb, false}, {ab, nil, false},
		{append(ab, xb...), append(ab, xb...), true}} {
		if got := byOther(&d, c.kept, c.others); got != c.want {
			t.Errorf("%q, others %q: %t, want %t", c.kept, c.others, got, c.want)
		}
	}
	d.Oracle = []string{"func f static (a *struct s, b typedef u8) long int"} // only the type differs
	if byOther(&d, ab, ab) {
		t.Error("a different return type is explained, though the parameter names are equal")
	}
}

func TestSameNames(t *testing.T) {
	for _, c := range []struct {
		text  string
		names []string
		want  bool
	}{
		{"func f static () void", nil, true},
		{"func f static (a *struct s, b typedef u32) int", []string{"a", "b"}, true},
		{"func f static (a *struct s, b typedef u32) int", []string{"a", "c"}, false},
		{"func f static (cb *( int,  *void) void, n int) *(x int) void", []string{"cb", "n"}, true},
		{"func f static {bpf_kfunc} (a int) void", []string{"a"}, true},
		{"func f static (fmt *const char, ... void) int", []string{"fmt"}, true},
	} {
		if got := sameNames(c.text, c.names); got != c.want {
			t.Errorf("%s has %q: %t, want %t", c.text, c.names, got, c.want)
		}
	}
}
