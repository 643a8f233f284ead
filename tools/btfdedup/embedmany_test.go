package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// makeBTF makes the BTF of files as "btfgen modules" does: out/NAME.btf, and out/NAME.inline.btf
// unless a base is an index. Without bases, the first file is the kernel.
func makeBTF(t *testing.T, out string, bases []string, files ...string) {
	t.Helper()
	opened := must.Get(base.Open(bases))(t)
	defer opened.Close()
	for _, path := range files {
		how := pipeline.How{Files: &debugfile.Search{}, Bases: opened,
			Convert: convert.Options{Features: features.Default()}}
		if opened.Index == "" {
			how.Passes = append(how.Passes, pipeline.Sites{})
		}
		if opened.Base == nil {
			how.Passes = append(how.Passes, pipeline.Change(func(data []byte) ([]byte, error) {
				return resolveids.OfKernel(path, data, 1)
			}))
		}
		made, err := pipeline.Linked(path, how)
		must.OK(t, err)
		name := filepath.Join(out, strings.TrimSuffix(filepath.Base(path), ".ko"))
		err = cmp.Or(os.MkdirAll(out, 0o777), os.WriteFile(name+".btf", made.BTF, 0o666))
		if err == nil && made.Inlined != nil {
			err = os.WriteFile(name+".inline.btf", made.Inlined.BTF, 0o666)
		}
		if err == nil && opened.Base == nil {
			opened, err = new(base.Files).With(made.BTF)
		}
		must.OK(t, err)
	}
}

const twiceSource = `
static inline __attribute__((always_inline)) int twice(struct s *s, int n) { return s->i * n; }
int more(struct s *s, int n) { return twice(s, n) + twice(s, 7); }
`

// TestEmbedMany: the copies of modules from a directory, a compressed directory or an archive are
// those that embed makes of each file.
func TestEmbedMany(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, data string) {
		t.Helper()
		must.OK(t, cmp.Or(os.MkdirAll(filepath.Dir(p(name)), 0o777),
			os.WriteFile(p(name), []byte(data), 0o666)))
	}
	programtest.Modules(t, dir, 4, twiceSource)
	kos := append(programtest.Modules(t, dir, 3), p("m-4.ko"))
	vmlinux := programtest.Kernel(t, p("vmlinux"), kos[0])
	makeBTF(t, p("btf"), nil, append([]string{vmlinux}, kos...)...)
	var packed []string
	for i, ko := range kos {
		data := must.Get(os.ReadFile(ko))(t)
		name := "kernel/" + filepath.Base(ko)
		write("tree/"+name, string(data))
		write("tree/"+name+".debug", "not read")
		end := []string{".zst", ".gz", "", ""}[i]
		content := filetest.Pack(t, end, string(data))
		write("packed/"+name+end, content)
		packed = append(packed, name+end, content)
	}
	write("modules.tar", filetest.Tar(t, packed...))
	types := func(name string) string { return p("btf/" + name + ".btf") }
	one := func(name, in string, more ...string) {
		t.Helper()
		succeeds(t, "", append([]string{"embed", "-o", p("one/" + filepath.Base(in)), "--btf",
			types(name), "--resolve-ids", "--inline", types(name + ".inline"), "--btf-out",
			p("one/" + name + ".btf"), "--inline-out", p("one/" + name + ".inline.btf"), in}, more...)...)
	}
	write("one/x", "")
	one("vmlinux", vmlinux)
	for _, ko := range kos {
		one(strings.TrimSuffix(filepath.Base(ko), ".ko"), ko, "--base", types("vmlinux"))
	}
	for _, in := range []string{p("tree"), p("packed"), p("modules.tar"), strings.Join(kos, " ")} {
		for _, jobs := range []string{"-j1", "-j4"} {
			args := []string{"embed", jobs, "--btf", p("btf"), "--resolve-ids", "--inline", p("btf"), "-o",
				p("out"), "--btf-out", p("btfs"), "--inline-out", p("sites"), vmlinux}
			succeeds(t, "", append(args, strings.Fields(in)...)...)
			below := "out/kernel/"
			if in == strings.Join(kos, " ") {
				below = "out/"
			}
			for _, name := range []string{"vmlinux", "m-1", "m-2", "m-3", "m-4"} {
				at, file := below, name+".ko"
				if name == "vmlinux" {
					at, file = "out/", name
				}
				if !sameFiles(t, p(at+file), p("one/"+file)) ||
					!sameFiles(t, p("btfs/"+name+".btf"), p("one/"+name+".btf")) ||
					!sameFiles(t, p("sites/"+name+".inline.btf"), p("one/"+name+".inline.btf")) {
					t.Errorf("%s %s: %s differs from what embed makes of one file", jobs, in, name)
				}
			}
			for _, out := range []string{"out", "btfs", "sites"} {
				os.RemoveAll(p(out))
			}
		}
	}
	wantSection(t, p("one/m-4.ko"), btf.SectionInline, types("m-4.inline"))
	if data, _ := os.ReadFile(p("one/m-2.ko")); bytes.Contains(data, []byte(btf.SectionInline)) {
		t.Error("a module without inlined functions has the section of sites")
	}
	write("damaged/m-1.ko.gz", "\x1f\x8b\x08\x00damaged")
	write("other/m-7.ko", "")
	must.OK(t, os.Symlink(".", p("same")))
	for _, c := range []struct {
		args  string
		code  int
		lines []string // a part of each line on standard error
		out   int      // how many files are written
	}{
		{p("damaged"), 1, []string{"m-1.ko.gz (gzip)"}, 0},
		{p("other") + " " + kos[0] + " " + p("none.ko"), 1, []string{"other/m-7.ko: empty file",
			"none.ko: no such file", "2 of 3 modules failed"}, 1},
		{kos[0] + " " + kos[0], 1, []string{"both are the module m_1"}, 0},
		{vmlinux + " --resolve-ids --base " + types("vmlinux"), 2, []string{"vmlinux: it is linked"}, 0},
		{vmlinux + " " + p("one/vmlinux"), 2, []string{"only one file can be the kernel"}, 0},
		{p("btf"), 1, []string{"there is no file *.ko"}, 0},
		{kos[0] + " --object", 2, []string{"are for one file, but --btf is the directory"}, 0},
		{kos[0] + " -o " + dir, 2, []string{"m-1.ko is also an input ("}, 0},
		{p("tree") + " -o " + p("same/tree"), 2, []string{"m-1.ko is also an input ("}, 0},
		{kos[0] + " --btf-out " + p("btf"), 2, []string{"m-1.btf is also an input ("}, 0},
	} {
		args := append([]string{"embed", "--btf", p("btf")}, strings.Fields(c.args)...)
		if !slices.Contains(args, "-o") {
			args = append(args, "-o", p("out"))
		}
		code, _, stderr := btfdedup(args...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if code != c.code || len(lines) != len(c.lines) {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, stderr)
			continue
		}
		for i, line := range lines {
			if !strings.Contains(line, c.lines[i]) {
				t.Errorf("%s: %s\nwant %s", c.args, line, c.lines[i])
			}
		}
		if written, _ := filepath.Glob(p("out/*")); len(written) != c.out {
			t.Errorf("%s: written: %v", c.args, written)
		}
		os.RemoveAll(p("out"))
	}
	code, _, stderr := btfdedup("embed", "--btf", types("m-1"), "-o", p("x"), kos[0], kos[1])
	if code != 2 || !strings.Contains(stderr, "2 inputs: --btf must be a directory") {
		t.Errorf("two inputs, but one BTF: exit code %d: %s", code, stderr)
	}
}

