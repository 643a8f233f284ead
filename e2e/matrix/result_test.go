package matrix

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/measure"
	"github.com/rules-btf/rules_btf/e2e/matrix/record"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// result collects what the tests find out about the kernel, for the tables.
var result struct {
	compiler string // the compiler's version, from the kernel's configuration
	release  string // the kernel's release, as uname -r prints it
	// How many names of types, functions and variables have the same definitions in our BTF and in
	// pahole's, and how many have definitions that differ for a known reason. The counts in modules
	// are sums over all modules.
	vmlinux, modules struct{ equal, explained int }
	ids              int      // how many entries of .BTF_ids were checked
	loaded           []string // the modules that were loaded
	ran              []string // the BPF programs that ran
	rebuilt          []string // the ways in which the BTF was made again
}

// writeResult writes this kernel's rows for the tables that e2e/matrix/run prints.
func (k kernel) writeResult(t *testing.T, cell string) {
	t.Helper()
	r := &result
	if r.release != "" {
		cell = r.release + ", " + cell
	}
	if r.rebuilt == nil {
		r.rebuilt = []string{"–"}
	}
	harness.WriteFile(t, filepath.Join(k.dir, "result"), fmt.Sprintf(
		"| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s |\n", cell, r.compiler, r.vmlinux.equal,
		r.vmlinux.explained, r.modules.equal, r.modules.explained, r.ids, len(r.loaded), len(r.ran),
		strings.Join(r.rebuilt, "; ")))

	list := must.Get(record.ReadCalls(k.calls("")))(t)
	used := func(run func(record.Call) measure.Run, modules bool) string {
		var cpu time.Duration
		var peak int64
		for _, c := range list {
			if isModule(c) == modules {
				cpu, peak = cpu+run(c).CPU, max(peak, run(c).Peak)
			}
		}
		return fmt.Sprintf("%.2f s, %d MB", cpu.Seconds(), peak/1e6)
	}
	pahole := func(c record.Call) measure.Run { return c.Pahole }
	ours := func(c record.Call) measure.Run { return c.Ours }
	harness.WriteFile(t, filepath.Join(k.dir, "used"), fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
		cell, used(pahole, false), used(ours, false), used(pahole, true), used(ours, true)))
}
