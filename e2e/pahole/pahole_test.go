package pahole

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// types is C source that uses each feature. Every base type in it is used, because our pahole
// leaves out base types to which nothing refers.
const types = `
#if __has_attribute(btf_decl_tag)
#define tagged(t) __attribute__((btf_decl_tag(t)))
#define type_tagged(t) __attribute__((btf_type_tag(t)))
#else
#define tagged(t)
#define type_tagged(t)
#endif
enum wide { NARROW, WIDE = 1ul << 40 };
struct device { struct device type_tagged("rcu") *parent; enum wide wide; double speed; float load;
	unsigned long size; unsigned number; union { int now; struct { char was; }
	__UNIQUE_ID_rh_kabi_hide17; }; } tagged("counted");
`

const source = types + `
__attribute__((section(".data..percpu"), used)) struct device here;
struct device elsewhere;
int probe(struct device *d tagged("trusted"), int scale) { return d->wide * scale; }
static __attribute__((noipa)) double measure(struct device *d) { return d->speed; }
int open(struct device *d) { return d->now + measure(d); }
void _start(void) { probe(&elsewhere, 2); open(&here); }
`

const module = types + `
struct disk { struct device device; struct disk *next; float load; enum { ON, OFF } state; };
__attribute__((section(".data..percpu"), used)) struct disk mine;
extern int probe(struct device *d, int scale);
int insert(struct disk *d) { return d->state + probe(&d->device, d->load); }
`

func compile(t *testing.T, name, text string, flags ...string) string {
	t.Helper()
	harness.Need(t, "gcc")
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, name+".c"), text)
	harness.MustRun(t, dir, append([]string{"gcc", "-std=gnu17", "-g", "-O2", "-fno-pic", "-w", "-o",
		name, name + ".c"}, flags...)...)
	return filepath.Join(dir, name)
}

// needOracle skips the test unless dwarves' pahole is installed in the version that our pahole
// replaces.
func needOracle(t *testing.T) {
	t.Helper()
	harness.Need(t, "pahole", "objcopy")
	if v := harness.MustRun(t, "", "pahole", "--numeric_version"); v != "132\n" {
		t.Skipf("SKIPPED: the test needs pahole 1.32, not %s", v)
	}
}

// line is a line in kernels.txt.
type line struct{ kernels, version, args string }

func lines(t *testing.T) []line {
	t.Helper()
	file := filepath.Join(harness.Repo(), "tools/pahole/testdata/kernels.txt")
	var list []line
	for text := range strings.Lines(string(harness.ReadFile(t, file))) {
		if f := strings.Split(text, " | "); len(f) == 5 {
			// pahole 1.32 ignores inline. e2e/inline tests what it adds.
			args := strings.NewReplacer(",inline", "", " --btf_features=inline", "").Replace(f[3])
			list = append(list, line{f[0], strings.Trim(f[2], "-"), args})
		}
	}
	return list
}

// places has the paths that replace the words ELF, MODULE and BASE in a line.
type places struct{ vmlinux, module, base string }

// call runs a pahole with the arguments in a line, on copies of the files. It returns the path of a
// file with the raw BTF that this pahole made, and the paths of the BTF's bases.
func (p places) call(t *testing.T, tool string, l line) (path string, bases []string) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.btf")
	target, split, detached := p.vmlinux, false, false
	argv := []string{tool}
	for _, word := range strings.Fields(l.args) {
		switch {
		case word == "ELF", word == "MODULE":
			if word == "MODULE" {
				target = p.module
			}
			in := filepath.Join(dir, filepath.Base(target))
			harness.WriteFile(t, in, string(harness.ReadFile(t, target)))
			target, word = in, in
		case word == "BASE":
			word, split = p.base, true
		case strings.Contains(word, "detached"):
			detached = true
		}
		argv = append(argv, strings.ReplaceAll(word, "OUT", out))
	}
	r, err := harness.Command{Argv: argv, Env: []string{"RULES_BTF_PAHOLE_VERSION=" + l.version,
		"LLVM_OBJCOPY=objcopy"}}.Run()
	if err != nil || r.Exit != 0 || r.Stdout+r.Stderr != "" {
		t.Fatalf("%q: %v, exit code %d, %q%q", argv, err, r.Exit, r.Stdout, r.Stderr)
	}
	if split {
		bases = []string{p.base}
	}
	if detached {
		return out, bases
	}
	if base, ok := section(t, target, ".BTF.base"); ok {
		bases = []string{base}
	}
	path, ok := section(t, target, ".BTF")
	if !ok {
		t.Fatalf("%q: no section .BTF", argv)
	}
	return path, bases
}

// section copies a section of the file at path to a new file, whose path it returns.
func section(t *testing.T, path, name string) (out string, ok bool) {
	t.Helper()
	data := harness.Section(t, path, name)
	if data == nil {
		return "", false
	}
	out = path + name
	harness.WriteFile(t, out, string(data))
	return out, true
}

