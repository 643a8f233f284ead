package boot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/verdict"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// A control is a module that the kernel must refuse.
type control struct {
	file string // below the guest's root
	// wantError is the error that the system call must return. wantLog is a part of a line that the
	// kernel must log; "" if the kernel needn't log anything.
	wantError, wantLog string
}

const controlDir = "/control/"

// controls makes the modules that the kernel must refuse. The keys of the result are the modules'
// names in the kernel.
func (k kernel) controls(t *testing.T, dir, image string) map[string]control {
	t.Helper()
	return map[string]control{
		"xfs":          k.wrongBase(t, dir, image, "xfs"),
		"nf_conntrack": k.staleIDs(t, dir, image, "nf_conntrack"),
	}
}

// wrongBase makes a module whose BTF has the wrong base. That base isn't the kernel's BTF, but the
// result of "btfdedup link" on the kernel's BTF, which has fewer types and different ids.
func (k kernel) wrongBase(t *testing.T, dir, image, name string) control {
	t.Helper()
	base := filepath.Join(dir, "wrong-base")
	out := controlDir + "wrong-base"
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "link", "-q", "-o", base, k.vmlinuxBTF())
	k.embed(t, base, filepath.Join(dir, "on-wrong-base"), filepath.Join(image, out), k.debug(name))
	return control{
		file:      filepath.Join(out, name+".ko"),
		wantError: "invalid argument",
		wantLog:   "failed to validate module [" + name + "] BTF: -22",
	}
}

// staleIDs makes a module with our BTF and the original .BTF_ids. The ids there refer to the
// module's original BTF, not to ours.
func (k kernel) staleIDs(t *testing.T, dir, image, name string) control {
	t.Helper()
	file := controlDir + "stale-ids/" + name + ".ko"
	must.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(image, file)), 0o777))
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "embed", "--drop-signature",
		"--btf="+k.btfOf(dir, name), "-o", filepath.Join(image, file), k.shipped(name))
	return control{file: file, wantError: "invalid argument"}
}

// check checks that the kernel refused the module, and that it did so for the expected reason.
func (c control) check(t *testing.T, m *wire.Module) {
	t.Logf("%s; the kernel's log:\n%s", m.Error, strings.Join(m.Log, "\n"))
	if m.Error != c.wantError {
		t.Errorf("loading the module returned %q, want %q", m.Error, c.wantError)
	}
	if m.BTF != "" {
		t.Errorf("the module was refused, but the kernel shows its BTF")
	}
	has := func(line string) bool { return strings.Contains(line, c.wantLog) }
	if c.wantLog != "" && !slices.ContainsFunc(m.Log, has) {
		t.Errorf("the kernel's log doesn't contain %q", c.wantLog)
	}
}

// wrongModules makes modules that are wrong in many ways.
func (k kernel) wrongModules(t *testing.T, image string) *verdict.Cases {
	t.Helper()
	var from []verdict.Module
	for _, file := range k.order {
		from = append(from, verdict.Module{Name: kernelName(file), File: k.shipped(file)})
	}
	return verdict.Make(t, filepath.Join(k.dir, "vmlinuz"), harness.ReadFile(t, k.vmlinuxBTF()), from,
		100, image)
}
