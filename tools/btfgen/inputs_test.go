package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// header is the common part of the sources of TestObjectOfSeveral; only FIELD differs.
const header = `
#ifndef FIELD
#define FIELD int
#endif
typedef unsigned long word;
struct late;
struct list { struct list *next, *prev; };
struct changed { FIELD x; char tail[]; };
struct user { struct changed *c; struct late *l; struct list links; word w[4];
	union { void *p; struct { short lo, hi; }; }; int bits : 3; };
`

// severalFiles makes object files that have nearly all types in common; some of these files are
// equal. It also makes archives and an object from assembler, and adds the stored files of one
// machine.
func severalFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		programtest.Run(t, dir, name, args...)
	}
	write := func(name, text string) {
		t.Helper()
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var made []string
	for i := range 12 {
		name := fmt.Sprintf("f%d", i)
		write(name+".c", header+fmt.Sprintf(
			"struct late { int own%d; }; int f%d(struct user *u, struct late *l) { return u->bits; }",
			i%3, i/2))
		run("gcc", "-std=gnu17", "-w", "-g", "-O1", "-fno-pic", "-c", name+".c", "-o", name+".o",
			[]string{"-DFIELD=int", "-DFIELD=long", "-gdwarf-4"}[i%5%3])
		made = append(made, filepath.Join(dir, name+".o"))
	}
	write("entry.S", ".globl entry\nentry: nop\n")
	run("gcc", "-c", "entry.S", "-o", "entry.o")
	run("ar", "rc", "lib.a", "f0.o", "f7.o", "f11.o")
	run("ar", "rcT", "thin.a", "f1.o", "f2.o")
	made = append(made, filepath.Join(dir, "entry.o"), filepath.Join(dir, "lib.a"),
		filepath.Join(dir, "thin.a"))
	for _, name := range []string{"annotated-clang.o", "annotated-gcc.o", "c23-clang.o", "c23-gcc.o",
		"changed-clang.o", "machine-x86_64.o", "machine-x86_64-dwarf64.o", "types-clang-4.o",
		"types-clang-5.o", "lto-linked-gcc.elf", "zstd.o"} {
		made = append(made, filepath.Join(objects, name))
	}
	return made
}

// mergeFiles merges BTF objects.
func mergeFiles(t *testing.T, paths ...string) []byte {
	t.Helper()
	m := object.NewMerger()
	for _, path := range paths {
		o := must.Get(object.ReadFile(path, nil))(t)
		must.OK(t, m.Add(path, o))
	}
	data := must.Get(object.Write(m.Object(), 1))(t)
	return data
}

// TestObjectOfSeveral: the object for several inputs is the same as the merge of their objects, in
// any order, with any number of threads, and in any groups.
func TestObjectOfSeveral(t *testing.T) {
	files := severalFiles(t)
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	convert := func(out string, jobs int, files ...string) {
		t.Helper()
		args := append([]string{"object", "-q", "-j", fmt.Sprint(jobs), "-o", out}, files...)
		if code, stdout, stderr := btfgen(args...); code != 0 || stdout+stderr != "" {
			t.Fatalf("%v: code %d: %s%s", args, code, stdout, stderr)
		}
	}
	var alone []string
	for i, file := range files {
		alone = append(alone, p(fmt.Sprintf("%d.btfo", i)))
		convert(alone[i], 1, file)
	}
	want := mergeFiles(t, alone...)
	for round := range 20 {
		r := rand.New(rand.NewPCG(3, uint64(round)))
		shuffled := slices.Clone(files)
		r.Shuffle(len(files), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		convert(p("all"), 1+round%4, shuffled...)
		if !bytes.Equal(read(t, p("all")), want) {
			t.Fatalf("round %d: the object of %q is not that of their objects", round, shuffled)
		}
		var groups []string
		for len(shuffled) > 0 {
			n := 1 + r.IntN(len(shuffled))
			list := p("list.params")
			must.OK(t, os.WriteFile(list, []byte(strings.Join(shuffled[:n], "\n")), 0o600))
			groups = append(groups, p(fmt.Sprintf("group%d", len(groups))))
			convert(groups[len(groups)-1], 1+round%3, "@"+list)
			shuffled = shuffled[n:]
		}
		if !bytes.Equal(mergeFiles(t, groups...), want) {
			t.Fatalf("round %d: %d groups give a different result", round, len(groups))
		}
	}
}

// TestBadInputs converts several inputs, some of which are invalid. It expects a line for each
// invalid input, and no output.
func TestBadInputs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	good := filepath.Join(objects, "machine-x86_64.o")
	other := filepath.Join(objects, "machine-aarch64.o")
	must.OK(t, os.WriteFile(p("text.o"), []byte("no object file, but text"), 0o600))
	must.OK(t, os.WriteFile(p("empty.a"), []byte("!<arch>\n"), 0o600))
	bare := p("bare.o")
	programtest.Run(t, "", "objcopy", "-g", good, bare)
	many := []string{good}
	for i := range 50 {
		many = append(many, p(fmt.Sprint("none", i)))
	}
	for _, tt := range []struct {
		args []string
		code int
		want []string // in the lines, in order
	}{
		{[]string{good, p("text.o")}, 1, []string{p("text.o") + ": not an ELF file"}},
		{[]string{p("text.o"), good, p("none.o"), bare, p("empty.a")}, 1, []string{
			p("text.o") + ": not an ELF file", p("none.o") + ": no such file",
			bare + ": ", p("empty.a") + ": an archive without members", "4 of 5 inputs failed"}},
		{[]string{good, other}, 1, []string{"different targets: " + good + " is for EM_X86_64"}},
		{many, 1, append(slices.Repeat([]string{"no such file"}, 20), "50 of 51 inputs failed")},
	} {
		code, stdout, stderr := btfgen(append([]string{"object", "-j2", "-o", p("new")}, tt.args...)...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if code != tt.code || stdout != "" || len(lines) != len(tt.want) {
			t.Errorf("%v: code %d, want %d and %q: %s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
			continue
		}
		for i, line := range lines {
			if !strings.Contains(line, tt.want[i]) {
				t.Errorf("%v: line %q, want %q in it", tt.args, line, tt.want[i])
			}
		}
		if _, err := os.Lstat(p("new")); err == nil {
			t.Errorf("%v: there is an output", tt.args)
		}
	}
	left, _ := filepath.Glob(p(".*"))
	if len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
