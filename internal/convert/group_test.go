package convert

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestGroups converts files whose units refer to each other. The object must be the same as if each
// unit was converted alone, by a conversion that knows nothing of the other units.
func TestGroups(t *testing.T) {
	for _, name := range []string{"thin-linked-clang.elf", "whole-thin-clang.elf", "whole-clang.elf",
		"lto-linked-clang.elf", "lto-linked-gcc.elf", "dwz.elf", "dwz-4.elf", "rust.o"} {
		t.Run(name, func(t *testing.T) {
			sameAsAlone(t, filepath.Join("testdata/objects", name))
		})
	}
	programtest.Need(t, "clang", "ld.lld")
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			joined, linked := thinProgram(t, rand.New(rand.NewPCG(seed, 0)))
			if n := sameAsAlone(t, joined) + sameAsAlone(t, linked); n == 0 {
				t.Error("no unit is in a group")
			}
		})
	}
}

// sameAsAlone converts a file in several ways. It returns the number of units that are in groups.
func sameAsAlone(t *testing.T, path string) int {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	d := must.Get(dwarf.New(f))(t)
	var units []*dwarf.Unit
	for i := range d.Units {
		if d.Units[i].Kind == dwarf.UnitCompile {
			units = append(units, &d.Units[i])
		}
	}
	opt := Options{Features: features.Default(), Jobs: 1}
	var alone [][]byte
	for i := range units {
		// In DWARF 4, a partial unit is not marked, and can't be converted alone.
		_ = EachUnit(f, opt, []int{i}, func(_ int, o *object.Object) error {
			alone = append(alone, written(t, o))
			return nil
		})
	}
	want := written(t, mergeFiles(t, alone))
	for opt.Jobs = range 4 {
		if !bytes.Equal(written(t, convertFile(t, path, opt)), want) {
			t.Errorf("%s: on %d threads, the object differs", path, opt.Jobs)
		}
	}
	opt.Jobs = 1
	opt.Shared = &Shared{}
	for range 2 { // the second time, all types are known
		if !bytes.Equal(written(t, convertFile(t, path, opt)), want) {
			t.Errorf("%s: with a shared store, the object differs", path)
		}
	}
	return len(findGroups(units))
}

