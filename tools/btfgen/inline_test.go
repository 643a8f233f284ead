package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/implicitargs"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// inlineSources have functions that are inlined: with constants, registers, addresses; nested; with
// the same name in two units; with a body that also has a symbol; with a type that the base lacks.
var inlineSources = map[string]string{
	"inlined.h": `
		#define INLINE static inline __attribute__((always_inline))
		long outside(long, long); // its second argument is often the caller's second argument
		long pointer(int *, long);
		struct only { int one, two; };
		INLINE long add(long a, int k) { return outside(k, a); }
		INLINE long outer(long b) { return add(b, -7); }`,
	"a.c": `
		#include "inlined.h"
		INLINE long same(int a) { return outside(1, a); }
		INLINE long named(struct only *o, unsigned char c) { return outside(c, (long)o); }
		INLINE long address(int *p, long v) { return pointer(p, v); }
		INLINE void nothing(void) { outside(1, 2); }
		int variable;
		long both(long x) { return outside(x, x); }
		long constants(long x, long y) { return add(y, 42); }
		long nested(long x, long y) { return outer(y); }
		long stack(void) { int local; return address(&local, 3); }
		long global(void) { return address(&variable, 4); }
		long first(int x, int y) { return same(y); }
		long tag(long x, struct only *y) { return named(y, 200); }
		long calls(long x, long y) { return both(y) + 1; }
		long unused(void) { nothing(); return 0; }
		#ifdef __SIZEOF_INT128__
		INLINE long wide(unsigned __int128 v) { return outside(v, v >> 64); }
		long pair(unsigned __int128 x) { return wide(x); }
		#endif`,
	"b.c": `
		#include "inlined.h"
		INLINE long same(long a, long b) { return outside(b, a); }
		long second(long x, long y) { return same(y, 5); }
		__attribute__((cold)) long rare(long x) { return outside(x, x); }
		long halves(long x, long y)
		{ if (__builtin_expect(x, 0)) { rare(y); return add(rare(x), 9); } return y; }`,
}

// sitesOf makes the BTF and the sites of an ELF file, checks both, and returns the sites as text.
func sitesOf(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	base, out := filepath.Join(t.TempDir(), "base"), filepath.Join(t.TempDir(), "out")
	run := func(verb string, more ...string) {
		t.Helper()
		args := slices.Concat([]string{verb, "-q", path}, more, args)
		if code, _, stderr := btfgen(args...); code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
	}
	run("elf", "-o", base)
	run("inline", "--base", base, "-o", out)
	for _, jobs := range []string{"1", "5"} {
		run("inline", "--base", base, "-o", out+jobs, "-j"+jobs)
		if !bytes.Equal(readFile(t, out), readFile(t, out+jobs)) {
			t.Errorf("%s: -j%s gives different bytes", name, jobs)
		}
	}
	below := must.Get(btf.Parse(readFile(t, base), nil))(t)
	b := must.Get(btf.Parse(readFile(t, out), below))(t)
	for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
		t.Errorf("%s: %v", name, v)
	}
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	if err := dump.CheckCode(b, f); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for i := range b.Types { // a function that the base has is not repeated
		name := b.TypeName(&b.Types[i])
		if b.Types[i].Kind == btf.KindFunc && (name == "both" || name == "rare") {
			t.Errorf("%s is in the base, and again in the sites' BTF", name)
		}
	}
	return printSites(t, b, f)
}

// printSites returns the sites in b as text. f may be nil; if it isn't, it names the code.
func printSites(t *testing.T, b *btf.Blob, f *elf.File) string {
	t.Helper()
	names := must.Get(dump.NamesOf(f))(t)
	var text strings.Builder
	must.OK(t, dump.WriteSites(&text, b, nil, names, false))
	return text.String()
}

