package inline

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestKernel compares the sites of a kernel and its modules. The variable ELFS names their files,
// the kernel first; the default is the kernel in KERNEL_DIR with all modules.
func TestKernel(t *testing.T) {
	files := strings.Fields(os.Getenv("ELFS"))
	if len(files) == 0 {
		dir := harness.Kernel(t)
		files = []string{filepath.Join(dir, "vmlinux")}
		harness.Do(t, func() {
			harness.Check(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
				if strings.HasSuffix(path, ".ko") {
					files = append(files, path)
				}
				return err
			}))
		})
	}
	m := newMaker(t, t.TempDir())
	base := m.btf("vmlinux", files[0])
	m.compare(files[0], base)
	m.oldBase = files[0]
	for _, module := range files[1:] {
		m.compare(module, base, m.btf("module", module, base))
	}
}

// maker runs our tools.
type maker struct {
	testing.TB
	dir, btfgen, btfdedup string
	oldBase               string // the vmlinux of modules whose ids are already resolved
}

func newMaker(t testing.TB, dir string) maker {
	t.Helper()
	return maker{t, dir, harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup"), ""}
}

// btf makes the BTF of a file, with bases.
func (m maker) btf(name, elf string, bases ...string) string {
	out := filepath.Join(m.dir, name+".btf")
	m.run("elf", nil, out, elf, bases)
	return out
}

// inline makes the BTF of the sites in a file, checks that it obeys the kernel's rules, and returns
// the sites.
func (m maker) inline(elf string, bases ...string) []*Site {
	m.Helper()
	out := filepath.Join(m.dir, "inline.btf")
	m.run("inline", nil, out, elf, bases)
	if _, err := os.Stat(out); err != nil {
		return nil
	}
	return m.read(out, bases)
}

// apart is like inline, but makes BTF that has the sites among the other types, and then moves them
// to a separate file. The last base is not used.
func (m maker) apart(elf string, bases ...string) []*Site {
	m.Helper()
	p := func(name string) string { return filepath.Join(m.dir, name) }
	bases = slices.Clone(bases[:len(bases)-1])
	m.run("elf", []string{"--features=+inline"}, p("all.btf"), elf, bases)
	argv := []string{m.btfdedup, "resolve-ids", "-o", p("copy"), "--btf", p("all.btf"), "--btf-out",
		p("main.btf"), "--inline-out", p("apart.btf"), elf}
	if m.oldBase != "" {
		argv = append(argv, "--old-base", m.oldBase)
	}
	harness.MustRun(m, m.dir, withBases(argv, bases)...)
	if _, err := os.Stat(p("apart.btf")); err != nil {
		return nil
	}
	harness.MustRun(m, m.dir, withBases([]string{m.btfdedup, "verify", "--sorted", p("main.btf")},
		bases)...)
	return m.read(p("apart.btf"), append(bases, p("main.btf")))
}

// read checks that BTF with sites obeys the kernel's rules, and returns the sites.
func (m maker) read(path string, bases []string) []*Site {
	m.Helper()
	harness.MustRun(m, m.dir, withBases([]string{m.btfdedup, "verify", "--sorted", path}, bases)...)
	sites, err := BTFSites(append(slices.Clone(bases), path)...)
	if err != nil {
		m.Fatal(err)
	}
	return sites
}

func withBases(argv, bases []string) []string {
	for _, b := range bases {
		argv = append(argv, "--base", b)
	}
	return argv
}

func (m maker) run(verb string, options []string, out, elf string, bases []string) {
	m.Helper()
	argv := append([]string{m.btfgen, verb, "--lang-exclude=rust", "-o", out, elf}, options...)
	harness.MustRun(m, m.dir, withBases(argv, bases)...)
}

// compare compares the sites in the BTF with those that the reader finds, and returns the latter.
func (m maker) compare(elf string, bases ...string) []*Site {
	m.Helper()
	truth, err := Sites(elf)
	if err != nil {
		m.Fatalf("%s: %v", elf, err)
	}
	truth = slices.DeleteFunc(truth, func(s *Site) bool { return s.Rust })
	known, all := 0, 0
	for _, s := range truth {
		for _, p := range s.Params {
			if all++; p.Cause == "" {
				known++
			}
		}
	}
	differences := Differences(truth, m.inline(elf, bases...))
	m.Logf("%s: %d sites, %d of %d parameters are known", filepath.Base(elf), len(truth), known,
		all)
	if len(differences) > 0 {
		m.Errorf("%s:\n%s", elf, strings.Join(differences, "\n"))
	}
	if differences := Differences(truth, m.apart(elf, bases...)); len(differences) > 0 {
		m.Errorf("%s, moved to a separate file:\n%s", elf, strings.Join(differences, "\n"))
	}
	return truth
}