// TestEmbedManyIDs: in the copies of modules, ids are resolved as in that of one module. The old
// base is that of the kernel among the inputs.
func TestEmbedManyIDs(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	p := dir.Path
	for path, name := range map[string]string{"v.ko": "v", "m.ko": "m", "n.ko": ""} {
		source := "int plain(int x) { return x; }"
		if name != "" {
			source = kfuncSource(name)
		}
		dir.Write("x.c", source)
		dir.Run("gcc", "-g", "-O2", "-c", "-o", path, "x.c")
	}
	vmlinux := programtest.Kernel(t, p("vmlinux"), p("v.ko"))
	makeBTF(t, p("btf"), nil, vmlinux, p("m.ko"), p("n.ko"))
	kernel := p("btf/vmlinux.btf")
	many := []string{"embed", "--btf", p("btf"), "--resolve-ids", "-o", p("out"), "--btf-out",
		p("made"), p("m.ko"), p("n.ko")}
	succeeds(t, "", append(many, vmlinux)...)
	for _, name := range []string{"m", "n"} {
		succeeds(t, "", "embed", "--btf", p("btf/"+name+".btf"), "--base", kernel, "--resolve-ids",
			"-o", p("one.ko"), p(name+".ko"))
		if !sameFiles(t, p("one.ko"), p("out/"+name+".ko")) {
			t.Errorf("%s differs from what embed makes of one file", name)
		}
		if same := sameFiles(t, p("made/"+name+".btf"), p("btf/"+name+".btf")); same != (name == "n") {
			t.Errorf("%s: the BTF is the same: %v", name, same)
		}
	}
	if !sameFiles(t, p("made/vmlinux.btf"), kernel) {
		t.Error("the BTF of the kernel has changed")
	}
	// Without the kernel, its BTF in the directory is the base.
	first := filepath.Join(p("out"), "m.ko")
	before := must.Get(os.ReadFile(first))(t)
	os.RemoveAll(p("out/m.ko"))
	succeeds(t, "", many...)
	if after, err := os.ReadFile(first); err != nil || !bytes.Equal(before, after) {
		t.Errorf("without the kernel, the module differs (%v)", err)
	}
	// The copies are resolved again, on the BTF of another kernel.
	dir.Write("w.c", kfuncSource("v")+"int use(char *c, long *l) { return *c + *l; }")
	dir.Run("gcc", "-g", "-O2", "-c", "-o", "w.ko", "w.c")
	other := programtest.Kernel(t, p("vmlinux2"), p("w.ko"))
	makeBTF(t, p("again"), nil, other, p("m.ko"))
	must.OK(t, os.Rename(p("again/vmlinux2.btf"), p("again/vmlinux.btf")))
	again := []string{"embed", "--btf", p("again"), "--resolve-ids", "-o", p("second"), first}
	succeeds(t, "", append(again, "--old-base", kernel)...)
	b := must.Get(btf.ReadOne(p("again/vmlinux.btf"), nil))(t)
	a, k := idOf(t, p("second/m.ko"), "a_m", b), idOf(t, p("second/m.ko"), "m", b)
	wantIDs(t, p("second/m.ko"), 2, 1, a, 2, k, 0x10001)
	if code, _, stderr := btfdedup(again...); code != 1 || !strings.Contains(stderr, "--old-base") {
		t.Errorf("without the old base: exit code %d: %s", code, stderr)
	}
	// The old BTF of the kernel is the default of --old-base.
	succeeds(t, "", "embed", "--btf", kernel, "-o", p("shipped"), other)
	succeeds(t, "", append(again, p("shipped"))...)
	wantIDs(t, p("second/m.ko"), 2, 1, a, 2, k, 0x10001)
	// If the BTF of the kernel changes, that of modules isn't based on it.
	made := must.Get(pipeline.Linked(vmlinux, pipeline.How{Files: &debugfile.Search{},
		Bases: &base.Files{}, Convert: convert.Options{Features: features.Default()}}))(t)
	dir.Write("btf/vmlinux.btf", string(made.BTF))
	os.RemoveAll(p("out"))
	code, _, stderr := btfdedup(append(many, vmlinux)...)
	if _, err := os.Stat(p("out")); code != 1 || err == nil || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, "differs from this BTF") {
		t.Errorf("a kernel whose BTF changes: exit code %d: %s", code, stderr)
	}
}