// machines has the register of the second parameter of a function: for 8 bytes, and for 4.
var machines = []struct{ name, second, low string }{
	{"x86-64", "%rsi", "%esi"},
	{"arm64", "x1", "w1"},
	{"s390x", "%r3", "%r3"},
	{"riscv64", "a1", "a1"},
}

// TestInline compares the sites with what the source says.
func TestInline(t *testing.T) {
	for _, c := range []struct {
		compiler string
		machine  int  // index in machines
		late     bool // constants are known only after the first instruction
	}{
		{compiler: "gcc"},
		{compiler: "clang"},
		{compiler: "aarch64-linux-gnu-gcc", machine: 1},
		{compiler: "clang --target=aarch64-linux-gnu", machine: 1},
		{compiler: "s390x-linux-gnu-gcc", machine: 2},
		{compiler: "clang --target=s390x-linux-gnu", machine: 2},
		{compiler: "riscv64-linux-gnu-gcc", machine: 3},
		{compiler: "clang --target=riscv64-linux-gnu -mno-relax", machine: 3, late: true},
	} {
		for _, dwarf := range []string{"4", "5"} {
			t.Run(c.compiler+" DWARF "+dwarf, func(t *testing.T) {
				program, flags, _ := strings.Cut(c.compiler, " ")
				programtest.Need(t, program)
				dir := t.TempDir()
				for name, text := range inlineSources {
					writeFile(t, filepath.Join(dir, name), text)
				}
				compile := func(more string) {
					programtest.Shell(t, dir, "for i in a b; do "+program+" "+flags+" -w -O2 -gdwarf-"+dwarf+
						" -fno-pic -ffreestanding -fno-asynchronous-unwind-tables "+more+
						" -c -o $i.o $i.c; done")
				}
				compile("")
				m := machines[c.machine]
				text := sitesOf(t, dir, "a.o") + sitesOf(t, dir, "b.o")
				checkSites(t, text, m.second, m.low, c.late)
				plain := text
				compile("-gsplit-dwarf")
				if text := sitesOf(t, dir, "a.o") + sitesOf(t, dir, "b.o"); text != plain {
					t.Errorf("with -gsplit-dwarf:\n%s\nwithout:\n%s", text, plain)
				}
				if c.machine == 0 {
					checkLinked(t, dir, plain, program == "gcc")
				}
			})
		}
	}
}

