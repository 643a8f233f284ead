package boot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// A kernel is the directory that fetch prints.
type kernel struct {
	dir   string
	order []string // file names of the modules without ".ko", in the order to load them
}

// fetched returns the kernel in the directory that BOOT_DIR names.
func fetched(t *testing.T) kernel {
	t.Helper()
	k := kernel{dir: os.Getenv("BOOT_DIR")}
	if k.dir == "" {
		t.Skip("SKIPPED: no kernel to boot; run e2e/boot/run, or set BOOT_DIR to what " +
			"e2e/boot/fetch prints")
	}
	harness.Need(t, "clang", "bpftool", "cpio")
	k.order = strings.Fields(string(harness.ReadFile(t, filepath.Join(k.dir, "order"))))
	return k
}

// vmlinuxBTF is the .BTF of the kernel as it was shipped, on which the modules' BTF stands.
func (k kernel) vmlinuxBTF() string { return filepath.Join(k.dir, "vmlinux.btf") }

// shipped and debug are the files of a module as it was shipped, and with DWARF.
func (k kernel) shipped(file string) string { return filepath.Join(k.dir, "modules", file+".ko") }
func (k kernel) debug(file string) string   { return filepath.Join(k.dir, "debug", file+".ko") }

// kernelName is the name of a module in the kernel.
func kernelName(file string) string { return strings.ReplaceAll(file, "-", "_") }

func (k kernel) names() []string {
	names := make([]string, len(k.order))
	for i, file := range k.order {
		names[i] = kernelName(file)
	}
	return names
}

// btfOf is where embedAll writes the BTF of the module with that name in the kernel.
func btfOf(dir, name string) string { return filepath.Join(dir, "btf", name) }

// moduleIn is where embedAll writes that module with our BTF, below the guest's root.
func moduleIn(name string) string { return "/modules/" + name + ".ko" }

// embedAll makes the BTF of all modules from their DWARF, and puts it into the modules as they were
// shipped.
func (k kernel) embedAll(t *testing.T, dir, image string) {
	t.Helper()
	for _, d := range []string{btfOf(dir, ""), filepath.Join(image, "modules")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	files := make(chan string)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for file := range files {
				if t.Failed() {
					continue
				}
				name := kernelName(file)
				btf := btfOf(dir, name)
				ok := attempt(t, btfgen, "elf", "-q", "--base="+k.vmlinuxBTF(), "-o", btf,
					k.debug(file))
				if ok {
					attempt(t, btfdedup, "embed", "--drop-signature", "--resolve-ids",
						"--base="+k.vmlinuxBTF(), "--btf="+btf,
						"-o", filepath.Join(image, moduleIn(name)), k.shipped(file))
				}
			}
		})
	}
	for _, file := range k.order {
		files <- file
	}
	close(files)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// attempt runs a command and reports whether it succeeded. Any goroutine may call it.
func attempt(t *testing.T, argv ...string) bool {
	r, err := harness.Command{Argv: argv}.Run()
	if err != nil || r.Exit != 0 {
		t.Errorf("%s: exit %d, %v\n%s", strings.Join(argv, " "), r.Exit, err, r.Stderr)
		return false
	}
	return true
}

// writePlan writes what the guest loads: all modules in order, each of the controls before the good
// module of its name.
func (k kernel) writePlan(t *testing.T, image string, controls map[string]control) {
	t.Helper()
	plan := report.Plan{Programs: programsDir}
	for _, name := range k.names() {
		if c, ok := controls[name]; ok {
			plan.Modules = append(plan.Modules, report.Load{Name: name, File: c.file})
		}
		plan.Modules = append(plan.Modules, report.Load{Name: name, File: moduleIn(name)})
	}
	b, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	harness.WriteFile(t, filepath.Join(image, report.PlanFile), string(b))
}
