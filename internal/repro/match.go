package repro

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// pair has the two spawns of an action: their indices in the logs, or -1 if a log has none.
type pair [2]int

// match pairs the spawns of the logs that have the same label, mnemonic and first output. Several
// spawns of a log may have all three in common, such as attempts of a test, or actions of different
// configurations with the same paths. Of these, spawns with equal keys and results are paired
// first, then spawns with equal keys, then spawns with equal results. The rest are paired in the
// order of their keys. At the end, if each log has exactly one spawn left with the same label and
// mnemonic, these two are paired.
func (c *comparison) match() []pair {
	pairs, left := c.matchBy(c.allSpawns(), identity, false)
	more, left := c.matchBy(left, func(s *side, i int) string {
		return s.log.Spawns[i].Label + "\x00" + s.log.Spawns[i].Mnemonic
	}, true)
	pairs = append(pairs, more...)
	for i, list := range left {
		for _, spawn := range list {
			p := pair{-1, -1}
			p[i] = spawn
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func (c *comparison) allSpawns() (all [2][]int) {
	for i, s := range c.sides {
		for j := range s.log.Spawns {
			all[i] = append(all[i], j)
		}
	}
	return all
}

// identity identifies the action of a spawn in both builds.
func identity(s *side, i int) string {
	spawn := &s.log.Spawns[i]
	output := ""
	if len(spawn.Outputs) > 0 {
		output = s.rename.apply(spawn.Outputs[0].Path)
	}
	return spawn.Label + "\x00" + spawn.Mnemonic + "\x00" + output
}

// matchBy pairs spawns that have the same name, and returns the rest. If the parameter unique is
// set, it pairs them only if each log has just one spawn with that name.
func (c *comparison) matchBy(spawns [2][]int, name func(*side, int) string, unique bool) (
	pairs []pair, left [2][]int) {
	type group [2][]int
	groups := map[string]*group{}
	var order []*group
	for i, list := range spawns {
		for _, spawn := range list {
			n := name(c.sides[i], spawn)
			if groups[n] == nil {
				groups[n] = &group{}
				order = append(order, groups[n])
			}
			groups[n][i] = append(groups[n][i], spawn)
		}
	}
	for _, g := range order {
		switch {
		case len(g[0]) == 1 && len(g[1]) == 1:
			pairs = append(pairs, pair{g[0][0], g[1][0]})
			continue
		case !unique && len(g[0]) > 0 && len(g[1]) > 0:
			pairs = append(pairs, c.matchSeveral((*[2][]int)(g))...)
		}
		left[0], left[1] = append(left[0], g[0]...), append(left[1], g[1]...)
	}
	return pairs, left
}

// matchSeveral pairs spawns with the same identity. Spawns without a partner stay in the group g.
func (c *comparison) matchSeveral(g *[2][]int) (pairs []pair) {
	type prints struct{ key, result [32]byte }
	var of [2]map[int]prints
	for i, list := range g {
		of[i] = map[int]prints{}
		for _, spawn := range list {
			of[i][spawn] = prints{c.keyPrint(i, spawn), c.resultPrint(i, spawn)}
		}
		slices.SortStableFunc(list, func(x, y int) int {
			px, py := of[i][x], of[i][y]
			return cmp.Or(bytes.Compare(px.key[:], py.key[:]),
				bytes.Compare(px.result[:], py.result[:]))
		})
	}
	for _, part := range []func(p prints) prints{
		func(p prints) prints { return p },
		func(p prints) prints { return prints{key: p.key} },
		func(p prints) prints { return prints{result: p.result} },
		func(p prints) prints { return prints{} },
	} {
		others := map[prints][]int{}
		for _, b := range g[1] {
			others[part(of[1][b])] = append(others[part(of[1][b])], b)
		}
		paired := map[int]bool{}
		g[0] = slices.DeleteFunc(g[0], func(a int) bool {
			list := others[part(of[0][a])]
			if len(list) == 0 {
				return false
			}
			others[part(of[0][a])] = list[1:]
			pairs, paired[list[0]] = append(pairs, pair{a, list[0]}), true
			return true
		})
		g[1] = slices.DeleteFunc(g[1], func(b int) bool { return paired[b] })
	}
	return pairs
}

func (c *comparison) keyPrint(i, spawn int) [32]byte {
	s := c.sides[i]
	cmd := &s.log.Spawns[spawn].Command
	h := sha256.New()
	for _, arg := range cmd.Args {
		write(h, s.rename.apply(arg))
	}
	for _, list := range [][]execlog.Pair{cmd.Env, cmd.Platform} {
		fmt.Fprintln(h)
		for _, p := range list {
			write(h, p.Name)
			write(h, p.Value)
		}
	}
	fmt.Fprintln(h, cmd.Timeout)
	fmt.Fprintln(h, s.inputSum(cmd.Inputs, c.paths, c.contents))
	return [32]byte(h.Sum(nil))
}

func (c *comparison) resultPrint(i, spawn int) [32]byte {
	s := c.sides[i]
	r := &s.log.Spawns[spawn].Result
	h := sha256.New()
	fmt.Fprintln(h, r.ExitCode)
	write(h, r.Status)
	for _, o := range r.Outputs {
		write(h, s.rename.apply(o.Path))
		if !o.Invalid {
			write(h, c.contents.names[s.content[o.Artifact]])
		}
	}
	return [32]byte(h.Sum(nil))
}

func write(h hash.Hash, s string) { fmt.Fprintf(h, "%d %s\n", len(s), s) }
