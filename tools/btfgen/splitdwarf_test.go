package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// splitSources are the sources of TestSplitDWARF. They have functions that are inlined, that lose
// parameters (in registers and on the stack) or that have parts in several sections; parameters
// that move; a type that nothing refers to; static variables with the same name; and a tag with two
// definitions.
var splitSources = map[string]string{
	"header.h": `
		#define PERCPU __attribute__((section(".data..percpu"), used))
		typedef unsigned long word;
		struct list { struct list *next; enum { ON, OFF } state; union { word w; char c[8]; }; };
		enum unused { UNUSED = 5 };
		int outside(int, int);
		static inline int add(struct list *l, int k)
		{ l->w += k; return k > 3 ? outside(k, UNUSED) : k; }`,
	"x.c": `
		#include "header.h"
		struct two { int x; };
		PERCPU struct list per_cpu = { 0 };
		static PERCPU struct two same;
		static __attribute__((noinline)) int part(struct list *l, int unused, word w)
		{ return outside(l->state, w) + outside(w, same.x); }
		int first(struct list *l, word w)
		{
			int r = add(l, w);
			r = outside(r, add(l->next, r));
			struct inner { struct list *l; } in = { l };
			return r + part(in.l, r, w) * outside(w, r);
		}
		__attribute__((cold)) void rare(int x, int y) { outside(y, x); first(&per_cpu, y); }
		// an address and constants on the stack: in a clone, these parameters are removed
		static __attribute__((noinline)) word many(word a, word b, word c, word d, word e, word f,
			word g, word h, void *address, word k)
		{ outside(a + b + c + d + e, f + g + h + k); return first((struct list *)&k, a); }
		static __attribute__((noinline)) word front(void *address, word a, word b, word c, word d,
			word e, word f, word g, word h, word k)
		{ outside(a + b + c + d + e, f + g + h + k); return first((struct list *)&k, a); }
		word calls_many(word k)
		{
			return many(k, k, k, k, k, k, k, k, &same, k) + many(k, 2, 3, 4, 5, 6, 7, k, &same, 4) +
				front(&same, k, k, k, k, k, k, k, k, k) + front(&same, k, 2, 3, 4, 5, 6, 7, k, 4);
		}`,
	"y.c": `
		#include "header.h"
		#ifdef __cplusplus // where a tag has one definition
		#define two other
		#endif
		struct two { long y; struct list *l; };
		static PERCPU struct two same;
		int outside(int a, int b) { return a * b + add(same.l, a); }
		__attribute__((cold, noinline)) static void fails(int a, int b)
		{ same.l->w = a; outside(b, a); }
		int halves(struct two *t, int a)
		{
			if (t->y) { fails(a, t->y); fails(t->y, a); fails(4, t->y - a); return a * 7; }
			return outside(a, t->y) + 1;
		}
		__attribute__((weak)) int weak(struct two *t, int a)
		{
			if (t->y) { fails(a, t->y); fails(t->y, a); fails(4, t->y - a); return a * 7; }
			return outside(a, t->y) + 2;
		}
		int second(struct two *t, ...) { return first_of(t->l) + same.y++; }`,
}

// splitForms are the files to convert: linked files to BTF, the others to BTF objects.
var splitForms = []string{"x.o", "y.o", "lib.a", "thin.a", "both.o", "linked"}

