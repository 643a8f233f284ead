// Package boot loads BPF programs with minimal BTF in a virtual machine, once with libbpf and once
// with cilium/ebpf, while /sys/kernel/btf is empty. The kernel must get the same instructions as if
// the libraries had read the kernel's own BTF.
package boot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/e2e/internal/verdict"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// loaders are the libraries. For each library, the guest has a program that loads BPF programs.
var loaders = []string{"libbpf", "ebpf"}

// TestBoot boots the kernels in the environment variable BOOT_KERNELS, a list of NAME=DIR that the
// script run makes.
func TestBoot(t *testing.T) {
	list := strings.Fields(os.Getenv("BOOT_KERNELS"))
	if len(list) == 0 {
		t.Skip("SKIPPED: no kernels to boot; run e2e/bpf/boot/run")
	}
	harness.Need(t, "clang", "ld.lld", "cpio")
	for _, text := range list {
		name, dir, _ := strings.Cut(text, "=")
		t.Run(name, func(t *testing.T) { newKernel(t, name, dir).check(t) })
	}
}

// check boots the kernel, and compares the instructions that the libraries loaded in each run with
// those from the first run.
func (k kernel) check(t *testing.T) {
	image := filepath.Join(k.work, "image")
	k.buildLoaders(t, image)
	k.writeBTF(t, image)
	wrong := k.wrongModules(t, image)
	random := k.newSamples(t)
	k.writePlan(t, image, wrong, random)
	lines := k.machine.Boot(t, k.work, image)
	start := lines[0].Start
	if start == nil {
		t.Fatal("the report has no first line")
	}
	t.Logf("Linux %s", start.Release)
	if start.BTF != wire.Digest(k.vmlinuxBTF) {
		t.Error("/sys/kernel/btf/vmlinux is not the BTF in vmlinuz")
	}
	if wrong != nil {
		t.Run("verify", func(t *testing.T) { wrong.Check(t, lines) })
		lines = slices.DeleteFunc(lines, verdict.Is)
	}
	var outputs []wire.Ran
	for _, l := range lines {
		switch {
		case l.Module != nil && l.Module.Error != "":
			t.Fatalf("%s: %s", l.Module.File, l.Module.Error)
		case l.Ran != nil:
			outputs = append(outputs, *l.Ran)
			for _, line := range machine.Complaints(l.Ran.Log) {
				t.Errorf("the kernel complained: %s", line)
			}
		}
	}
	var first results
	for i, r := range runs {
		all := results{}
		for _, loader := range loaders {
			for _, o := range k.objects(r) {
				if len(outputs) == 0 {
					t.Fatal("the guest didn't run all commands")
				}
				k.collect(t, all, loader, o, outputs[0])
				outputs = outputs[1:]
			}
		}
		if i == 0 {
			first = all
		}
		t.Run(r.name, func(t *testing.T) { k.compare(t, r, all, first) })
	}
	t.Run("verdicts", func(t *testing.T) { compareVerdicts(t, random, outputs) })
}

// wrongModules makes modules that are wrong in many ways, or returns nil if modules have no BTF.
func (k kernel) wrongModules(t *testing.T, image string) *verdict.Cases {
	t.Helper()
	if k.modules == nil {
		return nil
	}
	var from []verdict.Module
	for _, name := range k.modules {
		from = append(from, verdict.Module{Name: kernelName(name), File: k.module(name)})
	}
	return verdict.Make(t, k.machine.Kernel, k.vmlinuxBTF, from, 40, image)
}

