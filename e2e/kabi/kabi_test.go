package kabi

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// pair is a family before and after edits.
type pair struct {
	seed   uint64
	edits  []string
	before *family
	after  *family
}

// makePair makes a family and edits it. It depends only on the seed.
func makePair(seed uint64) pair {
	prefix := fmt.Sprintf("s%d", seed)
	how := &maker{Rand: rand.New(rand.NewPCG(seed, 2))}
	number := 1
	if how.chance(25) {
		number += 1 + how.IntN(2)
	}
	for {
		make := func() (*maker, *family) {
			m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
			return m, m.family(prefix)
		}
		_, before := make()
		m, after := make()
		m.Rand = how.Rand
		var names []string
		for range number {
			if e := pick(m, edits); e.do(m, after) {
				names = append(names, e.name)
			}
		}
		if len(names) == number && before.source() != after.source() {
			return pair{seed, names, before, after}
		}
	}
}

func TestTry(t *testing.T) {
	const n = 20
	dir := t.TempDir()
	var src [2]strings.Builder
	var pairs []pair
	for i := range uint64(n) {
		p := makePair(i)
		pairs = append(pairs, p)
		src[0].WriteString(p.before.source())
		src[1].WriteString(p.after.source())
	}
	for i, s := range src {
		name := fmt.Sprintf("%c", 'a'+i)
		harness.WriteFile(t, filepath.Join(dir, name+".c"), s.String())
		harness.MustRun(t, dir, "gcc", "-std=gnu17", "-w", "-g", "-O0", "-fno-common", "-c", name+".c")
	}
	theirs := abidiff(t, dir, "a.o", "b.o")
	count := map[string]int{}
	for _, p := range pairs {
		for _, e := range p.edits {
			if len(p.edits) == 1 {
				count[fmt.Sprintf("%-40s %s", e, theirs[p.before.prefix])]++
			}
		}
	}
	for k, v := range count {
		t.Log(k, v)
	}
}
