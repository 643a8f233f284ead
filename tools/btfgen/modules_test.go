package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// runVerb runs the program, and returns the exit code and what it printed on standard error,
// without the line that says what was made.
func runVerb(args ...string) (int, string) {
	code, _, stderr := btfgen(args...)
	return code, strings.TrimSpace(madeLine.ReplaceAllString(stderr, ""))
}

// madeLine is the line with which modules says what it has made.
var madeLine = regexp.MustCompile(
	`(?m)^btfgen: modules: (.*), [\d.]+ (?:bytes|.?B) written, \d+\.\d\d s\n`)

// kernelBTF writes the BTF of a kernel that has struct s.
func kernelBTF(t *testing.T, path string) {
	t.Helper()
	b := btf.NewBuilder(nil, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 0)
	b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("i"), Type: i})
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	writeFile(t, path, string(data))
}

// writeIndex writes the index of the BTF at path, as "btfdedup index" does.
func writeIndex(t *testing.T, path, index string) {
	t.Helper()
	data := must.Get(base.Index(path, nil))(t)
	writeFile(t, index, string(data))
}

// TestModules converts modules in several ways, with the same result.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := programtest.Modules(t, dir, 5)
	kernelBTF(t, p("vmlinux.btf"))
	run := func(args ...string) {
		t.Helper()
		if code, errs := runVerb(args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	writeIndex(t, p("vmlinux.btf"), p("vmlinux.btfbase"))
	run(append([]string{"modules", "-q", "-j3", "--base", p("vmlinux.btf"), "-o", p("all"),
		"--skipped-dir", p("skipped")}, kos...)...)
	base := must.Get(btf.ReadOne(p("vmlinux.btf"), nil))(t)
	for i, ko := range kos {
		name := strings.TrimSuffix(filepath.Base(ko), ".ko")
		run("modules", "-q", "--base", p("vmlinux.btfbase"), "-o", p("one"), ko)
		all := must.Get(os.ReadFile(p("all/" + name + ".btf")))(t)
		if one, err := os.ReadFile(p("one/" + name + ".btf")); err != nil || !bytes.Equal(one, all) {
			t.Errorf("%s: the results alone on an index and with others on BTF differ (%v)", name, err)
		}
		b := must.Get(btf.Parse(all, base))(t)
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

// TestWholeKernel makes the base in the same run, from a linked file of any name.
func TestWholeKernel(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	must.OK(t, os.MkdirAll(p("tree/net"), 0o777))
	kos := programtest.Modules(t, p("tree/net"), 3)
	vmlinux := programtest.Kernel(t, p("vmlinux"), kos[0])
	programtest.Need(t, "objcopy")
	programtest.Run(t, "", "objcopy", "--only-keep-debug", vmlinux, p("vmlinux.debug"))
	for i, args := range [][]string{{vmlinux, p("tree")}, {p("tree"), p("vmlinux.debug")}} {
		out := p(fmt.Sprint("out", i))
		if code, errs := runVerb(append([]string{"modules", "-q", "-o", out}, args...)...); code != 0 {
			t.Fatal(errs)
		}
		if code, _, errs := btfgen("elf", "-o", p("elf.btf"), vmlinux); code != 0 ||
			!bytes.Equal(read(t, p("elf.btf")), read(t, out+"/vmlinux.btf")) {
			t.Errorf("%s: btfgen elf makes other BTF: %s", args, errs)
		}
		kernel := must.Get(btf.ReadOne(out+"/vmlinux.btf", nil))(t)
		for i, ko := range kos {
			name := strings.TrimSuffix(filepath.Base(ko), ".ko")
			b := must.Get(btf.ReadOne(out+"/"+name+".btf", kernel))(t)
			// The first file is the kernel itself, so the base has all its types, but not its function:
			// bases have no functions.
			if only := len(b.Types) == 1 && b.Types[0].Kind == btf.KindFunc; only != (i == 0) {
				t.Errorf("%s: %d types", name, len(b.Types))
			}
		}
	}
	for _, args := range [][]string{{vmlinux, p("vmlinux.debug")}, {"--base=x", vmlinux}} {
		code, errs := runVerb(append([]string{"modules", "-o", p("bad")}, args...)...)
		if code != 2 || !strings.Contains(errs, vmlinux) || strings.Contains(errs, "\n") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// TestKernelKfuncs: the BTF of a kernel that is an input, on which that of modules is based,
// doesn't show implicit arguments of kfuncs, unlike that of btfgen elf.
func TestKernelKfuncs(t *testing.T) {
	dir := programtest.NewDir(t)
	p := dir.Path
	programtest.Modules(t, p(""), 1, `
asm(".pushsection .BTF_ids,\"a\"\n__BTF_ID__set8__kfuncs: .zero 4\n.long 1\n"
	"__BTF_ID__func__k__1: .zero 4\n.long 0x10000\n"
	".size __BTF_ID__set8__kfuncs, . - __BTF_ID__set8__kfuncs\n.popsection");
struct bpf_prog_aux { int i; };
int k(int x, struct bpf_prog_aux *aux) { return x + aux->i; }
`)
	vmlinux := programtest.Kernel(t, p("vmlinux"), p("m-1.ko"))
	programtest.Modules(t, p(""), 2)
	if code, errs := runVerb("modules", "-o", p("out"), vmlinux, p("m-2.ko")); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := btfgen("elf", "-o", p("elf.btf"), vmlinux); code != 0 {
		t.Fatal(errs)
	}
	for file, want := range map[string]map[string]uint32{"elf.btf": {"k": 2, "use_1": 2},
		"out/vmlinux.btf": {"k": 1, "k_impl": 2, "use_1": 2}} {
		b := must.Get(btf.ReadOne(p(file), nil))(t)
		got := map[string]uint32{} // the number of parameters
		for i := range b.Types {
			if f := &b.Types[i]; f.Kind == btf.KindFunc {
				proto, _ := b.ByID(f.SizeOrType)
				got[b.TypeName(f)] = proto.Vlen
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
		if strings.HasPrefix(file, "out") {
			if _, err := btf.ReadOne(p("out/m-2.btf"), b); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestModulesVariables writes separate BTF for the variables that are not per CPU.
func TestModulesVariables(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	kos := programtest.Modules(t, dir, 4)
	vmlinux := programtest.Kernel(t, p("vmlinux"), kos[0])
	parse := func(path string, base *btf.Blob) *btf.Blob {
		t.Helper()
		b := must.Get(btf.ReadOne(path, base))(t)
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
	run("", vmlinux, "-o", p("plain"))
	run("", full, vmlinux, "-o", p("all"))
	run("", full, "-j3", vmlinux, "-o", p("percpu"), "--extra-dir", p("extra"),
		"--skipped-dir", p("skipped"))
	run("", full, "--base", p("percpu/vmlinux.btf"), "-o", p("alone"), "--extra-dir", p("extra2"))
	kernel := parse(p("plain/vmlinux.btf"), nil)
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
			below = parse(p("plain/"+name+".btf"), kernel)
		}
		extra := parse(p("extra/"+name+"-btf-extra.btf"), below)
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
	writeIndex(t, p("plain/vmlinux.btf"), p("vmlinux.btfbase"))
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
	kos := programtest.Modules(t, dir, 2)
	kernelBTF(t, p("vmlinux.btf"))
	must.OK(t, os.WriteFile(p("text.ko"), []byte("no ELF file"), 0o666))
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
	must.OK(t, os.MkdirAll(p("tree/net"), 0o777))
	names := []string{"tree/a.ko", "tree/net/b.ko", "tree/net/c.ko"}
	for i, ko := range programtest.Modules(t, dir, 3) {
		must.OK(t, os.Rename(ko, p(names[i])))
	}
	kernelBTF(t, p("vmlinux.btf"))
	for name, text := range map[string]string{"tree/other.txt": "", "order": "net/c.o\na.o\n",
		"old": "a.ko\n", "missing": "net/d.o\na.o\n", "odd": "a.c\n", "empty": "\n",
		"outside": "b.o\n../a.o\n"} {
		must.OK(t, os.WriteFile(p(name), []byte(text), 0o666))
	}
	must.OK(t, os.Symlink("tree", p("linked")))
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
