package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// moduleSource is the source of a module that shares struct s with the kernel, and has its
// own type.
const moduleSource = `
struct s { int i; };
struct own_%[1]d { struct s s; char name[%[1]d]; };
struct own_%[1]d own;
int use_%[1]d(struct own_%[1]d *o, struct s *s) { return o->s.i + s->i; }
`

// runVerb runs the program and returns the exit code and what it printed on standard error.
func runVerb(args ...string) (int, string) {
	code, _, stderr := btfdedup(args...)
	return code, strings.TrimSpace(stderr)
}

// compileModules writes modules with DWARF, and returns their paths.
func compileModules(t *testing.T, dir string, n int) []string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	var paths []string
	for i := 1; i <= n; i++ {
		path := filepath.Join(dir, fmt.Sprintf("m-%d.ko", i))
		cmd := exec.Command(gcc, "-g", "-O2", "-xc", "-c", "-o", path, "-")
		cmd.Stdin = strings.NewReader(fmt.Sprintf(moduleSource, i))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestModules converts modules in several ways, with the same result.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 5)
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	run := func(args ...string) {
		t.Helper()
		if code, errs := runVerb(args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	run("index", "-o", p("vmlinux.btfbase"), p("vmlinux.btf"))
	run(append([]string{"modules", "-q", "-j3", "--base", p("vmlinux.btf"), "-o", p("all"),
		"--skipped-dir", p("skipped")}, kos...)...)
	base, err := btf.ReadOne(p("vmlinux.btf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, ko := range kos {
		name := strings.TrimSuffix(filepath.Base(ko), ".ko")
		run("modules", "-q", "--base", p("vmlinux.btfbase"), "-o", p("one"), ko)
		all, err := os.ReadFile(p("all/" + name + ".btf"))
		if err != nil {
			t.Fatal(err)
		}
		if one, err := os.ReadFile(p("one/" + name + ".btf")); err != nil || !bytes.Equal(one, all) {
			t.Errorf("%s: the results alone on an index and with others on BTF differ (%v)", name, err)
		}
		b, err := btf.Parse(all, base)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for j := range b.Types {
			own[b.TypeName(&b.Types[j])] = true
		}
		if own["s"] || own["int"] || !own[fmt.Sprint("own_", i+1)] || !own[fmt.Sprint("use_", i+1)] {
			t.Errorf("%s has the types %v", name, own)
		}
		if _, err := os.Stat(p("skipped/" + name + ".skipped")); err != nil {
			t.Error(err)
		}
	}
}

// TestWholeKernel makes the base in the same run, and modules with their BTF.
func TestWholeKernel(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	if err := os.MkdirAll(p("tree/net"), 0o777); err != nil {
		t.Fatal(err)
	}
	kos := compileModules(t, p("tree/net"), 3)
	vmlinux := compileModules(t, dir, 1)[0]
	if code, errs := runVerb("modules", "-q", "--vmlinux", vmlinux, "-o", p("out"), "--embed",
		p("embedded"), p("tree")); code != 0 {
		t.Fatal(errs)
	}
	kernel, err := btf.ReadOne(p("out/vmlinux.btf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, ko := range kos {
		name := filepath.Base(ko)
		want, err := os.ReadFile(p("out/" + strings.TrimSuffix(name, ".ko") + ".btf"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.Open(p("embedded/net/" + name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := btf.Section(f, btf.SectionTypes); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has BTF that differs from the written file (%v)", name, err)
		}
		b, err := btf.Parse(want, kernel)
		if err != nil {
			t.Fatal(err)
		}
		// The first file is the kernel itself, so the base has all its types, but not its function:
		// bases have no functions.
		if only := len(b.Types) == 1 && b.Types[0].Kind == btf.KindFunc; only != (i == 0) {
			t.Errorf("%s: %d types", name, len(b.Types))
		}
	}
	if code, errs := runVerb("modules", "-q", "--vmlinux", vmlinux, "-o", p("out"), "--embed",
		p("other"), "--into", p("out"), p("tree")); code != 1 || !strings.Contains(errs, "no file *.ko") {
		t.Errorf("--into a directory without modules: %d, %s", code, errs)
	}
}

// TestModulesInline: the copy of a module has the sites that are also in a file, if it has any.
// They are based on the embedded BTF.
func TestModulesInline(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 2)
	source := fmt.Sprintf(moduleSource, 1) + `
static inline __attribute__((always_inline)) int twice(struct s *s, int n) { return s->i * n; }
int more(struct s *s, int n) { return twice(s, n) + twice(s, 7); }
`
	cmd := exec.Command("gcc", "-g", "-O2", "-xc", "-c", "-o", kos[0], "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	if code, errs := runVerb("modules", "-q", "--base", p("vmlinux.btf"), "-o", p("btf"),
		"--inline-dir", p("inline"), "--embed", p("out"), kos[0], kos[1]); code != 0 {
		t.Fatal(errs)
	}
	sections := map[string][]byte{}
	for _, ko := range kos {
		f, err := elf.Open(p("out/" + filepath.Base(ko)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if sections[filepath.Base(ko)], err = btf.Section(f, btf.SectionInline); err != nil {
			t.Error(err)
		}
	}
	want, err := os.ReadFile(p("inline/m-1.inline.btf"))
	if err != nil || len(want) == 0 || !bytes.Equal(sections["m-1.ko"], want) {
		t.Errorf("%d bytes are embedded, but the file has %d (%v)", len(sections["m-1.ko"]), len(want),
			err)
	}
	if sections["m-2.ko"] != nil {
		t.Error("a module without inlined functions has the section of sites")
	}
	base, err := btf.ReadOne(p("vmlinux.btf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	on, err := btf.ReadOne(p("out/m-1.ko"), base)
	if err != nil {
		t.Fatal(err)
	}
	b, err := btf.Parse(want, on)
	if err == nil {
		err = b.CheckRefs()
	}
	if err != nil || len(b.Sites) != 2 {
		t.Errorf("%v, %v", b, err)
	}
}

// TestModulesVariables writes separate BTF for the variables that are not per CPU.
func TestModulesVariables(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 4)
	read := func(path string, base *btf.Blob) *btf.Blob {
		t.Helper()
		b, err := btf.ReadOne(path, base)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	run := func(wantErr string, args ...string) {
		t.Helper()
		args = append(append([]string{"modules", "-q"}, args...), kos[1:]...)
		code, errs := runVerb(args...)
		if (code == 0) != (wantErr == "") || !strings.Contains(errs, wantErr) {
			t.Fatalf("%v: exit code %d: %s; want %q", args, code, errs, wantErr)
		}
	}
	full := "--features=default,global_var"
	run("", "--vmlinux", kos[0], "-o", p("plain"))
	run("", full, "--vmlinux", kos[0], "-o", p("all"))
	run("", full, "-j3", "--vmlinux", kos[0], "-o", p("percpu"), "--extra-dir", p("extra"),
		"--skipped-dir", p("skipped"))
	run("", full, "--base", p("percpu/vmlinux.btf"), "-o", p("alone"), "--extra-dir", p("extra2"))
	kernel := read(p("plain/vmlinux.btf"), nil)
	for i, name := range []string{"vmlinux", "m-2", "m-3", "m-4"} {
		data := map[string]string{}
		for _, file := range []string{"plain/" + name, "all/" + name, "percpu/" + name,
			"alone/" + name, "extra/" + name + "-btf-extra", "extra2/" + name + "-btf-extra"} {
			b, err := os.ReadFile(p(file + ".btf"))
			if err != nil && !(i == 0 && (strings.HasPrefix(file, "alone") ||
				strings.HasPrefix(file, "extra2"))) {
				t.Fatal(err)
			}
			data[strings.Split(file, "/")[0]] = string(b)
		}
		if data["percpu"] != data["plain"] || data["all"] == data["plain"] {
			t.Errorf("%s: the default variables differ from those without the feature", name)
		}
		if i > 0 && (data["alone"] != data["percpu"] || data["extra2"] != data["extra"]) {
			t.Errorf("%s: a base of the same run and a base in a file give different BTF", name)
		}
		below := kernel
		if i > 0 {
			below = read(p("plain/"+name+".btf"), kernel)
		}
		extra := read(p("extra/"+name+"-btf-extra.btf"), below)
		found := map[string]btf.Kind{}
		for j := range extra.Types {
			found[extra.TypeName(&extra.Types[j])] = extra.Types[j].Kind
		}
		if len(found) != 2 || found["own"] != btf.KindVar ||
			found[".bss"] != btf.KindDatasec {
			t.Errorf("%s: the extra part has %v", name, found)
		}
		if _, err := os.Stat(p("skipped/" + name + "-btf-extra.skipped")); err != nil {
			t.Error(err)
		}
	}
	if code, errs := runVerb("index", "-o", p("vmlinux.btfbase"), p("plain/vmlinux.btf")); code != 0 {
		t.Fatal(errs)
	}
	run("", full, "--base", p("vmlinux.btfbase"), "--base-btf", p("plain/vmlinux.btf"), "-o",
		p("index"), "--extra-dir", p("extra3"))
	for _, name := range []string{"m-2", "m-3", "m-4"} {
		extra := name + "-btf-extra.btf"
		if !sameFiles(t, p("index/"+name+".btf"), p("percpu/"+name+".btf")) ||
			!sameFiles(t, p("extra3/"+extra), p("extra/"+extra)) {
			t.Errorf("%s: an index with its BTF gives different bytes than the BTF", name)
		}
	}
	for args, want := range map[string]string{
		full + " --base " + p("vmlinux.btfbase"):              "--extra-dir needs the BTF itself",
		"--base " + p("plain/vmlinux.btf"):                    "needs the feature global_var",
		full + " --variables=all --base x":                    "can't be used together",
		full + " --variables=extra --base x":                  "use --extra-dir, which makes that",
		full + " --variables=some --base x":                   "percpu, all or extra",
		full + " --base " + p("none") + " --variables=percpu": "no such file",
	} {
		run(want, append(strings.Fields(args), "-o", p("bad"), "--extra-dir", p("bad"))...)
		if _, err := os.Stat(p("bad")); err == nil {
			t.Errorf("%s: something is written", args)
		}
	}
}

// TestModulesWithErrors: some modules fail, and the others are written.
func TestModulesWithErrors(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := compileModules(t, dir, 2)
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	if err := os.WriteFile(p("text.ko"), []byte("no ELF file"), 0o666); err != nil {
		t.Fatal(err)
	}
	base := []string{"modules", "--base", p("vmlinux.btf"), "-o", p("out")}
	for _, c := range []struct {
		name  string
		args  []string
		code  int
		lines []string // a part of each line on standard error
		out   int      // how many files are written
	}{
		{"two bad ones", append(base, kos[0], p("text.ko"), p("none.ko"), kos[1]), 1, []string{
			"text.ko: not an ELF file", "none.ko: no such file", "2 of 4 modules failed"}, 2},
		{"one bad one", append(base, p("text.ko"), kos[1]), 1, []string{"text.ko: not an ELF file"}, 1},
		{"twice", append(base, kos[0], kos[0]), 1, []string{"both are the module m_1"}, 0},
		{"twice for the kernel", append(base, kos[0], p("m_1.ko")), 1,
			[]string{"both are the module m_1"}, 0},
		{"no base", []string{"modules", "-o", p("out"), kos[0]}, 2,
			[]string{"--base FILE is missing"}, 0},
		{"no modules", base, 2, []string{"KO"}, 0},
		{"the directory is a file", []string{"modules", "--base", p("vmlinux.btf"), "-o", p("text.ko"),
			kos[0]}, 1, []string{"text.ko"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.RemoveAll(p("out"))
			code, errs := runVerb(c.args...)
			lines := strings.Split(errs, "\n")
			if code != c.code || len(lines) != len(c.lines) {
				t.Fatalf("exit code %d, want %d:\n%s", code, c.code, errs)
			}
			for i, line := range lines {
				if !strings.Contains(line, c.lines[i]) {
					t.Errorf("%s\nwant %s", line, c.lines[i])
				}
			}
			if written, _ := filepath.Glob(p("out/*")); len(written) != c.out {
				t.Errorf("written: %v", written)
			}
		})
	}
}

// TestModuleTree selects modules by directory, and by Kbuild's list.
func TestModuleTree(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	if err := os.MkdirAll(p("tree/net"), 0o777); err != nil {
		t.Fatal(err)
	}
	names := []string{"tree/a.ko", "tree/net/b.ko", "tree/net/c.ko"}
	for i, ko := range compileModules(t, dir, 3) {
		if err := os.Rename(ko, p(names[i])); err != nil {
			t.Fatal(err)
		}
	}
	rawBTF(t, p("vmlinux.btf"), "s", 4)
	for name, text := range map[string]string{"tree/other.txt": "", "order": "net/c.o\na.o\n",
		"old": "a.ko\n", "missing": "net/d.o\na.o\n", "odd": "a.c\n", "empty": "\n",
		"outside": "b.o\n../a.o\n"} {
		if err := os.WriteFile(p(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("tree", p("linked")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string // the files written
		err  string
	}{
		{[]string{p("tree")}, "a b c", ""},
		{[]string{p("linked")}, "a b c", ""},
		{[]string{p("tree/net")}, "b c", ""},
		{[]string{p("tree/net"), p("tree/a.ko")}, "a b c", ""},
		{[]string{"--order", p("order"), p("tree")}, "a c", ""},
		{[]string{"--order", p("old"), p("tree")}, "a", ""},
		{[]string{"--order", p("missing"), p("tree")}, "a", "net/d.ko"},
		{[]string{"--order", p("odd"), p("tree")}, "", `"a.c" is not a module`},
		{[]string{"--order", p("outside"), p("tree/net")}, "", `"../a.o" is outside the directory`},
		{[]string{"--order", p("empty"), p("tree")}, "", "it lists no modules"},
		{[]string{"--order", p("none"), p("tree")}, "", "no such file"},
		{[]string{p("tree"), p("tree")}, "", "both are the module a"},
		{[]string{t.TempDir()}, "", "no file *.ko"},
	} {
		os.RemoveAll(p("out"))
		code, errs := runVerb(append([]string{"modules", "-q", "--base", p("vmlinux.btf"), "-o",
			p("out")}, c.args...)...)
		if (code != 0) != (c.err != "") || !strings.Contains(errs, c.err) {
			t.Errorf("%v: exit code %d: %s; want %q", c.args, code, errs, c.err)
		}
		written, _ := filepath.Glob(p("out/*.btf"))
		var names []string
		for _, path := range written {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".btf"))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: written %q, want %q", c.args, got, c.want)
		}
	}
}

// TestModulesInPlace: modules with BTF can't be written over the modules from which they are made.
func TestModulesInPlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	compileModules(t, dir, 1)
	writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned, 0) })
	before, err := os.ReadFile("m-1.ko")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", "same"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"--embed . m-1.ko", "--embed same .",
		"--embed same --into . m-1.ko"} {
		args = "modules --base base.btf -o out " + args
		code, errs := runVerb(strings.Fields(args)...)
		if code != 2 || !strings.Contains(errs, "m-1.ko is also an input (") {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
		if after, err := os.ReadFile("m-1.ko"); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s: the module has changed: %v", args, err)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%s: an output is left", args)
		}
	}
}
