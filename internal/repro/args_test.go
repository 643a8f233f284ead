package repro

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDiffArgs(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a b c", "a b c", ""},
		{"a b c", "a x c", "b→x"},
		{"a b c", "a c", "b→"},
		{"a c", "a b c", "→b"},
		{"", "a", "→a"},
		{"a b c d", "b c d e f", "a→ →e →f"},
		{"a b c d e", "a x c y e", "b→x d→y"},
	} {
		var got []string
		for _, e := range diffArgs(strings.Fields(c.a), strings.Fields(c.b)) {
			got = append(got, e.a+"→"+e.b)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, s, c.want)
		}
	}
	// These lists are too long for a table, so they are compared position by position.
	long := make([]string, 5000)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	if n := len(diffArgs(long, append([]string{"x"}, long[1:]...))); n != 1 {
		t.Errorf("%d edits, want 1", n)
	}
	if n := len(diffArgs(append([]string{"x", "y"}, long...), slices.Clone(long[1:]))); n == 0 {
		t.Error("no edits")
	}
}

func TestLeak(t *testing.T) {
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
		got := ""
		if x, y, ok := leak(c.a, c.b); ok {
			got = x + " " + y
		}
		if got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestRenames(t *testing.T) {
	r := renames{{"k8-fastbuild", "k8-opt"}}
	for text, want := range map[string]string{
		"bazel-out/k8-fastbuild/bin/x":                      "bazel-out/k8-opt/bin/x",
		"-Lbazel-out/k8-fastbuild":                          "-Lbazel-out/k8-opt",
		"bazel-out/k8-fastbuild-ST-1/bin/x":                 "bazel-out/k8-fastbuild-ST-1/bin/x",
		"bazel-out/k8-fastbuild/a:bazel-out/k8-fastbuild/b": "bazel-out/k8-opt/a:bazel-out/k8-opt/b",
		"k8-fastbuild":                                      "k8-fastbuild",
	} {
		if got := r.apply(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
