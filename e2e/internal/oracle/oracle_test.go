package oracle

import (
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
)

func TestSameTypes(t *testing.T) {
	const f = "func f static (a *struct s, b typedef u8) int"
	for text, want := range map[string]bool{
		"func f static (x *struct s, y typedef u8) int":  true,
		"func f static (x *struct s, y typedef u16) int": false,
		"func f static (x *struct r, y typedef u8) int":  false,
		"func f static (x *struct s) int":                false,
		"func f static (x *struct s, y typedef u8) long": false,
	} {
		d := compare.Difference{Ours: []string{f}, Oracle: []string{text}}
		if got := sameTypes(&d); got != want {
			t.Errorf("%s and %s: %t, want %t", f, text, got, want)
		}
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