// compileForms compiles the sources in dir and makes splitForms from them.
func compileForms(t *testing.T, dir, compiler, flags string, link bool) {
	t.Helper()
	for name, text := range splitSources {
		writeFile(t, filepath.Join(dir, name), text)
	}
	script := `for i in x y; do ` + compiler + " -w -fno-pic -ffreestanding " +
		`-Dfirst_of='((int (*)(struct list *))0)' -c ` + flags + ` -o $i.o $i.c; done
		ar rc lib.a x.o y.o; ar rcT thin.a x.o y.o`
	if link {
		script += `; ld -r -o both.o x.o y.o; ld -e 0 -o linked x.o y.o`
	}
	programtest.Shell(t, dir, script)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// made returns what the verb produces from an input in dir.
func made(t *testing.T, verb, dir, input string, args ...string) []byte {
	t.Helper()
	args = append([]string{verb, "-q", "--features=default,global_var", "-o-",
		filepath.Join(dir, input)}, args...) // a second --features replaces the first
	code, stdout, stderr := btfgen(args...)
	if code != 0 {
		t.Fatalf("%q: %s", args, stderr)
	}
	return []byte(stdout)
}

// products returns what btfgen produces from files in dir, by command.
func products(t *testing.T, dir string, forms []string, args ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range forms {
		commands := []string{"object", "object --features=default,true_signature"}
		if f == "both.o" || f == "linked" {
			commands = append(commands, "elf", "facts")
			all["inline "+f] = sitesOf(t, dir, f, args...)
		}
		for _, c := range commands {
			words := strings.Fields(c)
			all[c+" "+f] = string(made(t, words[0], dir, f, slices.Concat(words[1:], args)...))
		}
	}
	return all
}

// sameForms checks that files in dir give the products that the files without -gsplit-dwarf give.
func sameForms(t *testing.T, want map[string]string, dir string, forms []string, args ...string) {
	t.Helper()
	for command, have := range products(t, dir, forms, args...) {
		if have != want[command] {
			t.Errorf("btfgen %s: the output differs from that without -gsplit-dwarf", command)
		}
	}
}

// TestSplitDWARF: the bytes are the same with and without -gsplit-dwarf.
func TestSplitDWARF(t *testing.T) {
	for _, c := range []struct {
		compiler, flags string
		split           string // -gsplit-dwarf if empty
		types           string // a flag that is used only with split DWARF
	}{
		{compiler: "gcc", flags: "-gdwarf-4"},
		{compiler: "gcc", flags: "-gdwarf-5 -O2 -ffunction-sections"},
		{compiler: "gcc", flags: "-gdwarf-4 -O2 -ffunction-sections -gz"},
		{compiler: "gcc", flags: "-gdwarf-5 -O2", types: "-fdebug-types-section"},
		{compiler: "gcc", flags: "-gdwarf-4 -O2", types: "-fdebug-types-section"},
		{compiler: "gcc", flags: "-gdwarf-5 -O2 -gdwarf64"},
		{compiler: "clang", flags: "-gdwarf-5"},
		{compiler: "clang", flags: "-gdwarf-4 -O2"},
		{compiler: "clang", flags: "-gdwarf-5 -O2 -ffunction-sections -gz"},
		{compiler: "clang -x c++", flags: "-gdwarf-4 -O2", types: "-fdebug-types-section"},
		{compiler: "clang -x c++", flags: "-gdwarf-5 -O2", types: "-fdebug-types-section"},
		{compiler: "clang", flags: "-gdwarf-5 -O2", split: "-gsplit-dwarf=single"},
		{compiler: "clang", flags: "-gdwarf-4 -O2", split: "-gsplit-dwarf=single"},
		{compiler: "clang", flags: "-gdwarf-4 -O1 -target s390x-linux-gnu"},
		{compiler: "clang", flags: "-gdwarf-5 -O1 -target s390x-linux-gnu"},
		{compiler: "clang", flags: "-gdwarf-5 -O1 -target i386-linux-gnu"},
	} {
		t.Run(strings.Join([]string{c.compiler, c.flags, c.split, c.types}, " "), func(t *testing.T) {
			programtest.Need(t, strings.Fields(c.compiler)[0])
			plain, where := t.TempDir(), filepath.Join(t.TempDir(), "where it was compiled")
			if c.split == "" {
				c.split = "-gsplit-dwarf"
			}
			must.OK(t, os.Mkdir(where, 0o777))
			forms := splitForms
			native := !strings.Contains(c.flags, "-target")
			if !native {
				forms = forms[:4]
			}
			compileForms(t, plain, c.compiler, c.flags, native)
			compileForms(t, where, c.compiler, strings.Join([]string{c.flags, c.split, c.types}, " "),
				native)
			want := products(t, plain, forms)
			sameForms(t, want, where, forms[len(forms)-1:])
			// the directory in the units is wrong now
			dir := filepath.Join(filepath.Dir(where), "elsewhere")
			must.OK(t, os.Rename(where, dir))
			sameForms(t, want, dir, forms)
			if c.split == "-gsplit-dwarf" {
				apart := filepath.Join(t.TempDir(), "dwos")
				programtest.Shell(t, dir, "mkdir '"+apart+"'; mv *.dwo '"+apart+"'")
				sameForms(t, want, dir, forms, "--debug-dir="+t.TempDir(), "--debug-dir="+apart)
				if native {
					checkPackages(t, want, dir, apart, c.compiler+c.flags, c.types == "")
				}
			}
		})
	}
}

// checkPackages packs the .dwo files of a directory. The products must stay the same, but only the
// BTF if the parameter all isn't set.
func checkPackages(t *testing.T, want map[string]string, dir, dwos, how string, all bool) {
	t.Helper()
	if strings.HasPrefix(how, "gcc-gdwarf-5") || strings.Contains(how, "-gz") {
		return // llvm-dwp doesn't terminate, or can't read such files
	}
	if _, err := exec.LookPath("llvm-dwp"); err != nil {
		return
	}
	same := func(forms []string, args ...string) {
		t.Helper()
		if all {
			sameForms(t, want, dir, forms, args...)
		} else if string(made(t, "elf", dir, "linked", args...)) != want["elf linked"] {
			t.Errorf("btfgen elf %q with type units: the bytes differ from those without -gsplit-dwarf",
				args)
		}
	}
	if !all {
		same(nil, "--debug-dir", dwos)
	}
	programtest.Shell(t, dir, "llvm-dwp -o given '"+dwos+"/x.dwo' '"+dwos+"/y.dwo'")
	same(splitForms, "--debug-file", filepath.Join(dir, "given"),
		"--debug-file", filepath.Join(dir, "x.o"), "--debug-file", filepath.Join(dir, "y.o")) // for thin.a
	programtest.Shell(t, dir, "mv given linked.dwp")
	same([]string{"linked"})
}

// TestTypeUnitsWithoutLocations: type units have no locations, so their index may lack the column
// for these. All types still belong to the units of their .dwo files, even types that nothing
// refers to.
func TestTypeUnitsWithoutLocations(t *testing.T) {
	programtest.Need(t, "gcc")
	programtest.Need(t, "llvm-dwp")
	plain, dir := t.TempDir(), t.TempDir()
	for i, d := range []string{plain, dir} {
		for _, name := range []string{"x", "y"} {
			writeFile(t, filepath.Join(d, name+".c"), strings.ReplaceAll(`
				struct of_NAME { int i; };
				int g(int);
				int f_NAME(int a, int b) { return g(a) + b; }`, "NAME", name))
		}
		flags := []string{"", " -gsplit-dwarf -fdebug-types-section"}[i]
		programtest.Shell(t, d, `for i in x y; do gcc -c -O2 -gdwarf-4 -fno-eliminate-unused-debug-types`+flags+
			` -o $i.o $i.c; done; ld -r -o linked x.o y.o`)
	}
	programtest.Shell(t, dir, "llvm-dwp -o whole x.dwo y.dwo; rm *.dwo")
	editIndex(t, filepath.Join(dir, "whole"), ".debug_tu_index", filepath.Join(dir, "given"),
		func(x packageIndex) { x.rename(5, 7) })
	if !bytes.Equal(made(t, "elf", plain, "linked"),
		made(t, "elf", dir, "linked", "--debug-file", filepath.Join(dir, "given"))) {
		t.Error("the bytes differ from those without -gsplit-dwarf")
	}
}

// TestSplitDWARFOfSeveral converts several files together, and one file that ld -r made from them.
// One of the units is in no .dwo file.
func TestSplitDWARFOfSeveral(t *testing.T) {
	programtest.Need(t, "gcc")
	plain, dir := t.TempDir(), t.TempDir()
	compileForms(t, plain, "gcc", "-gdwarf-5 -O1", true)
	compileForms(t, dir, "gcc", "-gdwarf-5 -O1 -gsplit-dwarf", true)
	for _, d := range []string{plain, dir} {
		programtest.Shell(t, d, `echo 'struct z { struct two *t; } z;' > z.c; gcc -g -c z.c
			ld -r -o mixed.o x.o z.o y.o`)
	}
	want := made(t, "object", plain, "mixed.o")
	if !bytes.Equal(want, made(t, "object", dir, "mixed.o")) {
		t.Error("one unit is not split off: the bytes differ")
	}
	for _, j := range []string{"-j1", "-j3"} {
		if !bytes.Equal(want, made(t, "object", dir, "x.o", j, filepath.Join(dir, "y.o"),
			filepath.Join(dir, "z.o"))) {
			t.Errorf("%s: the objects together: the bytes differ", j)
		}
	}
}

// TestSplitDWARFErrors: each error is one line that describes the problem.
func TestSplitDWARFErrors(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	compileForms(t, dir, "gcc", "-gdwarf-5 -gsplit-dwarf", true)
	programtest.Shell(t, dir, `mkdir other none junk; mv *.dwo other; cp other/y.dwo other/z.dwo
		mkdir swapped; cp other/y.dwo swapped/x.dwo; : > junk/x.dwo
		head -c 3000 other/x.dwo > junk/short`)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		verb string
		args []string
		want []string
	}{
		{"object", []string{at("x.o")}, []string{at("x.o") + ": .debug_info+0x14: split DWARF",
			`"x.dwo" (dwo id 0x`, "not found at " + at("x.dwo"), "--debug-dir", "--debug-file"}},
		{"elf", []string{at("linked"), "--debug-dir=" + at("none")},
			[]string{"not found at " + at("none/x.dwo"), at("x.dwo")}},
		{"object", []string{at("x.o"), "--debug-dir=" + at("swapped")},
			[]string{at("swapped/x.dwo") + " is from another compilation (dwo id 0x"}},
		{"object", []string{at("x.o"), "--debug-dir=" + at("junk")}, []string{at("junk/x.dwo"), "empty"}},
		{"object", []string{at("x.o"), "--debug-file=" + at("missing")},
			[]string{at("missing"), "no such file"}},
		{"object", []string{at("x.o"), "--debug-file=" + at("y.o")},
			[]string{"no --debug-file names a file x.dwo"}},
		{"object", []string{at("x.o"), "--debug-dir="}, []string{"--debug-dir= turns off the search"}},
		{"object", []string{at("other/x.dwo")},
			[]string{at("other/x.dwo"), "this is a .dwo file", "pass the object file"}},
		{"object", []string{at("four/x.o"), "--debug-dir=" + at("five")},
			[]string{at("five/x.dwo"), "has DWARF 5", at("four/x.o") + " has DWARF 4"}},
	} {
		if strings.Contains(c.args[0], "four") { // clang gives both the same dwo id
			if _, err := exec.LookPath("clang"); err != nil {
				continue
			}
			programtest.Shell(t, dir, `mkdir four five; echo 'int f(int a) { return a; }' > z.c
				(cd four; clang -O2 -gdwarf-4 -gsplit-dwarf -c ../z.c -o x.o; rm x.dwo)
				cd five; clang -O2 -gdwarf-5 -gsplit-dwarf -c ../z.c -o x.o`)
		}
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{c.verb, "-o", out}, c.args...)
		code, _, stderr := btfgen(args...)
		missing := slices.ContainsFunc(c.want, func(w string) bool {
			return !strings.Contains(stderr, w)
		})
		if code != 1 || missing || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d: %swant %q", args, code, stderr, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q wrote something", args)
		}
	}
}

