package repro

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/execlog"
)

// inputChange is an input that two actions don't have in common.
type inputChange struct {
	path int32
	of   [2]int64 // the artifact in each log, -1 if it is no input there
}

// marks are numbers by path, which are forgotten all at once.
type marks struct {
	round uint32
	set   []uint32 // by path: the last round
	value []int64
}

func newMarks(n int) *marks { return &marks{set: make([]uint32, n), value: make([]int64, n)} }

func (m *marks) clear() { m.round++ }

func (m *marks) put(path int32, v int64) { m.set[path], m.value[path] = m.round, v }

func (m *marks) get(path int32) int64 {
	if m.set[path] != m.round {
		return -1
	}
	return m.value[path]
}

// inputs returns the inputs that differ between a set of A and one of B, by path. Sets of which
// several actions are made are compared once.
func (c *comparison) inputs(sets [2]execlog.SetID) []inputChange {
	if c.sides[0].prints[sets[0]] == c.sides[1].prints[sets[1]] {
		return nil
	}
	if found, ok := c.compared[sets]; ok {
		return found
	}
	var found []inputChange
	c.seen.clear()
	a, b := c.sides[0], c.sides[1]
	for id := range a.walker.All(sets[0]) {
		c.seen.put(a.path[id], int64(id))
	}
	c.matched.clear()
	for id := range b.walker.All(sets[1]) {
		path := b.path[id]
		c.matched.put(path, 0)
		other := c.seen.get(path)
		if other < 0 || a.content[other] != b.content[id] {
			found = append(found, inputChange{path, [2]int64{other, int64(id)}})
		}
	}
	for id := range a.walker.All(sets[0]) {
		if c.matched.get(a.path[id]) < 0 {
			found = append(found, inputChange{a.path[id], [2]int64{int64(id), -1}})
		}
	}
	slices.SortFunc(found, func(x, y inputChange) int {
		return cmp.Compare(c.paths.names[x.path], c.paths.names[y.path])
	})
	if c.kept += len(found) + 1; c.kept < maxKept {
		c.compared[sets] = found
	}
	return found
}

// maxKept is how many changes of inputs are kept for other actions that have the same sets.
const maxKept = 4 << 20

// tools marks the paths of the tools of two actions.
func (c *comparison) tools(sets [2]execlog.SetID) {
	if c.marked == sets && c.tool.round > 0 {
		return
	}
	c.marked = sets
	c.tool.clear()
	for i, s := range c.sides {
		for id := range s.walker.All(sets[i]) {
			c.tool.put(s.path[id], 0)
		}
	}
}