// writePlan writes the guest's plan: the guest loads the modules, each one after the wrong modules
// of the same name; then, in each run, starts each loader on each object; and then loads the random
// programs.
func (k kernel) writePlan(t *testing.T, image string, wrong *verdict.Cases, random []sample) {
	t.Helper()
	plan := wire.Plan{Report: k.machine.Report}
	for _, name := range k.modules {
		file := "/modules/" + name + ".ko"
		harness.WriteFile(t, filepath.Join(image, file), string(harness.ReadFile(t, k.module(name))))
		plan.Modules = append(plan.Modules, wrong.Of(kernelName(name))...)
		plan.Modules = append(plan.Modules, wire.Load{Name: kernelName(name), File: file})
	}
	for name, object := range k.compiled {
		harness.WriteFile(t, filepath.Join(image, name+".bpf.o"), string(object))
	}
	for _, r := range runs {
		for _, loader := range loaders {
			for _, o := range k.objects(r) {
				argv := []string{"/load-" + loader, "/" + o + ".bpf.o"}
				if r.btf != "" {
					argv = append(argv, r.btf)
				}
				plan.Commands = append(plan.Commands,
					wire.Command{Argv: argv, HideBTF: r.hidden, Vmlinux: r.vmlinux})
			}
		}
	}
	for _, s := range random {
		plan.Commands = append(plan.Commands, s.command(t, image))
	}
	b := must.Get(json.Marshal(plan))(t)
	harness.WriteFile(t, filepath.Join(image, wire.PlanFile), string(b))
}

// kernelName returns the name that a module has in the kernel.
func kernelName(file string) string { return strings.ReplaceAll(file, "-", "_") }

// results maps "LOADER PROGRAM" to the program's instructions in hexadecimal, or to "!" and the
// reason why the program can't be loaded.
type results map[string]string

// collect adds the results in a loader's output to the map to.
func (k kernel) collect(t *testing.T, to results, loader, object string, ran wire.Ran) {
	t.Helper()
	if ran.Error != "" {
		t.Fatalf("the loader %s of %s: %s\n%s", loader, object, ran.Error, ran.Output)
	}
	var names []string
	for line := range strings.Lines(ran.Output) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		names = append(names, name)
		to[loader+" "+name] = result
	}
	slices.Sort(names)
	if want := k.programs(t, object); !slices.Equal(names, want) {
		t.Fatalf("the loader %s of %s: programs %v, want %v\n%s", loader, object, names, want,
			ran.Output)
	}
}

// compare compares the results of a run with those of the first run, and with the expected results.
func (k kernel) compare(t *testing.T, r run, all, first results) {
	loaded, refused := 0, 0
	for _, loader := range loaders {
		for _, o := range k.objects(r) {
			for _, program := range k.programs(t, o) {
				key, want := loader+" "+program, r.wanted(loader, o, program)
				got, original := all[key], first[key]
				if program == "type_id_target" {
					got = k.withoutID(t, got, r.btf)
					original = k.withoutID(t, original, "")
				}
				reason, expected := strings.CutPrefix(want, "! ")
				switch {
				case strings.HasPrefix(got, "! ") && expected && strings.Contains(got, reason):
					refused++
				case !expected && (got == original) == (want == equal) && !strings.HasPrefix(got, "! "):
					loaded++
				default:
					t.Errorf("%s: %s\nin the first run: %s\nwant: %s", key, got, original, want)
				}
			}
		}
	}
	t.Logf("%d programs loaded, %d refused as expected", loaded, refused)
}

// withoutID returns the instructions of the program type_id_target without the id that they
// contain. It first checks that this id is that of task_struct in the BTF file that the library
// read.
func (k kernel) withoutID(t *testing.T, insns, file string) string {
	t.Helper()
	id, rest := cutImmediate(t, insns)
	spec := k.specs[file]
	typ, err := spec.TypeByID(btf.TypeID(id))
	if s, ok := typ.(*btf.Struct); err != nil || !ok || s.Name != "task_struct" {
		t.Errorf("type %d of %q is %v, want struct task_struct (%v)", id, file, typ, err)
	}
	return rest
}

// newMachine returns a machine that boots the kernel. Both architectures are little-endian, like
// the compiled BPF programs.
func (k kernel) newMachine() machine.Machine {
	m := machine.X86(os.Getenv("BOOT_QEMU"))
	if k.arch == "arm64" {
		m = machine.Arm64(os.Getenv("BOOT_QEMU_ARM64"))
	}
	m.Kernel = filepath.Join(k.dir, "vmlinuz")
	return m
}
