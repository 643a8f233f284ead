package oracle

import "testing"

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
