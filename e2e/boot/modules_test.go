package boot

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
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

// btfOf returns the path to which embedAll writes the BTF of a module. The module is named as in
// the kernel.
func btfOf(dir, name string) string { return filepath.Join(dir, "btf", name) }

// moduleIn returns the path, below the guest's root, to which embedAll writes the module that
// contains our BTF.
func moduleIn(name string) string { return "/modules/" + name + ".ko" }

// embedAll makes the BTF of all modules from their DWARF, and embeds it in copies of the shipped
// modules.
func (k kernel) embedAll(t *testing.T, dir, image string) {
	t.Helper()
	for _, d := range []string{btfOf(dir, ""), filepath.Join(image, "modules")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	files := make(chan string)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for file := range files {
				if !t.Failed() {
					name := kernelName(file)
					k.embed(t, file, k.vmlinuxBTF(), btfOf(dir, name),
						filepath.Join(image, moduleIn(name)))
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

// embed makes the BTF of a module, based on the BTF in the file base. It writes the new BTF to the
// file btf, and a copy of the module with the new BTF to the file out. Any goroutine may call
// embed.
func (k kernel) embed(t *testing.T, file, base, btf, out string) {
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	linked, unsigned, resolved := out+".btf", out+".unsigned", out+".resolved"
	defer os.Remove(linked)
	defer os.Remove(unsigned)
	defer os.Remove(resolved)
	hasIDs, err := cutSignature(k.shipped(file), unsigned)
	if err != nil {
		t.Error(err)
		return
	}
	if !hasIDs {
		linked, resolved = btf, unsigned
	}
	_ = attempt(t, btfgen, "elf", "-q", "--base="+base, "-o", linked, k.debug(file)) &&
		(!hasIDs || attempt(t, btfdedup, "resolve-ids", "-q", "--fatal-warnings",
			"--btf="+linked, "--base="+base, "--old-base="+k.vmlinuxBTF(), "--btf-out="+btf,
			"-o", resolved, unsigned)) &&
		attempt(t, btfdedup, "embed", "--btf="+btf, "-o", out, resolved)
}

// cutSignature copies a module without the signature at its end. The signature isn't valid once the
// module has different BTF, so the kernel would refuse the module. A signature has three parts: its
// content; 12 bytes, of which the last 4 are the content's size (big-endian); and the marker.
func cutSignature(in, out string) (hasIDs bool, err error) {
	const marker, info = "~Module signature appended~\n", 12
	b, err := os.ReadFile(in)
	if err != nil {
		return false, err
	}
	rest, signed := bytes.CutSuffix(b, []byte(marker))
	if !signed || len(rest) < info {
		return false, fmt.Errorf("%s: no signature", in)
	}
	size := int(binary.BigEndian.Uint32(rest[len(rest)-4:]))
	if size > len(rest)-info {
		return false, fmt.Errorf("%s: invalid signature size %d", in, size)
	}
	b = rest[:len(rest)-info-size]
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return false, fmt.Errorf("%s: %w", in, err)
	}
	return f.Section(".BTF_ids") != nil, os.WriteFile(out, b, 0o666)
}

// attempt runs a command and reports whether it succeeded. Any goroutine may call attempt.
func attempt(t *testing.T, argv ...string) bool {
	r, err := harness.Command{Argv: argv}.Run()
	if err != nil || r.Exit != 0 {
		t.Errorf("%s: exit %d, %v\n%s", strings.Join(argv, " "), r.Exit, err, r.Stderr)
		return false
	}
	return true
}

// writePlan writes the guest's plan. The guest loads all modules in order, and each control just
// before the good module of the same name. Then it runs the BPF programs.
func (k kernel) writePlan(t *testing.T, image string, controls map[string]control) {
	t.Helper()
	plan := report.Plan{
		Report:   machine.X86("").Report,
		Checks:   slices.Sorted(maps.Keys(programs)),
		Programs: programsDir,
	}
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