// TestCalls runs all commands on small files. The results must not differ.
func TestCalls(t *testing.T) {
	needOracle(t)
	p := places{vmlinux: compile(t, "vmlinux", source, "-nostdlib", "-static"),
		module: compile(t, "module.ko", module, "-c")}
	p.base = filepath.Join(t.TempDir(), "base.btf")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-o", p.base, p.vmlinux)
	for i, l := range lines(t) {
		t.Run(fmt.Sprint(i, " ", l.kernels), func(t *testing.T) {
			for _, d := range p.differences(t, l).Differences {
				t.Errorf("%s: %s %s %s: ours %q, pahole's %q", l.args, d.Class, d.Name, d.Kind, d.Ours,
					d.Oracle)
			}
		})
	}
}

// differences compares the results of the two paholes for a line. It skips the test for versions of
// pahole before 1.24, which leave out kinds of types that 1.32 encodes.
func (p places) differences(t *testing.T, l line) *compare.Result {
	t.Helper()
	if old := strings.TrimPrefix(l.version, "1."); old != "" {
		if minor, err := strconv.Atoi(old); err != nil || minor < 24 {
			t.Skipf("SKIPPED: pahole 1.32 encodes more kinds of types than %s", l.version)
		}
	}
	load := func(tool string) *content.Contents {
		path, bases := p.call(t, tool, l)
		c, err := content.Load(path, bases...)
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if len(bases) > 0 { // based on p.base, distilled or not
			harness.Do(t, func() { oracle.DropBase(c, []string{p.base}) })
		}
		return c
	}
	return compare.Contents(load(harness.Tool(t, "pahole")), load("pahole"))
}

// TestReal runs all commands on a kernel and a module, and counts the differences, of which there
// may be only a few. The tests in e2e/kernel explain such differences.
func TestReal(t *testing.T) {
	vmlinux, ko := os.Getenv("VMLINUX"), os.Getenv("MODULE")
	if vmlinux == "" || ko == "" {
		t.Skip("SKIPPED: set VMLINUX and MODULE to a kernel and a module with DWARF")
	}
	needOracle(t)
	p := places{vmlinux: vmlinux, module: ko, base: filepath.Join(t.TempDir(), "vmlinux.btf")}
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "--lang-exclude=rust", "-o", p.base,
		vmlinux)
	var done []string
	for _, l := range lines(t) {
		if slices.Contains(done, l.args) || !strings.Contains(l.args, "lang_exclude") {
			continue // Rust units have types that BTF can't represent
		}
		done = append(done, l.args)
		t.Run(l.kernels, func(t *testing.T) {
			r := p.differences(t, l)
			all, differ := 0, len(r.Differences)
			for _, n := range r.Oracle {
				all += n
			}
			t.Logf("%s: of %d names %d differ", l.args, all, differ)
			for _, d := range r.Differences[:min(differ, 20)] {
				t.Logf("%s %s %s: ours %.200q, pahole's %.200q", d.Class, d.Name, d.Kind, d.Ours, d.Oracle)
			}
			if differ > 2+all/100 {
				t.Error("too many differences")
			}
		})
	}
}

// TestAnswers compares the exit codes and outputs of both paholes when there is nothing to encode.
func TestAnswers(t *testing.T) {
	needOracle(t)
	plain := compile(t, "plain.o", "int x;", "-c", "-g0")
	for _, tt := range []struct {
		args  string
		print bool // whether both must print the same text
		usage bool // whether both must report wrong usage, with exit code 64 (dwarves') or 2 (ours)
	}{
		{args: "--version", print: true},
		{args: "--numeric_version", print: true},
		{args: "-J " + plain},
		{args: "-J --bogus " + plain, usage: true},
		{args: "-J --btf_enc=x " + plain, usage: true},
		{args: "-J --btf_base", usage: true},
		{args: "-J --jobs=x " + plain},
		{args: "-J --btf_base=/no/such/file " + plain},
		{args: "-J --lang_exclude=klingon " + plain},
		{args: "-J --btf_features_strict=var,vars " + plain},
	} {
		run := func(tool string) harness.Result {
			r, err := harness.Command{Argv: append([]string{tool}, strings.Fields(tt.args)...)}.Run()
			must.OK(t, err)
			return r
		}
		before := harness.ReadFile(t, plain)
		ours, theirs := run(harness.Tool(t, "pahole")), run("pahole")
		if tt.usage && theirs.Exit == 64 {
			theirs.Exit = 2
		}
		if ours.Exit != theirs.Exit || tt.print && ours.Stdout != theirs.Stdout {
			t.Errorf("%s: exit code %d, %q%q; dwarves' pahole %d, %q%q", tt.args, ours.Exit, ours.Stdout,
				ours.Stderr, theirs.Exit, theirs.Stdout, theirs.Stderr)
		}
		if !bytes.Equal(harness.ReadFile(t, plain), before) {
			t.Errorf("%s: the file has changed", tt.args)
		}
	}
	// Debian's pahole is built with a libbpf that doesn't know the layout section.
	ours := harness.MustRun(t, "", harness.Tool(t, "pahole"), "--supported_btf_features")
	theirs := harness.MustRun(t, "", "pahole", "--supported_btf_features")
	for name := range strings.SplitSeq(strings.TrimSpace(theirs), ",") {
		if !slices.Contains(strings.Split(strings.TrimSpace(ours), ","), name) {
			t.Errorf("only dwarves' pahole has the feature %s", name)
		}
	}
}
