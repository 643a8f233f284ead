package matrix

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/e2e/internal/verdict"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A program is a BPF program. Its source is bpf/NAME.bpf.c, and the guest runs it in the check NAME
// (e2e/boot/guest/programs.go).
type program struct {
	name   string
	module string // the module whose header the program includes; "" for vmlinux.h
	kfunc  string // a kfunc that the program needs but older kernels lack; "" for none
}

var programs = []program{
	{name: "read"},
	{name: "task", kfunc: "bpf_task_from_pid"},
	{name: "matrix", module: "matrix"},
}

// programs returns the programs that the kernel can run.
func (k kernel) programs(t *testing.T) (list []program) {
	t.Helper()
	spec := must.Get(content.Open(k.vmlinux(), nil))(t)
	for _, p := range programs {
		if p.kfunc != "" {
			if _, err := spec.AnyTypeByName(p.kfunc); err != nil {
				t.Logf("%s is left out: %v", p.name, err)
				continue
			}
		}
		list = append(list, p)
	}
	return list
}

// checkBoot boots the kernel, loads its modules and runs the programs.
func (k kernel) checkBoot(t *testing.T) {
	harness.Need(t, "clang", "bpftool")
	if !bytes.Contains(k.config(t), []byte("CONFIG_BLK_DEV_INITRD=y")) {
		t.Skip("SKIPPED: this kernel is not configured to boot")
	}
	m := k.machine(t)
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	plan := wire.Plan{Report: m.Report, Programs: "/bpf"}
	wrong := k.wrongModules(t, image)
	for _, name := range k.modules {
		plan.Modules = append(plan.Modules, wrong.Of(kernelName(name))...)
		file := filepath.Join("/modules", name+".ko")
		harness.WriteFile(t, filepath.Join(image, file), string(harness.ReadFile(t, k.module(name))))
		plan.Modules = append(plan.Modules, wire.Load{Name: kernelName(name), File: file})
	}
	for _, p := range k.programs(t) {
		k.compile(t, p, dir, filepath.Join(image, plan.Programs))
		plan.Checks = append(plan.Checks, p.name)
	}
	b := must.Get(json.Marshal(plan))(t)
	harness.WriteFile(t, filepath.Join(image, wire.PlanFile), string(b))
	lines := m.Boot(t, dir, image)
	t.Run("verify", func(t *testing.T) { wrong.Check(t, lines) })
	lines = slices.DeleteFunc(lines, verdict.Is)
	for _, line := range lines {
		k.checkLine(t, line)
	}
	if want := len(k.modules); len(result.loaded) != want {
		t.Errorf("loaded %v, want %v", result.loaded, k.modules)
	}
	if len(result.ran) != len(plan.Checks) {
		t.Errorf("ran %v, want %v", result.ran, plan.Checks)
	}
	slices.Sort(result.ran)
}

// wrongModules makes modules that are wrong in many ways.
func (k kernel) wrongModules(t *testing.T, image string) *verdict.Cases {
	t.Helper()
	var from []verdict.Module
	for _, name := range k.modules {
		from = append(from, verdict.Module{Name: kernelName(name), File: k.module(name)})
	}
	types := harness.Section(t, k.vmlinux(), ".BTF")
	return verdict.Make(t, k.machine(t).Kernel, types, from, 60, image)
}

// machine returns a machine that boots the kernel.
func (k kernel) machine(t *testing.T) machine.Machine {
	t.Helper()
	qemu := os.Getenv("MATRIX_QEMU")
	switch k.arch {
	case "x86_64":
		m := machine.X86(qemu)
		m.Kernel = k.out("bzImage")
		return m
	case "arm64":
		m := machine.Arm64(qemu)
		m.Kernel = k.out("Image")
		return m
	}
	t.Fatalf("no machine for %q", k.arch)
	return machine.Machine{}
}

// compile compiles a BPF program, with a header that bpftool makes from the BTF of p.module or, if
// that is "", of vmlinux.
func (k kernel) compile(t *testing.T, p program, dir, out string) {
	t.Helper()
	header, argv := "vmlinux", []string{"bpftool"}
	file := k.vmlinux()
	if p.module != "" {
		header, file = p.module, k.module(p.module)
		argv = append(argv, "--base-btf", k.vmlinux())
	}
	harness.WriteFile(t, filepath.Join(dir, p.name, header+".h"), harness.MustRun(t, "",
		append(argv, "btf", "dump", "file", file, "format", "c")...))
	must.OK(t, os.MkdirAll(out, 0o777))
	target := map[string]string{"x86_64": "x86", "arm64": "arm64"}[k.arch]
	harness.MustRun(t, "", "clang", "--target=bpf", "-mcpu=v3", "-D__TARGET_ARCH_"+target,
		"-O2", "-g", "-Wall", "-Werror", "-fms-extensions", "-Wno-microsoft-anon-tag",
		"-Wno-missing-declarations", "-I", filepath.Join(dir, p.name),
		"-o", filepath.Join(out, p.name+".bpf.o"), "-c", filepath.Join("bpf", p.name+".bpf.c"))
}

func (k kernel) checkLine(t *testing.T, line wire.Line) {
	var log []string
	switch {
	case line.Start != nil:
		t.Logf("Linux %s", line.Start.Release)
		result.release = line.Start.Release
		if line.Start.BTF != wire.Digest(harness.Section(t, k.vmlinux(), ".BTF")) {
			t.Error("/sys/kernel/btf/vmlinux is not the .BTF of vmlinux")
		}
	case line.Module != nil:
		k.checkModule(t, line.Module)
		log = line.Module.Log
	case line.Check != nil:
		t.Logf("%s: %s", line.Check.Name, strings.Join(line.Check.Values, " "))
		if line.Check.Error != "" {
			t.Errorf("%s: %s", line.Check.Name, line.Check.Error)
		} else {
			result.ran = append(result.ran, line.Check.Name)
		}
		log = line.Check.Log
	case line.End != nil:
		log = line.End.Log
	}
	for _, text := range machine.Complaints(log) {
		t.Errorf("the kernel complained: %s", text)
	}
}

// checkModule checks that the module was loaded, and that the kernel shows the module's BTF. If
// this BTF is based on a distilled base, the kernel must show it as relocated to the kernel's BTF.
func (k kernel) checkModule(t *testing.T, m *wire.Module) {
	if m.Error != "" {
		t.Errorf("%s: %s; the kernel's log:\n%s", m.Name, m.Error, strings.Join(m.Log, "\n"))
		return
	}
	result.loaded = append(result.loaded, m.Name)
	path := k.out(filepath.Base(m.File))
	want := harness.Section(t, path, ".BTF")
	if harness.Section(t, path, ".BTF.base") != nil {
		relocated := filepath.Join(t.TempDir(), "relocated.btf")
		harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "relocate", "--base="+k.vmlinux(), "-o",
			relocated, path)
		want = harness.ReadFile(t, relocated)
	}
	if m.BTF != wire.Digest(want) {
		t.Errorf("/sys/kernel/btf/%s differs from the module's BTF", m.Name)
	}
}

// kernelName returns the name that a module has in the kernel.
func kernelName(file string) string { return strings.ReplaceAll(file, "-", "_") }