// skeletons are two skeleton units with DWARF version 4, whose split units have no dwo id.
const skeletons = `
	.section .debug_abbrev,"",@progbits
	.uleb128 1; .uleb128 0x11; .byte 0  # DW_TAG_compile_unit
	.uleb128 0x2130; .uleb128 8         # DW_AT_GNU_dwo_name, DW_FORM_string
	.uleb128 0x2131; .uleb128 7         # DW_AT_GNU_dwo_id, DW_FORM_data8
	.byte 0, 0, 0
	.section .debug_info,"",@progbits
	.irp name, a, b
	.long 1f-0f
0:	.short 4
	.long 0
	.byte 8
	.uleb128 1
	.asciz "\name\().dwo"
	.quad 0
1:
	.endr
`

// TestSplitDWARFStrings uses split units that refer to strings by offset, so that one offset means
// different strings in different .dwo files. Compilers don't write such units; these are made from
// units that aren't split.
func TestSplitDWARFStrings(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "skeletons.s"), skeletons)
	programtest.Shell(t, dir, `for i in a b; do
			echo "struct tag_of_$i { struct tag_of_$i *member_of_$i; int common; };
				typedef short short_$i;" > $i.c
			gcc -gdwarf-4 -fno-eliminate-unused-debug-types -c $i.c
		done
		ld -e 0 -o linked a.o
		objcopy --rename-section .debug_info=.debug_info.dwo \
			--rename-section .debug_str=.debug_str.dwo \
			--rename-section .debug_abbrev=.debug_abbrev.dwo linked a.dwo
		sed 's/_of_a/_of_b/g; s/short_a/short_b/; s/a\.c/b.c/' a.dwo > b.dwo # at the same offsets
		ld -r -o plain.o a.o b.o
		gcc -c skeletons.s; ld -e 0 -o skeletons skeletons.o`)
	want := made(t, "object", dir, "plain.o")
	for _, name := range []string{"skeletons.o", "skeletons"} {
		if !bytes.Equal(want, made(t, "object", dir, name, "-j1")) {
			t.Errorf("%s: the bytes differ from those of units that aren't split", name)
		}
	}
}
