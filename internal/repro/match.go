package repro

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// match pairs the spawns of the logs that have the same label, mnemonic and first output: each pair
// has two indices, or -1 if a log has no such spawn. Several spawns of a log may have all three in
// common, such as attempts of a test, or actions of different configurations with the same paths.
// Of these, spawns with equal keys and results are paired first, then spawns with equal keys, then
// the others in the order of their keys. At the end, if each log has exactly one spawn left with
// the same label and mnemonic, these two are paired.
// Rule: two builds: which actions correspond.
func (c *comparison) match() (pairs [][2]int) {
	var left [2][]int
	for i, log := range c.logs {
		for n := range log.Spawns {
			left[i] = append(left[i], n)
		}
	}
	name := func(i, n int) string {
		s := &c.logs[i].Spawns[n]
		return s.Label + "\x00" + s.Mnemonic + "\x00"
	}
	identity := func(i, n int) string { return name(i, n) + firstOutput(&c.logs[i].Spawns[n]) }
	pair := func(unique bool, names ...func(i, n int) string) {
		var more [][2]int
		more, left = pairBy(left, unique, func(i, n int) (text string) {
			for _, f := range names {
				text += f(i, n) + "\x00"
			}
			return text
		})
		pairs = append(pairs, more...)
	}
	pair(true, identity)
	var keys, results [2]map[int]string
	for i, list := range left {
		keys[i], results[i] = map[int]string{}, map[int]string{}
		for _, n := range list {
			keys[i][n], results[i][n] = c.spawnPrints(i, &c.logs[i].Spawns[n])
		}
		slices.SortStableFunc(list, func(x, y int) int {
			return cmp.Or(cmp.Compare(keys[i][x], keys[i][y]), cmp.Compare(results[i][x], results[i][y]))
		})
	}
	key := func(i, n int) string { return keys[i][n] }
	pair(false, identity, key, func(i, n int) string { return results[i][n] })
	pair(false, identity, key)
	pair(false, identity)
	pair(true, name)
	for i, list := range left {
		for _, n := range list {
			p := [2]int{-1, -1}
			p[i] = n
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// firstOutput identifies the action of a spawn, together with its label and mnemonic.
func firstOutput(s *execlog.Spawn) string {
	if len(s.Outputs) == 0 {
		return ""
	}
	return s.Outputs[0].Path
}

// pairBy pairs spawns that have the same name, in the given order, and returns the rest. If the
// parameter unique is set, it pairs them only if each log has just one spawn with that name.
func pairBy(spawns [2][]int, unique bool, name func(i, n int) string) (
	pairs [][2]int, left [2][]int) {
	groups := map[string]*[2][]int{}
	var order []*[2][]int
	for i, list := range spawns {
		for _, n := range list {
			key := name(i, n)
			if groups[key] == nil {
				groups[key] = &[2][]int{}
				order = append(order, groups[key])
			}
			groups[key][i] = append(groups[key][i], n)
		}
	}
	for _, g := range order {
		n := min(len(g[0]), len(g[1]))
		if unique && (len(g[0]) != 1 || len(g[1]) != 1) {
			n = 0
		}
		for j := range n {
			pairs = append(pairs, [2]int{g[0][j], g[1][j]})
		}
		left[0], left[1] = append(left[0], g[0][n:]...), append(left[1], g[1][n:]...)
	}
	return pairs, left
}

// spawnPrints returns hashes of what a spawn depends on, and of how it ended.
func (c *comparison) spawnPrints(i int, s *execlog.Spawn) (key, result string) {
	ended := []string{howEnded(s)}
	for _, o := range s.Outputs {
		if ended = append(ended, o.Path); !o.Invalid {
			ended = append(ended, c.logs[i].Artifact(o.Artifact).Content)
		}
	}
	return hash(s.Args, s.Env, s.Platform, fmt.Sprint(s.Timeout), c.prints[i][s.Inputs]), hash(ended)
}

func hash(values ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", values))
	return string(sum[:])
}

// findPrints returns a hash for each set of a log.
func (c *comparison) findPrints(i int) [][16]byte {
	log := c.logs[i]
	prints := make([][16]byte, log.Sets())
	var parts []string
	for id := range prints {
		items, sets := log.Set(execlog.SetID(id))
		parts = parts[:0]
		for _, item := range items {
			parts = append(parts, fmt.Sprint(c.path[i][item], " ", c.content[i][item]))
		}
		for _, inner := range sets {
			parts = append(parts, string(prints[inner][:]))
		}
		slices.Sort(parts)
		copy(prints[id][:], hash(parts))
	}
	return prints
}
