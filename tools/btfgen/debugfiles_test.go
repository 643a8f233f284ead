package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// debugSources are two programs that share types. They have per-CPU variables, a set of kfuncs, and
// static variables of the same name in files of the same name, which only their types distinguish.
var debugSources = map[string]string{
	"h.h": `
		struct list { struct list *next, *prev; };
		union u { int i; float f; };
		typedef struct {
			long long_name_of_a_member; union u u; enum { FIRST_OF_ENUM, SECOND } e;
		} pair_t;
		struct shared {
			struct list list; pair_t pairs[4]; int (*function)(struct shared *, const char *);
		};
		#define PERCPU __attribute__((section(".data..percpu"), used))
		`,
	"one/x.c": `#include "../h.h"
		static PERCPU struct list variable; struct own_of_a { struct shared s; };
		int first(struct own_of_a *p) { return p->s.pairs[0].e; }`,
	"two/x.c": `#include "../h.h"
		static PERCPU pair_t variable; PERCPU struct shared other;
		long second(struct shared *p, pair_t pair) { return p->function(p, "") + pair.u.i; }`,
	"c.c": `#include "h.h"
		extern int first(void *); extern long second(struct shared *, pair_t);
		__attribute__((used)) unsigned long kfunc(struct shared *p) { return p->pairs[1].e; }
		__asm__(".section .BTF_ids,\"a\"; .balign 4; .globl __BTF_ID__set8__kfuncs;"
			"__BTF_ID__set8__kfuncs: .long 0, 1; .globl __BTF_ID__func__kfunc__1;"
			"__BTF_ID__func__kfunc__1: .long 0, 0;"
			".size __BTF_ID__set8__kfuncs, .-__BTF_ID__set8__kfuncs;"
			".type __BTF_ID__func__kfunc__1, @object; .size __BTF_ID__func__kfunc__1, 4;"
			".type __BTF_ID__set8__kfuncs, @object; .previous");
		void _start(void) { struct shared s; pair_t p; first(&s); second(&s, p); kfunc(&s); }`,
	"d.c": `#include "h.h"
		struct own_of_d { struct shared *s; }; PERCPU struct own_of_d d;
		void _start(void) { d.s->function(d.s, "d"); }`,
	// makes the programs a and d and the module m, with flags for the compiler
	"build": `
		for f in one/x two/x c d; do gcc -O1 $1 -c $f.c -o $f.o; done
		ld -e _start --build-id -o a one/x.o two/x.o c.o
		ld -e _start --build-id -o d d.o
		ld -r --build-id -o m one/x.o two/x.o c.o
		`,
}

// debugTree writes debugSources to a new directory, changes to that directory, and runs a script
// there.
func debugTree(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range debugSources {
		must.OK(t, os.MkdirAll(filepath.Dir(name), 0o777))
		must.OK(t, os.WriteFile(name, []byte(text), 0o666))
	}
	programtest.Shell(t, dir, script)
}

// madeOf returns the output of each verb for the file at path, with the given flags.
func madeOf(t *testing.T, path string, flags ...string) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	skipped := filepath.Join(t.TempDir(), "skipped")
	made := map[string][]byte{}
	for _, verb := range []string{"elf", "object", "facts"} {
		for _, set := range []string{"default", "+global_var"} {
			args := append([]string{verb, "-o", out, "--features=" + set, path}, flags...)
			if verb == "elf" {
				args = append(args, "--skipped="+skipped)
			}
			if code, _, stderr := btfgen(args...); code != 0 || stderr != "" {
				t.Fatalf("btfgen %q: code %d\n%s", args, code, stderr)
			}
			made[verb+" "+set] = read(t, out)
			if verb == "elf" {
				made["skipped "+set] = read(t, skipped)
			}
		}
	}
	return made
}

func sameMade(t *testing.T, name string, got, want map[string][]byte) {
	t.Helper()
	for what, data := range want {
		if !bytes.Equal(got[what], data) {
			t.Errorf("%s: %s: the %d bytes differ from the %d bytes for the plain file", name, what,
				len(got[what]), len(data))
		}
	}
}

// TestDWZ: the output for a file doesn't change if dwz processes the file, alone or together with a
// second file.
func TestDWZ(t *testing.T) {
	programtest.Need(t, "gcc", "ld", "dwz")
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		debugTree(t, "sh -e build "+version+"; mkdir dir plain; mv a d plain")
		want := map[string]map[string][]byte{"a": madeOf(t, "plain/a"), "d": madeOf(t, "plain/d")}
		for name, options := range map[string]string{
			"alone": "", "with ODR": "--odr", "a supplementary file": "-m sup",
			"a supplementary file of DWARF 5": "--dwarf-5 -m sup", "ODR": "--odr -m sup",
			"all imports": "--no-import-optimize -m sup", "another name": "-m sup -M dir/../sup",
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				dwz := "dwz -l none -L none " + options
				script := dwz + " a d"
				if !strings.Contains(options, "-m") {
					script = dwz + " a; " + dwz + " d"
				}
				programtest.Shell(t, "", "rm -f sup; cp plain/* .; "+script)
				if _, err := os.Stat("sup"); err != nil && strings.Contains(options, "-m") {
					t.Fatal(err)
				}
				for file, want := range want {
					if bytes.Equal(read(t, file), read(t, "plain/"+file)) {
						t.Errorf("dwz changed nothing in %s", file)
					}
					sameMade(t, file, madeOf(t, file), want)
					sameMade(t, file+" -j3", madeOf(t, file, "-j3"), want)
					if strings.Contains(options, "-m") {
						sameMade(t, file+" --debug-file", madeOf(t, file, "--debug-file=sup"), want)
					}
				}
			})
		}
	}
}

