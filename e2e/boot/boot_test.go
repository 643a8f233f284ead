// Package boot starts one of Debian's kernels in a virtual machine, loads modules that contain our
// BTF, and runs BPF programs that trace and call functions of these modules. The kernel itself
// checks the BTF.
package boot

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/e2e/internal/verdict"
)

func TestMain(m *testing.M) { harness.Main(m) }

// programs maps each BPF program in testdata (and in guest/programs.go) to the module whose header
// the program includes.
var programs = map[string]string{
	"sctp":       "sctp",
	"conntrack":  "nf_conntrack",
	"xfrm":       "xfrm_interface",
	"fou":        "fou",
	"flowtable":  "nf_flow_table",
	"congestion": "tcp_dctcp",
}

// TestBoot loads each module with our BTF. A control, which the kernel must refuse, is loaded just
// before the good module of the same name.
func TestBoot(t *testing.T) {
	k := fetched(t)
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	k.embedAll(t, dir, image)
	k.embedDistilled(t, dir, image)
	controls := k.controls(t, dir, image)
	wrong := k.wrongModules(t, image)
	k.compilePrograms(t, dir, image)
	k.writePlan(t, image, controls, wrong)
	lines := k.boot(t, dir, image)

	t.Run("kernel", func(t *testing.T) { k.checkEnds(t, lines) })
	t.Run("verify", func(t *testing.T) { wrong.Check(t, lines) })
	lines = slices.DeleteFunc(lines, verdict.Is)
	for _, l := range lines {
		switch {
		case l.Module != nil && strings.HasPrefix(l.Module.File, controlDir):
			name := strings.TrimPrefix(l.Module.File, controlDir)
			t.Run(name, func(t *testing.T) { controls[l.Module.Name].check(t, l.Module) })
		case l.Module != nil:
			t.Run(l.Module.Name, func(t *testing.T) { k.checkModule(t, dir, l.Module) })
		case l.Check != nil:
			t.Run("bpf-"+l.Check.Name, func(t *testing.T) { checkProgram(t, l.Check) })
		}
	}
	t.Run("all", func(t *testing.T) { k.checkAll(t, lines, controls) })
}

// checkEnds checks that the booted kernel is the one on whose BTF our BTF is based, and that the
// guest finished.
func (k kernel) checkEnds(t *testing.T, lines []wire.Line) {
	first, last := lines[0].Start, lines[len(lines)-1].End
	if first == nil || last == nil {
		t.Fatal("the report lacks its first or its last line")
	}
	t.Logf("Linux %s", first.Release)
	if want := wire.Digest(harness.ReadFile(t, k.vmlinuxBTF())); first.BTF != want {
		t.Errorf("/sys/kernel/btf/vmlinux is not the .BTF that we took from vmlinux")
	}
	for _, line := range machine.Complaints(last.Log) {
		t.Errorf("the kernel complained before the first module: %s", line)
	}
}

// checkModule checks that the kernel loaded a module, and that it has our BTF of this module.
func (k kernel) checkModule(t *testing.T, dir string, m *wire.Module) {
	if m.Error != "" {
		t.Errorf("not loaded: %s", m.Error)
	}
	switch want := wire.Digest(harness.ReadFile(t, k.btfOf(dir, m.Name))); m.BTF {
	case want:
	case "":
		t.Errorf("/sys/kernel/btf/%s is missing", m.Name)
	default:
		t.Errorf("/sys/kernel/btf/%s is not our BTF", m.Name)
	}
	for _, line := range machine.Complaints(m.Log) {
		t.Errorf("the kernel complained: %s", line)
	}
	if t.Failed() {
		t.Logf("the kernel's log:\n%s", strings.Join(m.Log, "\n"))
	}
}

func checkProgram(t *testing.T, c *wire.Check) {
	t.Log(strings.Join(c.Values, " "))
	if c.Error != "" {
		t.Error(c.Error)
	}
	for _, line := range machine.Complaints(c.Log) {
		t.Errorf("the kernel complained: %s", line)
	}
}

// checkAll checks that the guest reported a result for everything in its plan.
func (k kernel) checkAll(t *testing.T, lines []wire.Line, controls map[string]control) {
	var modules, refused, run []string
	for _, l := range lines {
		switch {
		case l.Module != nil && l.Module.Error == "":
			modules = append(modules, l.Module.Name)
		case l.Module != nil:
			refused = append(refused, l.Module.Name)
		case l.Check != nil:
			run = append(run, l.Check.Name)
		}
	}
	t.Logf("%d modules loaded, %d controls refused, %d programs run",
		len(modules), len(refused), len(run))
	if !slices.Equal(modules, k.names()) {
		t.Errorf("loaded: %v\nwant: %v", modules, k.names())
	}
	if len(modules) < 40 {
		t.Errorf("only %d modules: modules.txt names more", len(modules))
	}
	if len(refused) != len(controls) {
		t.Errorf("%d controls of %d were refused", len(refused), len(controls))
	}
	if len(run) != len(programs) {
		t.Errorf("%d programs of %d were run", len(run), len(programs))
	}
}