// thinProgram makes a program of several files with link-time optimization: as a relocatable file
// and as a linked one. The files have common types, types that only some of them define, and types
// that they define differently. Their functions are inlined into each other.
func thinProgram(t *testing.T, rnd *rand.Rand) (joined, linked string) {
	t.Helper()
	const structs, files = 8, 5
	dir := t.TempDir()
	write := func(name, text string) {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	member := func(i int) string {
		other := rnd.IntN(structs)
		return []string{
			fmt.Sprintf("int m%d;", i), fmt.Sprintf("struct s%d *m%d;", other, i),
			fmt.Sprintf("t%d *m%d;", other, i), fmt.Sprintf("const struct s%d *const m%d[2];", other, i),
			fmt.Sprintf("union { long m%d; struct p%d *q%d; };", i, other, i),
			fmt.Sprintf("int (*m%d)(struct s%d *, struct p%d *);", i, other, other),
			fmt.Sprintf("unsigned m%d : %d;", i, 1+rnd.IntN(31)),
			fmt.Sprintf("enum e%d m%d;", other%3, i),
			fmt.Sprintf("struct { char m%d; volatile struct p%d *r%d; } n%d;", i, other, i, i),
		}[rnd.IntN(9)]
	}
	body := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(member(i))
		}
		return "{ int first; " + b.String() + " }"
	}
	var header strings.Builder
	for i := range structs {
		fmt.Fprintf(&header, "struct s%d; struct p%d; typedef struct s%d *t%d;\n", i, i, i, i)
	}
	for i := range 3 {
		fmt.Fprintf(&header, "enum e%d { E%d_A, E%d_B = %d };\n", i, i, i, rnd.IntN(100))
	}
	for i := range files {
		fmt.Fprintf(&header, "int f%d(void *, int); void use(void *);\n", i)
	}
	// Some files see only a declaration of the struct.
	for i := range structs {
		fmt.Fprintf(&header, "#if MASK >> %d & 1\nstruct s%d %s;\n#endif\n", i, i, body(1+rnd.IntN(6)))
	}
	write("x.h", header.String())
	var objs []string
	for i := range files {
		mask := rnd.IntN(1 << structs)
		var text strings.Builder
		fmt.Fprintf(&text, "#define MASK %d\n#include \"x.h\"\n", mask)
		// p1 is different in each file, and p0 only in some files.
		private := rnd.IntN(structs)
		for _, p := range []int{0, 1, private} {
			if p != private || p > 1 {
				content := body(1 + p)
				if p == 0 {
					content = fmt.Sprintf("{ int first; struct s%d *s; char c[%d]; }", private, 1+rnd.IntN(2))
				}
				fmt.Fprintf(&text, "struct p%d %s;\n", p, content)
			}
		}
		fmt.Fprintf(&text, "typedef struct { t%d *x; int y[%d]; } local;\n", private, 1+rnd.IntN(3))
		text.WriteString("static int twice(local *l) { return l->y[0] * 2; }\n")
		fmt.Fprintf(&text, "int f%d(void *v, int depth) { local l = { v }; int n = twice(&l);\n", i)
		for s := range structs {
			if mask>>s&1 != 0 {
				fmt.Fprintf(&text, "{ struct s%d *s = v; n += s->first; use(s); }\n", s)
			}
		}
		fmt.Fprintf(&text, "{ struct inner { struct p%d *p; } in = { v }; use(&in); }\n", private)
		fmt.Fprintf(&text, "return depth ? n + f%d(v, 0) + f%d(v, 0) : n; }\n", rnd.IntN(files),
			rnd.IntN(files))
		if i == 0 {
			text.WriteString("void use(void *v) { __asm__ volatile(\"\" :: \"r\"(v)); }\n")
		}
		name := fmt.Sprint("x", i)
		write(name+".c", text.String())
		programtest.Run(t, dir, "clang", "-w", "-g", "-O2", "-fno-pic", "-flto=thin", "-c",
			"-o", name+".o", name+".c")
		objs = append(objs, name+".o")
	}
	link := func(out string, flags ...string) string {
		args := append([]string{"-mllvm", "-import-instr-limit=1000", "--thinlto-jobs=1", "-o", out},
			flags...)
		programtest.Run(t, dir, "ld.lld", append(args, objs...)...)
		return filepath.Join(dir, out)
	}
	return link("joined.o", "-r"), link("linked", "-e", "f0", "--unresolved-symbols=ignore-all")
}

// TestPromoted: ThinLTO makes the static functions of a file hidden if another file needs them. If
// the file has no other function, only these symbols show that it was linked.
func TestPromoted(t *testing.T) {
	programtest.Need(t, "clang", "ld.lld")
	dir := t.TempDir()
	var objs []string
	for _, file := range []struct{ dir, name, text string }{
		{"x", "a.c", "#include \"../x.h\"\nstatic int show(int *x) { return *x; }\n" +
			"const struct ops ops = { show };"},
		{"y", "a.c", "#include \"../x.h\"\nint twice(int *x) { return *x * 2; }"},
		{".", "b.c", "#include \"x.h\"\nint run(int *x) { return ops.show(x) + twice(x); }"},
	} {
		must.OK(t, os.MkdirAll(filepath.Join(dir, file.dir), 0o777))
		for name, text := range map[string]string{
			filepath.Join(file.dir, file.name): file.text,
			"x.h": "struct ops { int (*show)(int *); }; extern const struct ops ops;" +
				"int twice(int *x);",
		} {
			must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		}
		object := filepath.Join(file.dir, file.name+".o")
		programtest.Run(t, dir, "clang", "-g", "-O2", "-fno-pic", "-flto=thin", "-c", "-o", object,
			filepath.Join(file.dir, file.name))
		objs = append(objs, object)
	}
	for name, flags := range map[string][]string{"linked": {"-e", "run"}, "joined.o": {"-r"}} {
		programtest.Run(t, dir, "ld.lld", append(append(flags, "-o", name), objs...)...)
		got := dump(t, linkFile(t, filepath.Join(dir, name), "default").BTF, false)
		if want := "int show(int *x);"; !slices.Contains(got, want) {
			t.Errorf("no %q in the BTF of %s:\n%s", want, name, strings.Join(got, "\n"))
		}
	}
}
