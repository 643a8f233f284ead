package repro

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
	"github.com/rules-btf/rules_btf/internal/repro/execlog/execlogtest"
)

// TestSetDiff compares nested sets, some of which the logs have in common, both by their inner sets
// and as a whole.
func TestSetDiff(t *testing.T) {
	partly, chained := 0, 0
	for seed := range uint64(1000) {
		var logs [2]*execlog.Log
		for i := range logs {
			shape := rand.New(rand.NewPCG(seed, 1)) // the same for both
			edit := rand.New(rand.NewPCG(seed, uint64(i)+2))
			l := execlogtest.New()
			var files, sets []uint32
			for n := range 12 {
				file := l.File(fmt.Sprint("s", n), "same")
				if shape.IntN(3) == 0 {
					file = action(l, fmt.Sprint("m", n), fmt.Sprint(i, shape.IntN(9)), execlogtest.Spawn{})
				}
				files = append(files, file)
			}
			for n := range 12 {
				var inner, items []uint32
				for range shape.IntN(3) {
					if len(sets) > 0 {
						inner = append(inner, sets[shape.IntN(len(sets))])
					}
				}
				for range shape.IntN(4) {
					item := files[shape.IntN(len(files))]
					if edit.IntN(12) == 0 {
						item = files[edit.IntN(len(files))]
					}
					if edit.IntN(12) > 0 && !slices.Contains(items, item) {
						items = append(items, item)
					}
				}
				if edit.IntN(20) == 0 {
					items = append(items, l.File(fmt.Sprint("only", i, n), "x"))
				}
				sets = append(sets, l.Union(inner, items...))
				l.Spawn(execlogtest.Spawn{Label: fmt.Sprint("//:r", n), Mnemonic: "R",
					Inputs: sets[n]}, l.File(bin+fmt.Sprint("r", n), fmt.Sprint(i)))
			}
			logs[i] = l.Log(t)
		}
		c := newComparison(logs[0], logs[1])
		for i := range c.report.Actions {
			pair := c.report.Actions[i].Spawns
			if pair[0] < 0 || pair[1] < 0 {
				continue
			}
			key := diffKey{inputs: [2]execlog.SetID{c.spawn(0, pair[0]).Inputs, c.spawn(1, pair[1]).Inputs}}
			d := c.setDiff(key)
			want := c.wholeDiff(key, true)
			if want == nil || d == nil {
				if want != d {
					t.Fatalf("seed %d: %+v, want %+v", seed, d, want)
				}
				continue
			}
			all := func(l *List) (items []int32) {
				for ; l != nil; l = l.Parent {
					items = append(items, l.Items...)
				}
				slices.Sort(items)
				return items
			}
			if d.count != want.count || !slices.Equal(d.first, want.first) ||
				!slices.Equal(all(d.from), all(want.from)) ||
				!slices.Equal(all(d.causes), all(want.causes)) {
				t.Fatalf("seed %d: %+v, want %+v", seed, d, want)
			}
			if d.inner != nil {
				partly++
				if d.from != nil && d.from.Parent != nil {
					chained++
				}
			}
		}
	}
	if partly < 100 || chained < 10 {
		t.Errorf("only %d sets were compared by their inner sets, %d with two lists", partly, chained)
	}
}

// TestReadersOfAll compares many actions that differ, and as many readers: actions that read all
// outputs of the differing actions. Each reader has its own sets. The amount of data kept must not
// grow with the product of the two numbers of actions.
func TestReadersOfAll(t *testing.T) {
	const n = 500
	for _, own := range []string{"nothing", "the same file", "a file that differs"} {
		var logs [2]*execlog.Log
		for i := range logs {
			l := execlogtest.New()
			var outs []uint32
			for m := range n {
				outs = append(outs, action(l, fmt.Sprint("m", m), fmt.Sprint(m, i), execlogtest.Spawn{}))
			}
			all := l.Set(outs...)
			for m := range n {
				s := execlogtest.Spawn{Label: fmt.Sprint("//:r", m), Mnemonic: "R", Inputs: all}
				switch own {
				case "the same file":
					s.Inputs = l.Union([]uint32{all}, l.File(fmt.Sprint("s", m), "1"))
				case "a file that differs":
					s.Inputs = l.Union([]uint32{all}, l.File(fmt.Sprint("s", m), fmt.Sprint(i)))
				}
				l.Spawn(s, l.File(bin+fmt.Sprint("r", m), fmt.Sprint(i)))
			}
			logs[i] = l.Log(t)
		}
		c := newComparison(logs[0], logs[1])
		for i := range c.report.Actions {
			c.judge(&c.report.Actions[i])
		}
		c.follow()
		kept := len(c.changes)
		for _, l := range slices.Concat(c.fromLists.all, c.causeLists.all) {
			kept += len(l.Items)
		}
		counted := map[*inputDiff]bool{nil: true}
		for _, d := range c.diffs {
			if !counted[d] {
				counted[d] = true
				kept += len(d.more)
			}
		}
		if kept > 10*n {
			t.Errorf("%s: %d numbers are kept for %d actions", own, kept, 2*n)
		}
		last := &c.report.Actions[2*n-1]
		if last.Deeper != 1 || len(last.Causes) != maxCauses || len(last.Changes)+last.More < n {
			t.Errorf("%s: %+v", own, last)
		}
	}
}
