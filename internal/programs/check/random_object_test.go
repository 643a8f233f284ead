package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestRandomObjects compares our verdicts on the programs of random object files with what happens
// when libbpf loads each of the programs, without the others, into the running kernel. The
// environment variables RANDOM_OBJECTS and RANDOM_SEED control the test.
func TestRandomObjects(t *testing.T) {
	loader := bpftest.NewLoader(t)
	vmlinux, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	k := bpftest.Parse(t, vmlinux)
	seed := uint64(bpftest.Number(t, "RANDOM_SEED", 1))
	counts := map[check.Verdict]int{}
	for range bpftest.Number(t, "RANDOM_OBJECTS", 8) {
		object, names, source := bpftest.RandomObject(t, seed)
		o, err := bpfobj.Read(object)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, source)
		}
		n, err := needs.Extract(o)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, source)
		}
		results, err := check.Kernel(k.Index(needs.Names(n)), n)
		must.OK(t, err)
		verdicts := map[string]check.Result{}
		for _, r := range results {
			verdicts[r.Program] = r
		}
		loaded := loader.LoadEach(t, object, vmlinux, names)
		for _, name := range names {
			r, ok := verdicts[name]
			counts[r.Verdict]++
			if !ok || strings.HasPrefix(loaded[name], "loaded") != (r.Verdict != check.Fails) {
				t.Errorf("seed %d, %s: our verdict is %v, libbpf says %s\n%v\n%s", seed, name, r.Verdict,
					loaded[name], r.Reasons, source)
			}
		}
		seed++
	}
	t.Logf("verdicts: %v", counts)
	for _, v := range []check.Verdict{check.Loads, check.Partly, check.Fails} {
		if counts[v] == 0 {
			t.Errorf("no program has the verdict %v", v)
		}
	}
}
