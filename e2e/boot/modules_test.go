package boot

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/e2e/internal/verdict"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A kernel is Debian's kernel with its modules, as the script fetch stores them in a directory.
type kernel struct {
	dir   string   // the directory whose path fetch prints
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

// vmlinuxBTF returns the path of the BTF with which the kernel was shipped. The modules' BTF is
// based on this BTF.
func (k kernel) vmlinuxBTF() string { return filepath.Join(k.dir, "vmlinux.btf") }

// shipped returns the path of a module as it was shipped. debug returns the path of the file with
// the same module's DWARF.
func (k kernel) shipped(file string) string { return filepath.Join(k.dir, "modules", file+".ko") }
func (k kernel) debug(file string) string   { return filepath.Join(k.dir, "debug", file+".ko") }

// kernelName returns the name that a module has in the kernel.
func kernelName(file string) string { return strings.ReplaceAll(file, "-", "_") }

func (k kernel) names() []string {
	names := make([]string, len(k.order))
	for i, file := range k.order {
		names[i] = kernelName(file)
	}
	return names
}

// fileName returns the name of a module's file without ".ko". The module is named as in the kernel.
func (k kernel) fileName(name string) string {
	for _, file := range k.order {
		if kernelName(file) == name {
			return file
		}
	}
	return name
}

// btfOf returns the path to which embedAll writes the BTF of a module, and moduleIn the path, below
// the guest's root, of the module that contains this BTF. The module is named as in the kernel.
func (k kernel) btfOf(dir, name string) string {
	return filepath.Join(dir, "btf", k.fileName(name)+".btf")
}
func (k kernel) moduleIn(name string) string { return "/modules/" + k.fileName(name) + ".ko" }

// embedAll makes the BTF of all modules from their DWARF, and embeds it in copies of the shipped
// modules.
func (k kernel) embedAll(t *testing.T, dir, image string) {
	t.Helper()
	k.embed(t, k.vmlinuxBTF(), filepath.Join(dir, "btf"), filepath.Join(image, "modules"),
		filepath.Join(k.dir, "debug"))
}

// embed makes the BTF of modules, based on the BTF in the file base. It writes the new BTF to the
// directory btf, and copies of the shipped modules with the new BTF to the directory out. The
// parameter from names the file of a module with DWARF, or a directory.
func (k kernel) embed(t *testing.T, base, btf, out, from string) {
	t.Helper()
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "modules", "-q", "--base="+base, "-o", btf, from)
	shipped := filepath.Join(k.dir, "modules")
	if filepath.Ext(from) == ".ko" {
		shipped = filepath.Join(shipped, filepath.Base(from))
	}
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "embed", "-q", "--btf="+btf, "--resolve-ids",
		"--base="+base, "--old-base="+k.vmlinuxBTF(), "-o", out, "--drop-signature",
		"--fatal-warnings", shipped)
}

// writePlan writes the guest's plan. The guest loads all modules in order, and each control and
// wrong module just before the good module of the same name. Then it runs the BPF programs.
func (k kernel) writePlan(t *testing.T, image string, controls map[string]control,
	wrong *verdict.Cases) {
	t.Helper()
	plan := wire.Plan{
		Report:   machine.X86("").Report,
		Checks:   slices.Sorted(maps.Keys(programs)),
		Programs: programsDir,
	}
	for _, name := range k.names() {
		if c, ok := controls[name]; ok {
			plan.Modules = append(plan.Modules, wire.Load{Name: name, File: c.file})
		}
		plan.Modules = append(plan.Modules, wrong.Of(name)...)
		plan.Modules = append(plan.Modules, wire.Load{Name: name, File: k.moduleIn(name)})
	}
	b := must.Get(json.Marshal(plan))(t)
	harness.WriteFile(t, filepath.Join(image, wire.PlanFile), string(b))
}
