package elf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// archiveDir makes a directory with the objects a.o, sub/b.o, c.o and one with a long name, and a
// text file with an odd number of bytes.
func archiveDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o777))
	for _, name := range []string{"a", "sub/b", "a_name_that_is_longer_than_sixteen_bytes", "c"} {
		base := filepath.Base(name)
		write(t, filepath.Join(dir, name+".c"), "int "+base+" = 1;")
		programtest.Run(t, dir, "gcc", "-c", "-o", name+".o", name+".c")
	}
	write(t, filepath.Join(dir, "text"), "odd")
	return dir
}

// defined opens each input, and returns the names of its global symbols. For an input that can't be
// opened, it returns the error in brackets.
func defined(t *testing.T, inputs []Input) []string {
	t.Helper()
	var out []string
	for _, m := range inputs {
		f, err := m.Open()
		if err != nil {
			out = append(out, "["+err.Error()+"]")
			continue
		}
		if f.Path != m.Label {
			t.Errorf("path %q, want %q", f.Path, m.Label)
		}
		for _, s := range symbolsOf(t, f) {
			if s.Place == InSection && s.Bind == 1 {
				out = append(out, strings.Clone(s.Name))
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	return out
}

const longName = "a_name_that_is_longer_than_sixteen_bytes"

func TestArchives(t *testing.T) {
	dir := archiveDir(t)
	objects := []string{"a.o", "sub/b.o", longName + ".o"}
	programtest.Run(t, dir, "ar", append([]string{"rcsD", "gnu.a"}, objects...)...)
	programtest.Run(t, dir, "ar", append([]string{"rcSD", "nosyms.a"}, objects...)...)
	programtest.Run(t, dir, "ar", append([]string{"rcsDT", "thin.a"}, objects...)...)
	programtest.Run(t, dir, "ar", "rcsDT", "sub/inner.a", "sub/b.o")
	programtest.Run(t, dir, "ar", "rcsDT", "outer.a", "a.o", "sub/inner.a", "c.o")
	programtest.Run(t, dir, "ar", "rcsD", "fat.a", "a.o", "c.o")
	programtest.Run(t, dir, "ar", "rcsDT", "overfat.a", "sub/b.o", "fat.a")
	programtest.Run(t, dir, "ar", "rcSD", "mixed.a", "text", "a.o")
	programtest.Run(t, dir, "ar", "rcsDT", "twice.a", "sub/b.o", "outer.a")
	labels := func(archive string, names ...string) (list []string) {
		for _, n := range names {
			list = append(list, archive+"("+n+")")
		}
		return list
	}
	notELF := "[" + filepath.Join(dir, "mixed.a") + `(text): not an ELF file (starts with "odd"); ` +
		"pass an object file, a kernel module or a linked vmlinux]"
	for _, tt := range []struct {
		name   string
		labels []string // without the directory; nil: not checked
		want   []string
	}{
		{"gnu.a", labels("gnu.a", "a.o", "b.o", longName+".o"), []string{"a", "b", longName}},
		{"nosyms.a", labels("nosyms.a", "a.o", "b.o", longName+".o"), []string{"a", "b", longName}},
		{"thin.a", labels("thin.a", "a.o", "sub/b.o", longName+".o"), []string{"a", "b", longName}},
		{"outer.a", nil, []string{"a", "b", "c"}},
		{"overfat.a", []string{"overfat.a(sub/b.o)", "overfat.a(fat.a(a.o))", "overfat.a(fat.a(c.o))"},
			[]string{"b", "a", "c"}},
		{"twice.a", nil, []string{"b", "a", "c"}},
		{"mixed.a", labels("mixed.a", "text", "a.o"), []string{notELF, "a"}},
		{"a.o", []string{"a.o"}, []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inputs := must.Get(OpenInput(filepath.Join(dir, tt.name), nil))(t)
			var got []string
			for _, in := range inputs {
				got = append(got, strings.ReplaceAll(in.Label, dir+"/", ""))
			}
			if tt.labels != nil && !slices.Equal(got, tt.labels) {
				t.Errorf("labels %q, want %q", got, tt.labels)
			}
			if got := defined(t, inputs); !slices.Equal(got, tt.want) {
				t.Errorf("symbols %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := OpenInput(filepath.Join(dir, "none"), nil); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}

// arMember formats a member with its header.
func arMember(name, content string) string {
	s := fmt.Sprintf("%-16s%-12s%-6s%-6s%-8s%-10d`\n%s", name, "0", "0", "0", "644", len(content),
		content)
	if len(content)%2 == 1 {
		s += "\n"
	}
	return s
}

func TestArchiveNames(t *testing.T) {
	bsd := "#1/20"
	for _, tt := range []struct {
		name, data string
		want       []string
	}{
		{"empty", archiveMagic, nil},
		{"bsd", archiveMagic + arMember("__.SYMDEF", "xxxx") +
			arMember(bsd, "long name of twenty\x00body") + arMember("short.o", "x"),
			[]string{"long name of twenty:body", "short.o:x"}},
		{"bsd symbols", archiveMagic + arMember(bsd, "__.SYMDEF SORTED\x00\x00\x00\x00body") +
			arMember("x", "1"), []string{"x:1"}},
		{"gnu", archiveMagic + arMember("/", "sym") + arMember("//", "first/\nsecond name/\n") +
			arMember("/7", "two") + arMember("/0", "one") + arMember("sp ace/", ""),
			[]string{"second name:two", "first:one", "sp ace:"}},
		{"short name's end", archiveMagic + arMember("//", "fifteen_bytes_.o/\n") +
			arMember("/0             /", "x"), []string{"fifteen_bytes_.o:x"}},
		{"sym64", archiveMagic + arMember("/SYM64/", "sym") + arMember("x/", "1"),
			[]string{"x:1"}},
		{"padding", archiveMagic + arMember("x/", "1") + "\n\n", []string{"x:1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			members, thin, err := parseArchive("x.a", []byte(tt.data))
			if err != nil || thin {
				t.Fatal(thin, err)
			}
			var got []string
			for _, m := range members {
				got = append(got, m.name+":"+tt.data[m.offset:m.offset+m.size])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("members %q, want %q", got, tt.want)
			}
		})
	}
}

func TestArchiveErrors(t *testing.T) {
	good := arMember("x/", "1234")
	for _, tt := range []struct{ name, data, want string }{
		{"not one", "hello", "not an ar archive"},
		{"half header", archiveMagic + good[:30], "truncated archive: member header at byte 8"},
		{"half member", archiveMagic + good[:62], "needs 4 bytes, but only 2 are left"},
		{"no mark", archiveMagic + strings.Replace(good, "`", "x", 1), "no member header at byte 8"},
		{"bad size", archiveMagic + strings.Replace(good, "4         `", "-4        `", 1), "has size"},
		{"huge size", archiveMagic + strings.Replace(good, "4         `", "9999999999`", 1),
			"needs 9999999999 bytes"},
		{"no long names", archiveMagic + arMember("/5", "x"), "not inside the name table (0 bytes)"},
		{"odd number", archiveMagic + arMember("//", "abc/\n") + arMember("/0x", "x"), "bad long name"},
		{"long names that overlap", archiveMagic + arMember("//", "abcdefgh/\n") + arMember("/0", "x") +
			arMember("/0", "y") + arMember("/1", "z"), `long name "/1" overlaps other names`},
		{"endless long name", archiveMagic + arMember("//", "abc") + arMember("/0", "x"), "has no end"},
		{"empty name", archiveMagic + arMember("", "x"), "empty name"},
		{"bsd name too long", archiveMagic + arMember("#1/9", "x"), "bad BSD name"},
		{"nested in a fat one", archiveMagic + arMember("//", "abc/\n") + arMember("/0:8", "x"),
			"bad nested member"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := parseArchive("x.a", []byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.HasPrefix(err.Error(), "x.a: ") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestFollow lists a thin archive, and the archives in it, when only some files may be read.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must.OK(t, os.Mkdir("sub", 0o777))
	thin := arMember("../x.o/", "") + arMember("y.o/", "")
	write(t, "sub/inner.a", thinMagic+thin)
	write(t, "fat.a", archiveMagic+arMember("z.o/", "text"))
	write(t, "outer.a", thinMagic+arMember("sub/inner.a/", "")+arMember("fat.a/", ""))
	for _, c := range []struct{ follow, want string }{
		{"sub/../x.o ./sub/y.o sub/inner.a fat.a other", ""},
		{"", "outer.a(sub/inner.a): this member of a thin archive is in the file sub/inner.a, which"},
		{"sub/inner.a fat.a sub/y.o",
			"outer.a: sub/inner.a(../x.o): this member of a thin archive is in the file x.o, which"},
		{"x.o sub/y.o sub/inner.a", "outer.a(fat.a): this member of a thin archive is"},
	} {
		_, err := OpenInput("outer.a", append([]string{}, strings.Fields(c.follow)...))
		if got := fmt.Sprint(err); err != nil && c.want == "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: %v, want %s", c.follow, err, c.want)
		}
	}
	if _, err := OpenInput("fat.a", []string{}); err != nil {
		t.Error(err)
	}
}

func TestThinArchiveTraps(t *testing.T) {
	dir := t.TempDir()
	thin := func(name string, members ...string) string {
		s := thinMagic
		for _, m := range members {
			s += arMember(m+"/", "")
		}
		path := filepath.Join(dir, name)
		write(t, path, s)
		return path
	}
	if _, err := OpenInput(thin("self.a", "self.a"), nil); err == nil ||
		!strings.Contains(err.Error(), "contains itself") {
		t.Errorf("an archive of itself: %v", err)
	}
	thin("x.a", "y.a")
	if _, err := OpenInput(thin("y.a", "x.a"), nil); err == nil ||
		!strings.Contains(err.Error(), "contains itself") {
		t.Errorf("a cycle: %v", err)
	}
	inputs, err := OpenInput(thin("gone.a", "gone.o"), nil)
	must.OK(t, err)
	if _, err := inputs[0].Open(); err == nil ||
		!strings.Contains(err.Error(), "gone.a(gone.o)") ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing member: %v", err)
	}
	// Each archive names the previous archive several times. Still, a file is listed only once.
	thin("0.a", slices.Repeat([]string{"none.o"}, 64)...)
	last := ""
	for i := 1; i < 30; i++ {
		last = thin(fmt.Sprintf("%d.a", i), slices.Repeat([]string{fmt.Sprintf("%d.a", i-1)}, 64)...)
	}
	inputs, err = OpenInput(last, nil)
	label := last + "(" + filepath.Join(dir, "0.a(none.o))")
	if err != nil || len(inputs) != 1 || inputs[0].Label != label {
		t.Errorf("exponential archives: %v, %v", inputs, err)
	}
	// These offsets of headers lead from one archive to the next, and back.
	names := arMember("//", "p.a/\nq.a/\n")
	at := len(thinMagic + names)
	write(t, filepath.Join(dir, "p.a"), thinMagic+names+arMember(fmt.Sprintf("/5:%d", at), ""))
	write(t, filepath.Join(dir, "q.a"), thinMagic+names+arMember(fmt.Sprintf("/0:%d", at), ""))
	if _, err := OpenInput(filepath.Join(dir, "q.a"), nil); err == nil ||
		!strings.Contains(err.Error(), "contains itself") {
		t.Errorf("a cycle of members: %v", err)
	}
}
