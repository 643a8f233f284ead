package boot

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// The seeds of the samples, and the number of programs in each. For each program, libbpf reads all
// of the kernel's BTF.
const (
	samples    = 2
	sampleSize = 25
)

// A sample is an object file with random programs, and our verdicts on them.
type sample struct {
	seed    uint64
	object  []byte
	sources map[string]string
	results []check.Result
	// several has the programs with relocations about a name that several of the kernel's types have.
	// For them, the order of relocations matters to libbpf.
	several map[string]bool
}

// newSamples returns random programs for the kernel, or nothing for kernels without kfuncs.
func (k kernel) newSamples(t *testing.T) []sample {
	t.Helper()
	var list []sample
	for seed := uint64(1); seed <= samples && k.has("kfunc"); seed++ {
		whole := bpftest.Parse(t, k.vmlinuxBTF)
		random := bpftest.NewRandom(seed, whole)
		random.Guards = true
		s := sample{seed: seed, several: map[string]bool{}}
		s.object, s.sources = random.Compile(t, sampleSize)
		wanted := must.Get(needs.Extract(must.Get(bpfobj.Read(s.object))(t)))(t)
		index := whole.Index(needs.Names(wanted))
		s.results = must.Get(check.Kernel(index, wanted))(t)
		for _, p := range wanted.Programs {
			for _, r := range p.Relocations {
				local := must.Get(core.Parse(wanted.Local, r))(t)
				s.several[p.Name] = s.several[p.Name] || len(index.Candidates(local)) > 1
			}
		}
		list = append(list, s)
	}
	return list
}

// command puts the object file into the guest's file system, and returns the command that loads its
// programs with libbpf.
func (s sample) command(t *testing.T, image string) wire.Command {
	t.Helper()
	file := fmt.Sprintf("/random%d.bpf.o", s.seed)
	harness.WriteFile(t, filepath.Join(image, file), string(s.object))
	return wire.Command{Argv: []string{"/load-libbpf", file}}
}

// compareVerdicts compares our verdicts with what the kernel did.
func compareVerdicts(t *testing.T, list []sample, outputs []wire.Ran) {
	t.Helper()
	if len(outputs) != len(list) {
		t.Fatal("the guest didn't run all commands")
	}
	counts := map[string]int{}
	for i, s := range list {
		s.compare(t, outputs[i], counts)
	}
	t.Logf("verdicts: %v", counts)
	for _, v := range []check.Verdict{check.Loads, check.Partly, check.Fails} {
		if counts[v.String()] == 0 && list != nil {
			t.Errorf("no program has the verdict %v", v)
		}
	}
}

func (s sample) compare(t *testing.T, ran wire.Ran, counts map[string]int) {
	t.Helper()
	said := map[string]string{}
	for line := range strings.Lines(ran.Output) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[name] = result
	}
	for _, r := range s.results {
		source, result := s.sources[r.Program], said[r.Program]
		verdict := r.Verdict.String()
		switch {
		case source == "" || s.several[r.Program]: // a function that isn't a program
			verdict = "skipped"
		case r.Verdict == check.Partly && slices.ContainsFunc(r.Reasons, forSomeSettings):
			verdict = "settings decide"
		case result == "" || strings.HasPrefix(result, "!") != (r.Verdict == check.Fails):
			t.Errorf("seed %d, %s: our verdict is %v %v, the kernel says %q\n%s", s.seed, r.Program,
				r.Verdict, r.Reasons, result, source)
		}
		counts[verdict]++
	}
}

// forSomeSettings reports whether settings decide if the program loads.
func forSomeSettings(r check.Reason) bool {
	return strings.Contains(r.Why, "used only for some settings")
}