// TestSeparateDebugFiles: a stripped file and its debug file give the same output as the original.
func TestSeparateDebugFiles(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"objcopy", "objcopy --only-keep-debug $f x.debug; objcopy --strip-debug $f x"},
		{"objcopy, compressed", "objcopy --only-keep-debug --compress-debug-sections $f x.debug; " +
			"objcopy --strip-debug $f x"},
		{"eu-strip", "eu-strip -f x.debug -o x $f"},
		{"eu-strip, symbols stay", "eu-strip -g -f x.debug -o x $f"},
		{"eu-strip, references between debug sections resolved",
			"eu-strip --reloc-debug-sections -f x.debug -o x $f"},
	} {
		for _, file := range []string{"a", "m"} {
			t.Run(tt.name+" "+file, func(t *testing.T) {
				program, _, _ := strings.Cut(tt.name, ",")
				programtest.Need(t, "gcc", "ld", program)
				debugTree(t, "sh -e build -g; f="+file+";"+tt.script)
				want := madeOf(t, file)
				sameMade(t, "--debug-file", madeOf(t, "x", "--debug-file=x.debug"), want)
				object := map[string][]byte{"object default": want["object default"]}
				alone := map[string][]byte{"object default": objectOf(t, "x.debug")}
				if !strings.Contains(tt.name, "stay") || file == "m" {
					sameMade(t, "the debug file alone", alone, object)
				}
			})
		}
	}
}

// objectOf returns the object of a file, or nil if there is an error, which must name the missing
// section.
func objectOf(t *testing.T, path string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := btfgen("object", "-o", out, path)
	if code == 0 {
		return read(t, out)
	}
	if !strings.Contains(stderr, "(.symtab): no contents: this is a separate debug file; pass the") {
		t.Errorf("%s: code %d, %s", path, code, stderr)
	}
	return nil
}

// TestSupplementOfDebugFile uses debug files that dwz has processed, as distributions do.
func TestSupplementOfDebugFile(t *testing.T) {
	programtest.Need(t, "gcc", "ld", "objcopy", "dwz")
	debugTree(t, `sh -e build -g
		mkdir -p root/bin root/usr/lib/debug/bin root/usr/lib/debug/.dwz plain
		debug=root/usr/lib/debug
		for f in a d; do
			cp $f plain
			objcopy --only-keep-debug $f $debug/bin/$f.debug
		done
		dwz -r -m $debug/.dwz/common $debug/bin/a.debug $debug/bin/d.debug
		for f in a d; do objcopy -S --add-gnu-debuglink=$debug/bin/$f.debug $f root/bin/$f; done
		id=$(readelf -n a | sed -n 's/.*Build ID: //p')
		mkdir -p $debug/.build-id/$(echo $id | cut -c 1-2)
		ln -s ../../bin/a.debug $debug/.build-id/$(echo $id | cut -c 1-2)/$(echo $id | cut -c 3-).debug`)
	want := madeOf(t, "plain/a")
	sameMade(t, "a", madeOf(t, "root/bin/a", "--debug-dir=root/usr/lib/debug"), want)
	code, _, stderr := btfgen("elf", "-v", "-o", "out", "--debug-dir=root/usr/lib/debug", "root/bin/a")
	for _, line := range []string{
		"btfgen: root/bin/a: its debug file is root/usr/lib/debug/.build-id/",
		".debug: its supplementary file is root/usr/lib/debug/.dwz/common",
	} {
		if code != 0 || strings.Count(stderr, line) != 1 {
			t.Errorf("code %d, not one line %q: %s", code, line, stderr)
		}
	}
	sameMade(t, "all files named", madeOf(t, "root/bin/a",
		"--debug-file=root/usr/lib/debug/bin/d.debug", "--debug-file=root/usr/lib/debug/.dwz/common",
		"--debug-file=root/usr/lib/debug/bin/a.debug"), want)
	for _, tt := range []struct {
		code int
		want string
		args []string
	}{
		{1, "root/bin/a: no DWARF (.debug_info): the DWARF was moved to \"a.debug\" " +
			"(.gnu_debuglink); pass that file to btfgen elf with --debug-file, or its directory " +
			"with --debug-dir",
			[]string{"elf", "--debug-dir=", "root/bin/a"}},
		{1, "is in the supplementary file \"../.dwz/common\" (dwz -m) with build-id ",
			[]string{"elf", "--debug-file=root/usr/lib/debug/bin/a.debug", "root/bin/a"}},
		{1, ", but no --debug-file names it; add --debug-file for it", []string{"object",
			"--debug-file=root/usr/lib/debug/bin/d.debug", "root/usr/lib/debug/bin/a.debug"}},
		{1, "root/bin/a: no DWARF (.debug_info), and no --debug-file is its separate debug file: " +
			"root/usr/lib/debug/bin/d.debug (its build-id is ",
			[]string{"facts", "--debug-file=root/usr/lib/debug/bin/d.debug", "root/bin/a"}},
		{1, "a.debug: this is a separate debug file, in which section .BTF_ids (the list of kfuncs) " +
			"has no contents; pass the stripped file, and this file with --debug-file (or leave kfuncs " +
			"out with --features=-decl_tag_kfuncs)", []string{"elf", "root/usr/lib/debug/bin/a.debug"}},
	} {
		code, _, stderr := btfgen(append(tt.args, "-o", "none")...)
		if _, err := os.Stat("none"); code != tt.code || !strings.Contains(stderr, tt.want) ||
			strings.Count(stderr, "\n") != 1 || err == nil {
			t.Errorf("%q: code %d, %v: %s, want %q", tt.args, code, err, stderr, tt.want)
		}
	}
}
