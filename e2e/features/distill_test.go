package features

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const kernelSource = `
typedef unsigned long size_t;
enum state { DOWN, UP = 3 };
enum __attribute__((packed)) small { LITTLE };
enum wide { WIDE = 1ul << 40 };
struct undefined;
struct list { struct list *next, *prev; };
struct device { struct list list; const char *name; enum state state : 2;
	union { int irq; long handle; }; struct undefined *private; };
union value { long l; double d; };
struct unused { struct device devices[4]; };
typedef int (*probe_fn)(struct device *dev, const volatile union value *v, size_t n, ...);
struct driver { probe_fn probe; struct list list; char name[16]; enum small small;
	enum wide wide; };
int register_driver(struct driver *d) { return d->probe != 0; }
void forget(struct unused *u, float f) { u->devices[0].state = f; }
`

const moduleSource = kernelSource + `
struct disk { struct device device; struct driver *driver; enum wide wide; union value values[3];
	struct sector *first; };
struct sector { struct disk *disk; size_t number;
	struct { enum state state; enum { CLEAN, DIRTY } dirt; }; };
int probe(struct device *dev, const volatile union value *v, size_t n, ...)
{ return dev->irq + v->l + n; }
probe_fn find(struct disk *d, enum small s) { return d->driver->probe; }
float size_of(struct sector *s) { return s->number; }
`

// buildOracle compiles testdata/distill.c, which calls libbpf, and returns the program's path.
func buildOracle(t *testing.T) string {
	t.Helper()
	harness.Need(t, "gcc")
	oracle := filepath.Join(t.TempDir(), "distill")
	source := filepath.Join(harness.Repo(), "e2e/features/testdata/distill.c")
	r := must.Get(harness.Command{Argv: []string{"gcc", "-o", oracle, source, "-lbpf"}}.Run())(t)
	if r.Exit != 0 {
		if strings.Contains(r.Stderr, "bpf/btf.h: No such file") {
			t.Skip("SKIPPED: no libbpf to compile with (Debian's package libbpf-dev)")
		}
		t.Fatal(r.Stderr)
	}
	return oracle
}

// TestDistilledBase compares our distilled base with libbpf's, and lets libbpf relocate our split
// BTF back to the full base. Every way of making a distilled base must give the same files.
func TestDistilledBase(t *testing.T) {
	kernel, module := program(t, kernelSource), program(t, moduleSource)
	base, split := beside(kernel, "base.btf"), beside(kernel, "split.btf")
	tool(t, "btfgen", "elf", "-o", base, kernel)
	tool(t, "btfgen", "elf", "--base", base, "-o", split, module)

	ourBase, ourSplit := beside(kernel, "our.base.btf"), beside(kernel, "our.split.btf")
	linkBase, linkSplit := beside(kernel, "link.base.btf"), beside(kernel, "link.split.btf")
	object := beside(kernel, "m.btfo")
	tool(t, "btfgen", "elf", "--features=default,distilled_base", "--base", base, "--distilled-base",
		ourBase, "-o", ourSplit, module)
	tool(t, "btfgen", "object", "--features=default,distilled_base", "-o", object, module)
	facts := beside(kernel, "m.facts")
	tool(t, "btfgen", "facts", "-o", facts, module)
	tool(t, "btfdedup", "link", "--facts", facts, "--base", base, "--distilled-base", linkBase, "-o",
		linkSplit, object)
	same(t, ourBase, linkBase)
	same(t, ourSplit, linkSplit)
	tool(t, "btfdedup", "link", "--base", base, "--distilled-base", linkBase, "-o", linkSplit, split)
	same(t, ourBase, linkBase)
	same(t, ourSplit, linkSplit)
	tool(t, "btfdedup", "link", "--base", ourBase, "-o", linkSplit, ourSplit)
	same(t, ourSplit, linkSplit)
	tool(t, "btfdedup", "verify", "--sorted", ourBase)
	tool(t, "btfdedup", "verify", "--sorted", "--base", ourBase, ourSplit)
	if r, err := (harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "link", "--base", base,
		"-o", linkSplit, object}}).Run(); err != nil || r.Exit != 2 ||
		!strings.Contains(r.Stderr, "--distilled-base") {
		t.Errorf("linking an object with the feature, without --distilled-base: %+v, %v", r, err)
	}

	compareWithLibbpf(t, base, split, ourBase, ourSplit)
}

