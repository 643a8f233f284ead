package check_test

import (
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// randomKernel has the types of a small kernel.
const randomKernel = `
enum state { IDLE, BUSY = 7, GONE = -1 };
union value { int number; long wide; char bytes[12]; };
struct list { struct list *next, *prev; };
struct sock { int protocol; unsigned family : 4, state : 4; struct { long a, b; }; union value v; };
struct task { char comm[16]; struct list tasks; enum state state; struct sock *socks[3]; };
typedef struct task task_t;
struct empty { };
struct cgroup { int any; };
void bpf_cgroup_release(struct cgroup *c) { }
struct task task; struct sock sock; enum state state; task_t other; struct empty empty;`

// wordOf has, by verdict, what the loader says. For a program that fails, libbpf's log need not say
// that something is missing.
var wordOf = map[check.Verdict]string{check.Loads: "loaded", check.Partly: "loaded missing",
	check.Fails: "refused"}

// TestRandomVerdicts compares our verdicts on random programs with what happens when libbpf
// resolves their relocations with the BTF of a kernel, and loads them. The verifier of the running
// kernel decides; the programs do nothing that versions of the verifier treat differently.
// Environment variables control the test as in TestRandom of package core: RANDOM_PROGRAMS,
// RANDOM_SEED and KERNEL_BTF.
func TestRandomVerdicts(t *testing.T) {
	loader := bpftest.NewLoader(t)
	kernels := map[string][]byte{"small": bpftest.Kernel(t, randomKernel)}
	if os.Getenv("KERNEL_BTF") != "" {
		maps.Copy(kernels, bpftest.Real(t))
	}
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		t.Run(name, func(t *testing.T) {
			seed, counts := bpftest.Number(t, "RANDOM_SEED", 1), map[string]int{}
			for left := bpftest.Number(t, "RANDOM_PROGRAMS", 100); left > 0; left -= 100 {
				compareVerdicts(t, loader, counts, uint64(seed), min(left, 100), kernels[name])
				seed++
			}
			t.Logf("verdicts: %v", counts)
			for _, word := range wordOf {
				if counts[word] == 0 {
					t.Errorf("no random program has the verdict %q", word)
				}
			}
		})
	}
}

func compareVerdicts(t *testing.T, loader *bpftest.Loader, counts map[string]int, seed uint64,
	n int, vmlinux []byte) {
	t.Helper()
	k := bpftest.Parse(t, vmlinux)
	if k.Vmlinux.Order != binary.LittleEndian {
		t.Skip("SKIPPED: the running kernel loads only little-endian programs")
	}
	random := bpftest.NewRandom(seed, k)
	random.Guards = true
	object, sources := random.Compile(t, n)
	o := must.Get(bpfobj.Read(object))(t)
	wanted := must.Get(needs.Extract(o))(t)
	indexed := k.Index(needs.Names(wanted))
	results := must.Get(check.Kernel(indexed, wanted))(t)
	var names []string
	for _, r := range results {
		names = append(names, r.Program)
	}
	loaded := loader.LoadEach(t, object, vmlinux, names)
	for i, r := range results {
		if ambiguous(t, indexed, wanted, i) || sources[r.Program] == "" { // or a function that isn't called
			counts["skipped"]++
			continue
		}
		word := wordOf[r.Verdict]
		counts[word]++
		said := loaded[r.Program]
		switch {
		case r.Verdict == check.Fails:
			said = strings.TrimSuffix(said, " missing")
		case r.Verdict == check.Partly && dependsOnSettings(r) && strings.HasPrefix(said, "refused"):
			counts["refused for its settings"]++
			continue
		case !slices.ContainsFunc(r.Reasons, aboutRelocation):
			word = "loaded"
		}
		if said != word {
			t.Errorf("seed %d, %s: our verdict is %v, libbpf says %s\n%v\n%s", seed, r.Program,
				r.Verdict, said, r.Reasons, sources[r.Program])
		}
	}
}

// aboutRelocation reports whether a reason is about a relocation. libbpf's log doesn't mention weak
// symbols that the kernel lacks.
func aboutRelocation(reason check.Reason) bool {
	word, _, _ := strings.Cut(reason.Wants, " ")
	return word != "kfunc" && word != "ksym"
}

// dependsOnSettings reports whether settings decide if the program loads.
func dependsOnSettings(r check.Result) bool {
	return slices.ContainsFunc(r.Reasons, func(reason check.Reason) bool {
		return strings.Contains(reason.Why, "used only for some settings")
	})
}

// ambiguous reports whether the kernel has several types with the name of one of the program's
// types. Then the order of relocations matters to libbpf (see TestOrder in package core).
func ambiguous(t *testing.T, k *core.Index, n *needs.Needs, program int) bool {
	t.Helper()
	for _, r := range n.Programs[program].Relocations {
		local := must.Get(core.Parse(n.Local, r))(t)
		if len(k.Candidates(local)) > 1 {
			return true
		}
	}
	return false
}
