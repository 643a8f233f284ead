package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// followTree makes a directory, changes to it, and writes files there that refer to other files in
// the usual places. The subdirectory plain has equivalent files that refer to no other file.
func followTree(t *testing.T) {
	t.Helper()
	programtest.Need(t, "gcc", "ld", "ar", "objcopy", "dwz")
	dir := t.TempDir()
	t.Chdir(dir)
	for _, to := range []struct{ dir, flags string }{{"plain", ""}, {"split", " -gsplit-dwarf"}} {
		shell(t, dir, "mkdir "+to.dir)
		compileForms(t, filepath.Join(dir, to.dir), "gcc", "-gdwarf-5 -O1"+to.flags, true)
	}
	shell(t, dir, `
		cd plain
		ld -e 0 --build-id=0x0102 -o whole x.o y.o; ld -e 0 -o second x.o y.o
		objcopy --only-keep-debug whole stripped.debug
		objcopy -S --add-gnu-debuglink=stripped.debug whole stripped
		cp whole dwz; dwz -l none -L none -m sup dwz second
		mkdir ../apart; mv ../split/y.dwo ../apart`)
}

// followed runs a command line. It returns the bytes of the output, or the error message.
func followed(t *testing.T, args ...string) (data []byte, message string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args = append(args, "-o", out, "-j1", "--features=default,global_var")
	code, _, message := btfgen(args...)
	if code == 0 {
		data = read(t, out)
	}
	return data, message
}

// TestFollow: with --follow, only files that the command line names are read. If it leaves out a
// needed file, there is a one-line error, even if the file is in the usual place. If it names all
// needed files, the output is the same as for the equivalent file that refers to no other file.
func TestFollow(t *testing.T) {
	followTree(t)
	for _, c := range []struct {
		args, plain string
		want        string // of the message, after the name of the program; "": the bytes of plain
	}{
		{"object plain/x.o --follow=", "plain/x.o", ""},
		{"object plain/lib.a --follow=", "plain/lib.a", ""},
		{"object plain/thin.a --follow=", "", "plain/thin.a(x.o): this member of a thin archive is in " +
			"the file plain/x.o, which no --follow names; add --follow for it, or convert the " +
			"members instead of the archive\n"},
		{"object plain/thin.a --follow=plain/x.o", "", "plain/thin.a(y.o): this member of "},
		{"object plain/thin.a --follow=plain/x.o --follow=./plain/y.o", "plain/lib.a", ""},

		{"object split/x.o --follow=", "", "split/x.o: .debug_info+0x14: split DWARF: the unit is in " +
			`"x.dwo" (dwo id 0x`},
		{"object split/x.o --follow=", "", "), but no --follow names a file x.dwo; add --follow " +
			"for it, or pass a package of .dwo files with --dwp\n"},
		{"object split/x.o --follow=split/x.dwo", "plain/x.o", ""},
		{"object split/y.o --follow=split/y.dwo --follow=apart/y.dwo", "plain/y.o", ""},
		{"object split/y.o --follow=apart/x.dwo", "", "but no --follow names a file y.dwo"},
		{"object split/lib.a --follow=split/x.dwo", "", "but no --follow names a file y.dwo"},
		{"object split/thin.a --follow=split/x.dwo --follow=apart/y.dwo --follow=split/x.o " +
			"--follow=split/y.o", "plain/lib.a", ""},
		{"elf split/linked --follow=split/x.dwo --follow=apart/y.dwo", "plain/linked", ""},
		{"facts split/linked --follow=split/x.dwo --follow=apart/y.dwo", "plain/linked", ""},

		{"elf plain/stripped --follow=", "", "plain/stripped: no DWARF (.debug_info)"},
		{"elf plain/stripped --follow=plain/stripped.debug", "",
			"plain/stripped: no DWARF (.debug_info)"},
		{"elf plain/stripped --follow= --dwarf=plain/stripped.debug", "plain/whole", ""},
		{"elf plain/dwz --follow=", "", "but the command line doesn't name it; pass it with --alt\n"},
		{"elf plain/dwz --follow= --alt=plain/sup", "plain/whole", ""},
	} {
		got, message := followed(t, strings.Fields(c.args)...)
		if c.want != "" {
			if got != nil || !strings.Contains(message, c.want) || strings.Count(message, "\n") != 1 {
				t.Errorf("%s: %d bytes, %s; want %s", c.args, len(got), message, c.want)
			}
			continue
		}
		want, _ := followed(t, strings.Fields(c.args)[0], c.plain)
		if want == nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want the %d of %s: %s", c.args, len(got), len(want), c.plain, message)
		}
	}
}

// TestFollowPackage: a package next to the file is not read, unless it is named.
func TestFollowPackage(t *testing.T) {
	programtest.Need(t, "clang", "ld", "llvm-dwp")
	dir := t.TempDir()
	t.Chdir(dir)
	compileForms(t, dir, "clang", "-gdwarf-5 -O1 -gsplit-dwarf", true)
	want, _ := followed(t, "elf", "linked")
	shell(t, dir, "llvm-dwp -o linked.dwp x.dwo y.dwo; rm x.dwo y.dwo")
	if got, message := followed(t, "elf", "linked", "--follow="); got != nil ||
		!strings.Contains(message, "no --follow names a file x.dwo") {
		t.Errorf("%d bytes, %s", len(got), message)
	}
	if got, message := followed(t, "elf", "linked", "--follow=", "--dwp=linked.dwp"); want == nil ||
		!bytes.Equal(got, want) {
		t.Errorf("--dwp: %d bytes, want %d: %s", len(got), len(want), message)
	}
}