// checkSites checks the sites of the two object files. second is the register of a function's
// second parameter, and low the same register with a value of 4 bytes. If late is set, constants
// may be unknown at the first instruction.
func checkSites(t *testing.T, text, second, low string, late bool) {
	t.Helper()
	q := regexp.QuoteMeta
	constant := func(value string) string {
		if late {
			return `(` + value + `|\?)`
		}
		return value
	}
	for _, want := range []string{
		`constants\+\S+  add\(a = ` + q(second) + `, k = ` + constant("0x2a") + `\)`,
		`nested\+\S+  outer\(b = ` + q(second) + `\)`,
		`nested\+\S+  add\(a = ` + q(second) + `, k = ` + constant("-7") + `\)`,
		`first\+\S+  same\(a = (` + q(low) + `|\?)\)`,
		`second\+\S+  same\(a = ` + q(second) + `, b = ` + constant("0x5") + `\)`,
		`tag\+\S+  named\(o = ` + q(second) + `, c = ` + constant("0xc8") + `\)`,
		`stack\+\S+  address\(p = \S.*, v = 0x3\)`,
		`global\+\S+  address\(p = \?, v = 0x4\)`, // the address of the section isn't known
		`unused\+\S+  nothing\(\)`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(text) {
			t.Errorf("there is no site %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "  add("); n < 3 {
		t.Errorf("%d sites of add:\n%s", n, text)
	}
}

// checkLinked compares linked files with the object files, whose sites are in the text plain. The
// compiler writes the addresses of variables if the parameter addresses is set.
func checkLinked(t *testing.T, dir, plain string, addresses bool) {
	t.Helper()
	lines := func(text string) []string {
		list := strings.Split(strings.TrimSpace(text), "\n")
		slices.Sort(list)
		return list
	}
	writeFile(t, filepath.Join(dir, "script"),
		"SECTIONS { .text 0x10000 : { _stext = .; *(.text*) } .data : { *(.data*) *(.bss*) } }")
	programtest.Shell(t, dir, `printf '.globl outside, pointer\noutside:\npointer:\n' | as -o c.o -
		ld -r -o module a.o b.o; ld -r -o other b.o a.o
		ld -T script -e 0 -o linked a.o b.o c.o
		objcopy --compress-debug-sections linked packed`)
	for _, name := range []string{"module", "other"} {
		if got := lines(sitesOf(t, dir, name)); !slices.Equal(got, lines(plain)) {
			t.Errorf("%s:\n%s\nthe object files:\n%s", name, strings.Join(got, "\n"), plain)
		}
	}
	linked := sitesOf(t, dir, "linked")
	want := plain
	if addresses {
		want = strings.Replace(want, "address(p = ?, v = 0x4)", "address(p = &variable, v = 0x4)", 1)
	}
	if !slices.Equal(lines(linked), lines(want)) {
		t.Errorf("linked:\n%s\nthe object files:\n%s", linked, want)
	}
	if got := sitesOf(t, dir, "packed"); got != linked {
		t.Errorf("compressed:\n%s\nlinked:\n%s", got, linked)
	}
	if _, err := exec.LookPath("dwz"); err == nil {
		programtest.Shell(t, dir, "dwz -l 0 -L 0 linked || true")
		if got := sitesOf(t, dir, "linked"); got != linked {
			t.Errorf("after dwz:\n%s\nbefore:\n%s", got, linked)
		}
	}
}

// TestInlineErrors: the base is missing, is an index, or belongs to another machine.
func TestInlineErrors(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range inlineSources {
		writeFile(t, p(name), text)
	}
	programtest.Shell(t, dir, `gcc -w -g -O2 -c a.c; gcc -w -O2 -c -o none.o a.c
		printf '.section .gnu.linkonce.this_module, "aw"\n.long 0\n' | as -o this.o -
		ld -r -o m.ko a.o this.o; gcc -w -g -O2 -c b.c; ld -r -o n.ko b.o this.o`)
	for _, args := range [][]string{{p("base"), p("a.o")},
		{p("m.btf"), "--base", p("base"), p("m.ko")},
		{p("n.btf"), "--base", p("base"), p("n.ko")}} {
		if code, _, stderr := btfgen(append([]string{"elf", "-q", "-o"}, args...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"a.o", 2, "--base is missing"},
		{"--base base none.o", 1, "no DWARF"},
		{"--base a.o a.o", 1, "has no section .BTF"},
		{"--base none a.o", 1, "no such file"},
		{"--base base m.ko", 1, "m.ko: the sites of a module must be based on the module's own BTF"},
		{"--base base --base n.btf m.ko", 1, "m.ko: it has none of the functions that"},
		{"--base base --base m.btf m.ko", 0, ""},
	} {
		args := []string{"inline", "-o", p("out")}
		for _, a := range strings.Fields(c.args) {
			if !strings.HasPrefix(a, "-") {
				a = p(a)
			}
			args = append(args, a)
		}
		code, _, stderr := btfgen(args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %q", c.args, code, stderr, c.code, c.want)
		}
	}
	skipped := p("skipped")
	code, _, stderr := btfgen("inline", "--base", p("base"), "-o", p("out"), "--skipped", skipped,
		p("a.o"))
	if code != 0 || !regexp.MustCompile(`^btfgen: inline: \d+ sites; the locations of \d+ of \d+ `+
		`parameters are known, .* written, .*\n$`).MatchString(stderr) {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	text := string(readFile(t, skipped))
	if !strings.Contains(text, "1 parameter\taddress in a module\n") {
		t.Errorf("--skipped lists\n%s", text)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return data
}

// TestInlineInOne: with the feature inline, the BTF has the sites that btfgen inline finds, and the
// types that it has without the feature. If the sites are moved to separate BTF, as resolve-ids
// --inline-out does, the types that inlined functions need stay, but not these functions.
func TestInlineInOne(t *testing.T) {
	t.Run("x86-64", func(t *testing.T) { inlineInOne(t, "gcc", "ld") })
	t.Run("s390x", func(t *testing.T) {
		inlineInOne(t, "clang", "ld.lld", "--target=s390x-linux-gnu")
	})
}

func inlineInOne(t *testing.T, compiler, linker string, flags ...string) {
	programtest.Need(t, compiler, linker)
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range inlineSources {
		writeFile(t, p(name), text)
	}
	programtest.Shell(t, dir, "for i in a b; do "+compiler+" -w -g -O2 -fno-pic -c $i.c "+
		strings.Join(flags, " ")+"; done; "+linker+" -r -o linked a.o b.o")
	run := func(args ...string) {
		t.Helper()
		if code, _, stderr := btfgen(append(args, "-q", p("linked"))...); code != 0 {
			t.Fatalf("%q: %s", args, stderr)
		}
	}
	run("elf", "--features=+layout", "-o", p("plain"))
	run("inline", "--base", p("plain"), "-o", p("split"))
	run("elf", "--features=+layout,inline", "-o", p("all"))
	run("elf", "--features=+inline", "--base", p("plain"), "-o", p("on base"))
	read := func(name string, base *btf.Blob) (*btf.Blob, string) {
		t.Helper()
		b := must.Get(btf.Parse(readFile(t, p(name)), base))(t)
		for _, v := range verify.Check(b, verify.Options{Sorted: true}) {
			t.Errorf("%s: %v", name, v)
		}
		lines := strings.Split(printSites(t, b, nil), "\n")
		slices.Sort(lines)
		return b, strings.Join(lines, "\n")
	}
	plain, _ := read("plain", nil)
	split, want := read("split", plain)
	all, got := read("all", nil)
	if got != want || strings.Count(want, "\n") < 10 {
		t.Errorf("in one BTF:\n%s\nin its own:\n%s", got, want)
	}
	if n := len(plain.Types) + len(split.Types); len(all.Types) != n {
		t.Errorf("%d types, want %d", len(all.Types), n)
	}
	if _, got := read("on base", plain); got != want {
		t.Errorf("on a base:\n%s\nwant\n%s", got, want)
	}
	f := must.Get(elf.Open(p("linked")))(t)
	defer f.Close()
	outlined := must.Get((*resolveids.IDs)(nil).Outlined(f))(t)
	data, sites := must.Get2(implicitargs.RewriteApart(all, nil, outlined, 1))(t)
	writeFile(t, p("main"), string(data))
	writeFile(t, p("apart"), string(sites))
	main, _ := read("main", nil)
	if apart, got := read("apart", main); got != want || count(apart, btf.KindFunc, "add") != 1 {
		t.Errorf("moved to separate BTF:\n%s\nwant\n%s", got, want)
	}
	for _, b := range []*btf.Blob{all, main} {
		if b.Header.LayoutLen == 0 {
			t.Error("the layout section is lost")
		}
		if n := count(b, btf.KindInt, "unsigned char"); n != 1 {
			t.Errorf("%d times unsigned char, which only an inlined function needs", n)
		}
	}
	if n := count(main, btf.KindFunc, ""); n != count(plain, btf.KindFunc, "") {
		t.Errorf("%d functions after the sites were moved", n)
	}
	for _, args := range []string{"object", "facts", "inline --base=x",
		"elf --variables=extra --base=x"} {
		args := append(strings.Fields(args), "--features=+global_var,inline", "-o", p("out"), p("a.o"))
		if code, _, stderr := btfgen(args...); code != 2 || !strings.Contains(stderr, "inline") {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}

// count counts the types of a kind in b itself that have the given name, or any if it is "".
func count(b *btf.Blob, kind btf.Kind, name string) (n int) {
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind == kind && (name == "" || b.TypeName(t) == name) {
			n++
		}
	}
	return n
}

// TestInlineDistilled: on a distilled base, the sites are the same, and there is no warning that
// the base has few of the file's types. No definition of the base or of the module is repeated.
// Other structs are defined only if their size must be known.
func TestInlineDistilled(t *testing.T) {
	programtest.Need(t, "gcc", "ld")
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kernel := "struct used { int i; long l; };\nenum shade { dark } shade;\n"
	for i := range 120 { // so many that the base is doubted
		kernel += fmt.Sprintf("struct s%d { int i; struct s%d *next; } s%d;\n", i, (i+1)%120, i)
	}
	writeFile(t, p("kernel.c"), kernel+"long f(struct used *u) { return u->l; }")
	writeFile(t, p("m.c"), kernel+`
		#define INLINE static inline __attribute__((always_inline))
		INLINE long in(struct used *u) { return u->l; }
		INLINE int other(struct s5 *s) { return s->next->i; }
		struct own { struct own *next; enum colour { red } c; };
		INLINE int owner(struct own *o, struct s7 *s) { return s->i; }
		INLINE int value(struct s9 s, enum colour c) { return s.i; }
		INLINE int caller(int (*f)(struct s20)) { return f(s20); }
		long g(struct used *u, struct s5 *s, struct own *o, int (*f)(struct s20))
		{ return in(u) + other(s) + owner(o, &s7) + value(s9, red) + caller(f); }
		INLINE int late(struct s30 *s, int (*f)(struct s40), enum shade c) { return s->i; }
		long h(void) { return late(&s30, 0, dark); }`)
	programtest.Shell(t, dir, "gcc -g -O2 -c kernel.c m.c; ld -r -o m.ko m.o")
	run := func(args ...string) {
		t.Helper()
		code, _, stderr := btfgen(args...)
		if code != 0 || strings.Contains(stderr, "warning") {
			t.Fatalf("%q: exit code %d, %s", args, code, stderr)
		}
	}
	run("elf", "-o", p("kernel"), p("kernel.o"))
	run("elf", "--base", p("kernel"), "-o", p("m"), p("m.ko"))
	run("inline", "--base", p("kernel"), "--base", p("m"), "-o", p("sites"), p("m.ko"))
	run("elf", "--features=+distilled_base", "--base", p("kernel"), "--distilled-base", p("base"),
		"-o", p("d"), p("m.ko"))
	run("inline", "--base", p("base"), "--base", p("d"), "-o", p("d sites"), p("m.ko"))
	var b *btf.Blob
	printed := func(names ...string) string {
		b = nil
		for _, name := range names {
			var err error
			if b, err = btf.Parse(readFile(t, p(name)), b); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range verify.Check(b, verify.Options{}) {
			t.Errorf("%s: %v", names, v)
		}
		return printSites(t, b, nil)
	}
	want, got := printed("kernel", "m", "sites"), printed("base", "d", "d sites")
	if got != want || strings.Count(want, "\n") != 6 {
		t.Errorf("on a distilled base:\n%swant\n%s", got, want)
	}
	var tags []string
	for i := range b.Types {
		switch x := &b.Types[i]; x.Kind {
		case btf.KindStruct, btf.KindEnum, btf.KindFwd:
			tags = append(tags, fmt.Sprint(x.Kind, " ", b.TypeName(x), " ", x.Vlen))
		}
	}
	wanted := "[FWD s10 0 FWD s30 0 STRUCT s40 2 FWD s41 0 FWD s7 0 STRUCT s9 2 ENUM shade 1]"
	if got := fmt.Sprint(tags); got != wanted {
		t.Errorf("the BTF of the sites has %s, want %s", got, wanted)
	}
}
