package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// referringTree makes a directory, changes to it, and writes files there that refer to other files
// in the usual places. The subdirectory plain has equivalent files that refer to no other file.
func referringTree(t *testing.T) {
	t.Helper()
	programtest.Need(t, "gcc", "ld", "ar", "objcopy", "dwz")
	dir := t.TempDir()
	t.Chdir(dir)
	for _, to := range []struct{ dir, flags string }{{"plain", ""}, {"split", " -gsplit-dwarf"}} {
		programtest.Shell(t, dir, "mkdir "+to.dir)
		compileForms(t, filepath.Join(dir, to.dir), "gcc", "-gdwarf-5 -O1"+to.flags, true)
	}
	programtest.Shell(t, dir, `
		cd plain
		ld -e 0 --build-id=0x0102 -o whole x.o y.o; ld -e 0 -o second x.o y.o
		objcopy --only-keep-debug whole stripped.debug
		objcopy -S --add-gnu-debuglink=stripped.debug whole stripped
		cp whole dwz; dwz -l none -L none -m sup dwz second
		mkdir ../apart; mv ../split/y.dwo ../apart`)
}

// converted runs a command line. It returns the bytes of the output, or the error message.
func converted(t *testing.T, args ...string) (data []byte, message string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args = append(args, "-o", out, "-j1", "--features=default,global_var")
	code, _, message := btfgen(args...)
	if code == 0 {
		data = read(t, out)
	}
	return data, message
}

// TestDebugFile: with --debug-file, only files that the command line names are read. If it leaves
// out a needed file, there is a one-line error, even if the file is in the usual place. If it names
// all needed files, the output is the same as for the equivalent file that refers to no other file.
func TestDebugFile(t *testing.T) {
	referringTree(t)
	for _, c := range []struct {
		args, plain string
		want        string // of the message, after the name of the program; "": the bytes of plain
	}{
		{"object plain/x.o --debug-file=", "plain/x.o", ""},
		{"object plain/lib.a --debug-file=", "plain/lib.a", ""},
		{"object plain/thin.a --debug-file=", "", "plain/thin.a(x.o): this member of a thin archive is " +
			"in the file plain/x.o, which no --debug-file names; add --debug-file for it, or convert the " +
			"members instead of the archive\n"},
		{"object plain/thin.a --debug-file=plain/x.o", "", "plain/thin.a(y.o): this member of "},
		{"object plain/thin.a --debug-file=plain/x.o --debug-file=./plain/y.o", "plain/lib.a", ""},

		{"object split/x.o --debug-file=", "", "split/x.o: .debug_info+0x14: split DWARF: the unit is " +
			`in "x.dwo" (dwo id 0x`},
		{"object split/x.o --debug-file=", "", "), but no --debug-file names a file x.dwo; add " +
			"--debug-file for it or for a package of .dwo files\n"},
		{"object split/x.o --debug-file=split/x.dwo", "plain/x.o", ""},
		{"object split/y.o --debug-file=plain/y.o --debug-file=apart/y.dwo", "plain/y.o", ""},
		{"object split/y.o --debug-file=apart/x.dwo", "", "--debug-file: stat apart/x.dwo: no such"},
		{"object split/y.o --debug-file=split/x.dwo", "", "but no --debug-file names a file y.dwo"},
		{"object split/lib.a --debug-file=split/x.dwo", "", "but no --debug-file names a file y.dwo"},
		{"object split/thin.a --debug-file=split/x.dwo --debug-file=apart/y.dwo --debug-file=split/x.o " +
			"--debug-file=split/y.o", "plain/lib.a", ""},
		{"elf split/linked --debug-file=split/x.dwo --debug-file=apart/y.dwo", "plain/linked", ""},
		{"facts split/linked --debug-file=split/x.dwo --debug-file=apart/y.dwo", "plain/linked", ""},

		{"elf plain/stripped --debug-file=", "", "plain/stripped: no DWARF (.debug_info)"},
		{"elf plain/stripped --debug-file=plain/stripped.debug", "plain/whole", ""},
		{"elf plain/dwz --debug-file=", "", "but no --debug-file names it; add --debug-file for it\n"},
		{"elf plain/dwz --debug-file=plain/sup", "plain/whole", ""},
	} {
		got, message := converted(t, strings.Fields(c.args)...)
		if c.want != "" {
			if got != nil || !strings.Contains(message, c.want) || strings.Count(message, "\n") != 1 {
				t.Errorf("%s: %d bytes, %s; want %s", c.args, len(got), message, c.want)
			}
			continue
		}
		want, _ := converted(t, strings.Fields(c.args)[0], c.plain)
		if want == nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want the %d of %s: %s", c.args, len(got), len(want), c.plain, message)
		}
	}
}

// TestNamedPackage: a package next to the file is not read, unless it is named.
func TestNamedPackage(t *testing.T) {
	programtest.Need(t, "clang", "ld", "llvm-dwp")
	dir := t.TempDir()
	t.Chdir(dir)
	compileForms(t, dir, "clang", "-gdwarf-5 -O1 -gsplit-dwarf", true)
	want, _ := converted(t, "elf", "linked")
	programtest.Shell(t, dir, "llvm-dwp -o linked.dwp x.dwo y.dwo; rm x.dwo y.dwo")
	if got, message := converted(t, "elf", "linked", "--debug-file="); got != nil ||
		!strings.Contains(message, "no --debug-file names a file x.dwo") {
		t.Errorf("%d bytes, %s", len(got), message)
	}
	if got, message := converted(t, "elf", "linked", "--debug-file=linked.dwp"); want == nil ||
		!bytes.Equal(got, want) {
		t.Errorf("the package is named: %d bytes, want %d: %s", len(got), len(want), message)
	}
}