// TestDistilledTwins distills a base in which two types have the same name and size. If libbpf has
// made the distilled base, libbpf can't relocate the module's BTF back to the full base. If we have
// made it, libbpf can, because our BTF of the module contains the type that the module uses in
// full.
func TestDistilledTwins(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.c")
	harness.WriteFile(t, other,
		"struct twin { float f; }; float second(struct twin *t) { return t->f; }\n")
	const source = "struct twin { int i; }; int first(struct twin *t) { return t->i; }\n"
	kernel := program(t, source, other)
	module := program(t, source+"struct holder { struct twin *twin; };\n"+
		"int third(struct holder *h) { return h->twin->i; }\n")
	base, split := beside(kernel, "base"), beside(kernel, "split")
	ourBase, ourSplit := beside(kernel, "our.base"), beside(kernel, "our.split")
	tool(t, "btfgen", "elf", "-o", base, kernel)
	tool(t, "btfgen", "elf", "--base", base, "-o", split, module)
	tool(t, "btfgen", "elf", "--base", base, "--distilled-base", ourBase, "-o", ourSplit, module)

	oracle := buildOracle(t)
	theirBase, theirSplit := beside(kernel, "their.base"), beside(kernel, "their.split")
	back, again := beside(kernel, "back"), beside(kernel, "again")
	harness.MustRun(t, "", oracle, base, split, theirBase, theirSplit)
	if r, err := (harness.Command{Argv: []string{oracle, "-r", theirBase, theirSplit, base,
		back}}).Run(); err != nil || r.Exit == 0 {
		t.Errorf("libbpf can relocate BTF from its own distilled base, so ours can be like it: %+v, %v",
			r, err)
	}
	harness.MustRun(t, "", oracle, "-r", ourBase, ourSplit, base, back)
	tool(t, "btfdedup", "link", "--base", base, "-o", again, back)
	same(t, split, again)
}

// TestDistilledBaseOfModule compares distilled bases like TestDistilledBase, but for a module of a
// real kernel.
func TestDistilledBaseOfModule(t *testing.T) {
	kernel, module := os.Getenv("VMLINUX_BTF"), os.Getenv("MODULE")
	if kernel == "" || module == "" {
		t.Skip("SKIPPED: set VMLINUX_BTF to a kernel's raw BTF and MODULE to the BTF object of one of " +
			"its modules")
	}
	dir := t.TempDir()
	split := filepath.Join(dir, "split.btf")
	ourBase, ourSplit := filepath.Join(dir, "our.base.btf"), filepath.Join(dir, "our.split.btf")
	tool(t, "btfdedup", "link", "--base", kernel, "-o", split, module)
	tool(t, "btfdedup", "link", "--base", kernel, "--distilled-base", ourBase, "-o", ourSplit, module)
	tool(t, "btfdedup", "verify", "--sorted", ourBase)
	tool(t, "btfdedup", "verify", "--sorted", "--base", ourBase, ourSplit)
	compareWithLibbpf(t, kernel, split, ourBase, ourSplit)
}

// compareWithLibbpf compares our distilled base, and our split BTF that is based on it, with those
// that libbpf makes. Then it lets libbpf relocate our split BTF to the full base.
func compareWithLibbpf(t *testing.T, base, split, ourBase, ourSplit string) {
	t.Helper()
	oracle := buildOracle(t)
	dir := t.TempDir()
	theirBase, theirSplit := filepath.Join(dir, "base"), filepath.Join(dir, "split")
	back, again := filepath.Join(dir, "back"), filepath.Join(dir, "again")
	harness.MustRun(t, "", oracle, base, split, theirBase, theirSplit)
	tool(t, "btfdedup", "diff", ourBase, theirBase)
	tool(t, "btfdedup", "diff", "--base-a", ourBase, "--base-b", theirBase, ourSplit, theirSplit)

	// After the relocation, some types in the split BTF are also in the full base. A link removes
	// these types from the split BTF, which gives the original split BTF again.
	harness.MustRun(t, "", oracle, "-r", ourBase, ourSplit, base, back)
	tool(t, "btfdedup", "link", "--base", base, "-o", again, back)
	same(t, split, again)
}

// same fails the test unless two files have the same bytes.
func same(t *testing.T, a, b string) {
	t.Helper()
	if !bytes.Equal(harness.ReadFile(t, a), harness.ReadFile(t, b)) {
		t.Errorf("%s and %s differ", a, b)
	}
}
