// Package verdict makes modules that are wrong in many ways, and checks that "btfdedup verify" says
// of each one what a booted kernel does with it.
//
//	verdict.go  which modules are made, and the comparison
//	module.go   a module whose sections are changed
//	ways.go     the ways in which a module may be wrong
//	types.go    the ways in which its BTF may be wrong
package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A Module is a module that the kernel loads.
type Module struct {
	Name string // in the kernel
	File string
}

// dir is the directory, below the guest's root, with the modules that Make writes.
const dir = "/verdict"

// Cases are the modules that Make made.
type Cases struct {
	kernel string // the file that verify reads
	types  *btf.Blob
	image  string
	loads  map[string][]wire.Load // by the module's name
	way    map[string]string      // by the base name of the file
}

// Make makes n wrong modules from modules of a kernel, below the directory image, the guest's root.
// It uses only small modules that have BTF and that can be removed again. The parameter kernel
// names the kernel's image or vmlinux, and types is the kernel's BTF. The environment variable
// VERDICT_SEED has the seed of the random choices, and VERDICT_MODULES replaces n.
func Make(t testing.TB, kernel string, types []byte, modules []Module, n int, image string) *Cases {
	t.Helper()
	blob := must.Get(btf.Parse(types, nil))(t)
	var suitable []Module
	for _, m := range modules {
		if isSuitable(t, m) {
			suitable = append(suitable, m)
		}
	}
	c := &Cases{kernel: kernel, types: blob, image: image, loads: map[string][]wire.Load{},
		way: map[string]string{}}
	seed := bpftest.Number(t, "VERDICT_SEED", 1)
	n = bpftest.Number(t, "VERDICT_MODULES", n)
	t.Logf("%d wrong modules, made from %d modules; VERDICT_SEED=%d", n, len(suitable), seed)
	for i := range n {
		c.add(t, i, rand.New(rand.NewPCG(uint64(seed), uint64(i))), suitable)
	}
	return c
}

// add makes the module with the number i. Not every way suits every module.
func (c *Cases) add(t testing.TB, i int, rnd *rand.Rand, modules []Module) {
	t.Helper()
	w := ways[i%len(ways)]
	for _, which := range append(rnd.Perm(len(modules)), rnd.Perm(len(modules))...) {
		from := modules[which]
		m := c.open(t, from, rnd, modules)
		if !w.apply(m) {
			m.close()
			continue
		}
		file := path.Join(dir, fmt.Sprintf("%03d-%s-%s.ko", i, from.Name,
			strings.ReplaceAll(w.name, " ", "-")))
		harness.WriteFile(t, filepath.Join(c.image, file), string(m.write()))
		m.close()
		c.way[path.Base(file)] = w.name
		c.loads[from.Name] = append(c.loads[from.Name],
			wire.Load{Name: from.Name, File: file, Remove: true})
		return
	}
	t.Logf("%d: %q suits none of the modules", i, w.name)
}

// Of returns what the guest loads before a module: the wrong modules that were made from it. The
// receiver may be nil.
func (c *Cases) Of(name string) []wire.Load {
	if c == nil {
		return nil
	}
	return c.loads[name]
}

// Is reports whether a line is about a module that Make made.
func Is(l wire.Line) bool { return l.Module != nil && l.Module.Remove }

// The results that a kernel and verify have in common.
const (
	withBTF    = "loads with BTF"
	withoutBTF = "loads without BTF"
	refused    = "refused"
)

// kernelSays returns what the kernel did with a module.
func kernelSays(m *wire.Module) string {
	switch {
	case m.Error != "":
		return refused
	case m.BTF == "":
		return withoutBTF
	}
	return withBTF
}

// verdict is what verify says of a module.
type verdict struct {
	Path, Outcome, Why string
	Guessed            bool
}

// agrees reports whether the kernel may have done this.
func (v verdict) agrees(kernel string) bool {
	return kernel == v.says() || v.Guessed && kernel == withoutBTF
}

func (v verdict) says() string {
	switch {
	case v.Outcome == "loads with wrong BTF", v.Outcome == "loads" && v.Why == "":
		return withBTF
	case v.Outcome == "loads":
		return withoutBTF // it has no BTF
	}
	return v.Outcome
}

// Check compares the kernel's verdicts, which the guest reported, with those of verify.
func (c *Cases) Check(t *testing.T, lines []wire.Line) {
	says := c.verify(t)
	count := map[string]int{}            // by what the kernel did
	table := map[string]map[string]int{} // the same, by way
	for _, l := range lines {
		if !Is(l) {
			continue
		}
		file := path.Base(l.Module.File)
		v, ok := says[file]
		if !ok {
			t.Errorf("%s: verify doesn't list it", file)
			continue
		}
		delete(says, file)
		kernel := kernelSays(l.Module)
		count[kernel]++
		way := c.way[file]
		if table[way] == nil {
			table[way] = map[string]int{}
		}
		table[way][kernel]++
		if !v.agrees(kernel) {
			t.Errorf("%s: the kernel: %s %s\nverify: %s: %s\nthe kernel's log:\n%s", file, kernel,
				l.Module.Error, v.Outcome, v.Why, strings.Join(l.Module.Log, "\n"))
		}
		if l.Module.Stuck != "" {
			t.Errorf("%s: can't be removed: %s", file, l.Module.Stuck)
		}
		if kernel == withBTF {
			c.checkShown(t, l.Module)
		}
	}
	for file := range says {
		t.Errorf("%s: the guest didn't load it", file)
	}
	for _, way := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%s: %v", way, table[way])
	}
	t.Logf("together: %v", count)
	if len(table) > len(ways)/2 && len(count) < 3 {
		t.Error("a result is missing, so this comparison proves little")
	}
}

// verify returns what verify says, by the base name of the file.
func (c *Cases) verify(t *testing.T) map[string]verdict {
	t.Helper()
	argv := []string{harness.Tool(t, "btfdedup"), "verify", "--format=json", c.kernel,
		filepath.Join(c.image, dir)}
	r, err := harness.Command{Argv: argv}.Run()
	if err != nil || r.Exit > 1 {
		t.Fatalf("%s: exit %d, %v\n%s", strings.Join(argv, " "), r.Exit, err, r.Stderr)
	}
	var found struct{ Modules []verdict }
	if err := json.Unmarshal([]byte(r.Stdout), &found); err != nil {
		t.Fatalf("%v\n%s", err, r.Stderr)
	}
	says := map[string]verdict{}
	for _, v := range found.Modules {
		says[path.Base(v.Path)] = v
	}
	return says
}

// checkShown checks that the kernel shows the module's BTF, after relocation if its base is
// distilled. Kernels before 6.11 ignore distilled bases.
func (c *Cases) checkShown(t *testing.T, m *wire.Module) {
	file := filepath.Join(c.image, m.File)
	want := harness.Section(t, file, btf.SectionTypes)
	if m.BTF == wire.Digest(want) {
		return
	}
	if distilled := harness.Section(t, file, btf.SectionBase); distilled != nil {
		harness.Do(t, func() {
			types := harness.Get(btf.Parse(want, harness.Get(btf.Parse(distilled, nil))))
			moved := harness.Get(relocate.Relocate(types, c.types))
			want = harness.Get(btf.Encode(moved, types.Header.Form()))
		})
	}
	if m.BTF != wire.Digest(want) {
		t.Errorf("%s: /sys/kernel/btf/%s is not the module's BTF", path.Base(m.File), m.Name)
	}
}
