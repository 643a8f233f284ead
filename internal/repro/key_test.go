package repro

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
)

// TestArguments compares arguments position by position, after the common beginning and end.
func TestArguments(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a b c", "a b c", ""},
		{"a b c", "a x c", "b→x"},
		{"a b c", "a c", "b→"},
		{"a c", "a b c", "→b"},
		{"", "a", "→a"},
		{"a b c d e", "a x c y e", "b→x d→y"},
	} {
		var got []string
		r := compare(t, func(l *execlogtest.Builder, b bool) {
			action(l, "x", "1", execlogtest.Spawn{Args: strings.Fields(pick(b, c.a, c.b))})
		}, Options{})
		for _, ch := range r.Actions[0].Changes {
			got = append(got, ch.A+"→"+ch.B)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, s, c.want)
		}
	}
}

func TestAbsolute(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"/home/a/x", "/srv/x", "/home/a /srv"},
		{"-I/home/a/x", "-I/srv/x", "/home/a /srv"},
		{"--sysroot=/home/a/x y", "--sysroot=/home/b/x y", "/home/a /home/b"},
		{"-Wl,-rpath,/a/lib", "-Wl,-rpath,/b/lib", "/a /b"},
		{"/a/b/c", "/a/b/d", "/a/b/c /a/b/d"},
		{"/a", "/a/b", "/a /a/b"},
		{"a/b", "a/c", ""},
		{"-Ia/b", "-Ia/c", ""},
		{"-O1", "-O2", ""},
		{"x", "x", ""},
		{"/a", "b", ""},
	} {
		text, _ := absolute(c.a, c.b)
		got := strings.ReplaceAll(strings.TrimPrefix(text, "absolute path "), " vs ", " ")
		if got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
