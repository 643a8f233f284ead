package bpf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// verdict is what "btfcore check" says about a program, without the reasons. With minimal BTF, the
// reasons may differ: minimal BTF lacks types in which the program's relocations find nothing.
type verdict struct{ Program, Verdict string }

// verdicts runs "btfcore check" and returns the verdicts on all programs.
func verdicts(t *testing.T, btfcore, needs, kernel string) []verdict {
	t.Helper()
	r, err := harness.Command{Argv: []string{btfcore, "check", "--format=json", "--needs", needs,
		kernel}}.Run()
	if err != nil || r.Exit > 1 {
		t.Fatalf("%s on %s: exit %d, %v\n%s", needs, kernel, r.Exit, err, r.Stderr)
	}
	var table struct{ Rows []verdict }
	if err := json.Unmarshal([]byte(r.Stdout), &table); err != nil {
		t.Fatalf("%s on %s: %v\n%s%s", needs, kernel, err, r.Stdout, r.Stderr)
	}
	return table.Rows
}

// TestVerdictsOnMinimalBTF checks what btf_core_test relies on: a program loads with minimal BTF if
// and only if it loads with the whole BTF. The programs and one kernel are from the tests of
// cilium/ebpf; the other kernel is the running one.
func TestVerdictsOnMinimalBTF(t *testing.T) {
	dir := t.TempDir()
	btfcore := harness.Tool(t, "btfcore")
	cilium := strings.TrimSpace(harness.MustRun(t, harness.Repo(), "go", "list", "-m", "-f",
		"{{.Dir}}", "github.com/cilium/ebpf"))
	kernels := []string{filepath.Join(cilium, "btf/testdata/vmlinux.btf.gz")}
	if running := "/sys/kernel/btf/vmlinux"; isFile(running) {
		kernels = append(kernels, running)
	}
	var programs []string
	for _, pattern := range []string{"testdata/*-el.elf", "btf/testdata/*-el.elf"} {
		found := must.Get(filepath.Glob(filepath.Join(cilium, pattern)))(t)
		programs = append(programs, found...)
	}
	counts := map[string]int{}
	for i, program := range programs {
		needs := filepath.Join(dir, "program.needs")
		r := must.Get(harness.Command{Argv: []string{btfcore, "needs", "-o", needs, program}}.Run())(t)
		if r.Exit != 0 {
			counts["refused"]++ // the file has no BTF or no programs, or libbpf refuses it too
			continue
		}
		for j, kernel := range kernels {
			min := filepath.Join(dir, "min.btf")
			harness.MustRun(t, dir, btfcore, "min", "-q", "--needs", needs, "-o", min, kernel)
			want := verdicts(t, btfcore, needs, kernel)
			if got := verdicts(t, btfcore, needs, min); !reflect.DeepEqual(got, want) {
				t.Errorf("%s on %s: verdicts %v, but with minimal BTF %v", programs[i], kernels[j], want, got)
			}
			for _, v := range want {
				counts[v.Verdict]++
			}
		}
	}
	t.Logf("%d object files, %d kernels: %v", len(programs), len(kernels), counts)
	if counts["loads"] < 50 || counts["fails"] < 5 || counts["refused"] > 12 {
		t.Errorf("too few verdicts were compared: %v", counts)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
