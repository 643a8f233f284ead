// Package kabi compares "btfdedup diff --symbols" with abidiff, on random edits of random headers
// and on kernels. Whatever is incompatible for one of them is incompatible for the other one too,
// unless rows_test.go explains it.
package kabi

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// pair is a family before and after edits.
type pair struct {
	seed          uint64
	edits         []string
	before, after *family
}

// makePair makes a family and edits it. It depends only on the seed. Then it leaves out the members
// with the given names.
func makePair(seed uint64, without map[string]bool) pair {
	how := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
	number := 1
	if how.chance(25) {
		number = 2 + how.IntN(2)
	}
	for {
		p := pair{seed: seed}
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 2))}
		p.before = m.family(fmt.Sprintf("s%d", seed))
		m = &maker{Rand: rand.New(rand.NewPCG(seed, 2))}
		p.after = m.family(p.before.prefix)
		m.Rand = how.Rand
		for range number {
			if e := pick(m, edits); e.do(m, p.after) {
				p.edits = append(p.edits, e.name)
			}
		}
		if len(p.edits) == number && p.before.source() != p.after.source() {
			p.before.drop(without)
			p.after.drop(without)
			return p
		}
	}
}

// judged is what both tools say of a pair.
type judged struct {
	pair
	ours, theirs finding
}

// judge compiles pairs and asks both tools. It leaves out a pair for which abidiff crashes.
func judge(t *testing.T, pairs []pair) (out []judged) {
	t.Helper()
	dir := t.TempDir()
	for side, name := range []string{"a", "b"} {
		src := bytes.NewBufferString("int other;\n") // so that no file is without symbols
		for _, p := range pairs {
			src.WriteString([]*family{p.before, p.after}[side].source())
		}
		harness.WriteFile(t, filepath.Join(dir, name+".c"), src.String())
		harness.MustRun(t, dir, "gcc", "-std=gnu17", "-w", "-g", "-fno-common", "-c", name+".c")
	}
	theirs := abidiff(t, dir, "a.o", "b.o")
	if theirs == nil && len(pairs) == 1 {
		return nil
	}
	if theirs == nil {
		half := len(pairs) / 2
		return append(judge(t, pairs[:half]), judge(t, pairs[half:])...)
	}
	our := ours(t, dir, pairs)
	for _, p := range pairs {
		name := p.before.prefix
		equal := &finding{verdict: same}
		out = append(out, judged{p, *cmp.Or(our[name], equal), *cmp.Or(theirs[name], equal)})
	}
	return out
}

// TestRandomEdits compares the verdicts of both tools about random edits. The environment variable
// PAIRS says how many; SEED is the first.
func TestRandomEdits(t *testing.T) {
	if os.Getenv("ABIDIFF") == "" {
		t.Skip("SKIPPED: set ABIDIFF to the program that e2e/fetch/fetch abidiff fetches")
	}
	harness.Need(t, "gcc")
	seed, left := uint64(number(t, "SEED", 0)), number(t, "PAIRS", 100)
	counts := map[string]int{"abidiff crashes": left}
	for ; left > 0; left -= batch {
		var pairs []pair
		for range min(batch, left) {
			pairs = append(pairs, makePair(seed, nil))
			seed++
		}
		for _, p := range judge(t, pairs) {
			counts["abidiff crashes"]--
			counts[fmt.Sprintf("abidiff: %s, btfdedup: %s", p.theirs.verdict, p.ours.verdict)]++
			if why := explain(p); why == "" {
				report(t, p)
			} else if why != agree {
				counts[why]++
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
}

const batch = 20 // how many families are compiled together

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	n := must.Get(strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise))))(t)
	return n
}

// report fails the test for a disagreement that no row explains. It leaves out members as long as
// the disagreement stays.
func report(t *testing.T, p judged) {
	t.Helper()
	without := map[string]bool{}
	deadline := time.Now().Add(20 * time.Second)
	for _, name := range p.before.memberNames() {
		if time.Now().After(deadline) {
			break
		}
		without[name] = true
		smaller := judge(t, []pair{makePair(p.seed, without)})
		if len(smaller) == 1 && smaller[0].ours.verdict == p.ours.verdict &&
			smaller[0].theirs.verdict == p.theirs.verdict && explain(smaller[0]) == "" {
			p = smaller[0]
		} else {
			delete(without, name)
		}
	}
	t.Errorf("abidiff: %v, btfdedup: %v\nafter %q\nagain: SEED=%d PAIRS=1\n/* before */\n%s"+
		"/* after */\n%s", p.theirs, p.ours, p.edits, p.seed, p.before.source(), p.after.source())
}
