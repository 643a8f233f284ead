package remote

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// count says how many actions of a mnemonic ran locally, ran remotely, and were cache hits.
type count struct{ local, remote, hit int }

func (c count) ran() int { return c.local + c.remote }

// counts returns the count for each mnemonic in the spawns.
func counts(spawns []execlog.Spawn) map[string]count {
	out := map[string]count{}
	for _, s := range spawns {
		c := out[s.Mnemonic]
		switch {
		case s.CacheHit:
			c.hit++
		case s.Runner == "remote":
			c.remote++
		default:
			c.local++
		}
		out[s.Mnemonic] = c
	}
	return out
}

// btfSum returns the sum of the counts for our mnemonics.
func btfSum(counts map[string]count) count {
	var sum count
	for name, c := range counts {
		if strings.HasPrefix(name, "Btf") {
			sum.local += c.local
			sum.remote += c.remote
			sum.hit += c.hit
		}
	}
	return sum
}

// show prints a table of what ran in a build, and returns the counts.
func show(t testing.TB, what string, o outcome) map[string]count {
	t.Helper()
	table := counts(o.spawns)
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Printf("\n| %s (%.1f s) | ran locally | ran remotely | cache hits |\n|---|--:|--:|--:|\n",
		what, o.seconds)
	for _, name := range names {
		c := table[name]
		fmt.Printf("| %s | %d | %d | %d |\n", name, c.local, c.remote, c.hit)
	}
	if sum := btfSum(table); sum == (count{}) {
		t.Errorf("%s: the log has no action of rules_btf", what)
	} else {
		fmt.Printf("| all Btf… | %d | %d | %d |\n", sum.local, sum.remote, sum.hit)
	}
	return table
}

// allHits fails the test unless all actions of rules_btf were hits.
func allHits(t testing.TB, what string, table map[string]count) {
	t.Helper()
	if sum := btfSum(table); sum.ran() != 0 || sum.hit == 0 {
		t.Errorf("%s: %d actions ran and %d were hits, want hits only", what, sum.ran(), sum.hit)
	}
}