// TestEmbedManyDiskFull fills a small file system with copies of modules.
func TestEmbedManyDiskFull(t *testing.T) {
	dir := programtest.NewDir(t)
	p := dir.Path
	kernel, b := writeBTF(t, p(""), "vmlinux.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	for i := range 100 {
		name := fmt.Sprint("m", i)
		writeBTF(t, p(""), name+".btf", b, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
		writeModule(t, p(name+".ko"), name, nil)
	}
	must.OK(t, os.Mkdir(p("small"), 0o777))
	if err := unix.Mount("none", p("small"), "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("SKIPPED: needs root, to mount a file system: %v", err)
	}
	defer unix.Unmount(p("small"), unix.MNT_DETACH)
	code, _, stderr := btfdedup("embed", "--btf", filepath.Dir(kernel), "-o", p("small/out"),
		filepath.Dir(kernel))
	made, _ := filepath.Glob(p("small/out/*"))
	want := fmt.Sprintf("no space left on device; %d of 100 modules are complete: free some space, "+
		"then run the same command again\n", len(made))
	if code != 1 || len(made) == 0 || !strings.HasSuffix(stderr, want) ||
		strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %d files: %s", code, len(made), stderr)
	}
}

// TestMadeLine: archive and embed end with one line.
func TestMadeLine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	_, b := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	for _, name := range []string{"a", "b"} {
		writeBTF(t, dir, name+".btf", b, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
		writeModule(t, name+".ko", name, nil)
	}
	writeModule(t, "c.ko", "c", nil)
	for args, want := range map[string]string{
		"archive --release 1 --vmlinux base.btf -o OUT":           "vmlinux and 0 modules in OUT",
		"archive --release 1 --vmlinux base.btf -o OUT.tar a.btf": "vmlinux and 1 module in OUT.tar",
		"embed --btf a.btf -o a.out a.ko":                         "a.out",
		"embed --btf a.btf -o a.out none.ko":                      "",
		"embed --btf . -o OUT a.ko b.ko":                          "2 modules in OUT",
		"embed --btf . -o OUT a.ko c.ko":                          "1 of 2 modules in OUT",
		"embed --btf . -o OUT c.ko":                               "",
	} {
		os.RemoveAll("OUT")
		var stderr bytes.Buffer
		cli.Execute(program, strings.Fields(args), nil, io.Discard, &stderr)
		got := ""
		if m := clitest.MadeLine.FindStringSubmatch(stderr.String()); m != nil {
			got = m[2]
		}
		if got != want {
			t.Errorf("%s: the line is about %q, want %q\n%s", args, got, want, &stderr)
		}
	}
}
