package splitdwarf

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// TestPlaces checks the paths at which a .dwo file is looked for, and their order.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, dir string
		dirs      string // --debug-dir, separated by spaces; "-": an empty one
		input     string
		want      string
	}{
		{name: "x.dwo", dir: "/src", input: "/out/x.o", want: "/out/x.dwo /src/x.dwo"},
		{name: "kernel/fork.dwo", dir: "/src", input: "/src/kernel/fork.o",
			want: "/src/kernel/kernel/fork.dwo /src/kernel/fork.dwo"},
		{name: "kernel/fork.dwo", dir: "/src", input: "vmlinux",
			want: "kernel/fork.dwo fork.dwo /src/kernel/fork.dwo"},
		{name: "/src/a/x.dwo", dir: "/src", input: "b/x.o",
			want: "b/src/a/x.dwo b/a/x.dwo b/x.dwo /src/a/x.dwo"},
		{name: "../mod/x.dwo", dir: "/src/kernel", input: "/m/x.o",
			want: "/m/mod/x.dwo /m/x.dwo /src/mod/x.dwo"},
		{name: "a/x.dwo", dir: "/src", dirs: "/one /two", input: "/out/x.o",
			want: "/one/a/x.dwo /one/x.dwo /two/a/x.dwo /two/x.dwo /out/a/x.dwo /out/x.dwo"},
		{name: "/etc/x.dwo", dir: "/src", dirs: "d", want: "d/etc/x.dwo d/x.dwo"},
		{name: "../../etc/x.dwo", dir: "/src", dirs: "d", want: "d/etc/x.dwo d/x.dwo"},
		{name: "./a/../x.dwo", dir: ".", input: "out/x", want: "out/x.dwo"},
		{name: "./a/../x.dwo", dir: "."},
		{name: "..", dir: "/src", dirs: "d"},
		{name: "x.dwo", dir: "/src", dirs: "-", input: "/out/x.o"},
		{name: "", dir: "/src", input: "/out/x.o"},
		{name: "x\x00.dwo", dir: "/src", input: "/out/x.o"},
	} {
		search := &debugfile.Search{}
		for _, dir := range strings.Fields(c.dirs) {
			search.Dirs = append(search.Dirs, strings.Trim(dir, "-"))
		}
		f := (&Finder{Files: search}).Of(&elf.File{Holder: c.input}, "")
		got := f.places(&dwarf.Skeleton{Name: c.name, Dir: c.dir})
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q of %s, directories %q: %q, want %s", c.name, c.input, c.dirs, got, c.want)
		}
	}
}

// TestNamed checks that a .dwo file is looked for at the paths in Files.Named with its base name,
// the likeliest first.
func TestNamed(t *testing.T) {
	named := strings.Fields("x.dwo a/core.dwo out/kernel/sched/core.dwo mm/core.dwo " +
		"kernel/core.dwo " +
		"core.dwo/y")
	for name, want := range map[string]string{
		"x.dwo":                  "x.dwo",
		"/src/../x.dwo":          "x.dwo",
		"kernel/sched/core.dwo":  "out/kernel/sched/core.dwo a/core.dwo mm/core.dwo kernel/core.dwo",
		"/old/src/mm/./core.dwo": "mm/core.dwo a/core.dwo out/kernel/sched/core.dwo kernel/core.dwo",
		"z.dwo":                  "",
		"..":                     "",
		"":                       "",
	} {
		f := (&Finder{Files: &debugfile.Search{Named: named}}).Of(&elf.File{Holder: "x.o"}, "")
		if got := f.places(&dwarf.Skeleton{Name: name}); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %s", name, got, want)
		}
	}
}

// FuzzPlaces checks that a file is looked for only in the directories that the user names.
func FuzzPlaces(f *testing.F) {
	f.Add("a/x.dwo", "/src")
	f.Add("../../x.dwo", "..")
	f.Add("/a/./../x.dwo", "/")
	f.Add(strings.Repeat("a/", 1000)+"..", "")
	f.Fuzz(func(t *testing.T, name, dir string) {
		search := &debugfile.Search{Dirs: []string{"one/dir"}}
		files := (&Finder{Files: search}).Of(&elf.File{Holder: "in/x.o"}, "")
		places := files.places(&dwarf.Skeleton{Name: name, Dir: dir})
		for _, p := range places {
			one, _ := filepath.Rel("one/dir", p)
			in, _ := filepath.Rel("in", p)
			if !filepath.IsLocal(one) && !filepath.IsLocal(in) {
				t.Errorf("%q in %q is looked for at %q", name, dir, p)
			}
		}
		if len(places) > 2*maxParts {
			t.Errorf("%d places", len(places))
		}
	})
}
