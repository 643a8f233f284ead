package repro

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// inputChange is an input that two actions don't have in common.
type inputChange struct {
	path int32
	of   [2]int64 // the artifact in each log, -1 if it isn't an input there
}

// change is an inputChange, with information about the change that is the same for all actions.
type change struct {
	inputChange
	origin origin
	params bool   // whether it is a param file
	cause  [2]int // as an input and as a tool: the cause's number plus 1; 0 if it has none yet
}

// inputDiff is the difference between two sets of inputs. It consists of the difference between two
// of their inner sets, and of more changes. All actions with the same pair of sets share one
// inputDiff, and equal lists are stored only once. So the time and memory of a comparison grow with
// the logs, not with the product of actions and inputs.
type inputDiff struct {
	inner *inputDiff // or nil
	more  []int32    // changes, ascending
	loose bool       // whether it can't be the field inner of another inputDiff; then more is empty

	// The following fields include the changes of the field inner.
	count  int
	causes *List    // the causes of changes that aren't outputs of other actions
	from   *List    // the actions that made the other changed inputs
	first  []int32  // the first maxChanges changes, by path
	shown  []Change // the same changes as reported; nil until an action needs them
}

// diffKey has an action's set of inputs and its set of tools, each for both logs.
type diffKey struct{ inputs, tools [2]execlog.SetID }

// marks maps paths to numbers; clear removes all of them in one step.
type marks struct {
	round uint32
	set   []uint32 // by path: the round in which value was set
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

// inputs returns how two spawns' inputs differ, or nil if they don't.
func (c *comparison) inputs(a, b *execlog.Spawn) *inputDiff {
	key := diffKey{[2]execlog.SetID{a.Inputs, b.Inputs}, [2]execlog.SetID{a.Tools, b.Tools}}
	d := c.setDiff(key)
	if d != nil && d.shown == nil {
		c.tools(key.tools)
		d.shown = make([]Change, len(d.first))
		for i, n := range d.first {
			d.shown[i] = c.shown(&c.changes[n])
		}
		c.shownDiffs = append(c.shownDiffs, d)
	}
	return d
}

// setDiff returns the difference between two sets, or nil if they are equal. It goes from the outer
// sets to the inner ones and back, because in most of Bazel's actions only one inner set differs,
// and many actions share it.
func (c *comparison) setDiff(key diffKey) *inputDiff {
	var d *inputDiff
	var outer []diffKey
	partly := true // whether d has all differences of the inner sets of the last key in outer
	for partly && !c.same(key.inputs) {
		if found, ok := c.diffs[key]; ok {
			d = found
			break
		}
		outer = append(outer, key)
		key, partly = c.innerSets(key)
	}
	for i, key := range slices.Backward(outer) {
		var made *inputDiff
		if partly {
			made, partly = c.diffAround(key, d)
		}
		if !partly {
			made = c.wholeDiff(key, i > 0)
		}
		c.diffs[key], d, partly = made, made, true
	}
	return d
}

// same reports whether two sets have equal inputs and are composed in the same way.
func (c *comparison) same(sets [2]execlog.SetID) bool {
	return c.sides[0].prints[sets[0]] == c.sides[1].prints[sets[1]]
}

// innerSets returns the pair of inner sets that makes two sets differ, if there is one. ok is false
// if more than one pair of inner sets may differ.
func (c *comparison) innerSets(key diffKey) (inner diffKey, ok bool) {
	_, a := c.sides[0].log.Set(key.inputs[0])
	_, b := c.sides[1].log.Set(key.inputs[1])
	if len(a) != len(b) {
		return inner, false
	}
	inner.tools = key.tools
	for i := range a {
		pair := [2]execlog.SetID{a[i], b[i]}
		if c.same(pair) {
			continue
		}
		if inner.inputs != [2]execlog.SetID{} {
			return inner, false
		}
		inner.inputs = pair
	}
	return inner, true
}

// diffAround returns how two sets differ; inner is the difference between their inner sets.
// ok is false if inner isn't enough, because an input may also be elsewhere in the sets.
func (c *comparison) diffAround(key diffKey, inner *inputDiff) (d *inputDiff, ok bool) {
	var items [2][]execlog.ID
	for i, s := range c.sides {
		items[i], _ = s.log.Set(key.inputs[i])
		if slices.ContainsFunc(items[i], func(id execlog.ID) bool {
			return s.log.Artifact(id).Inputs != 0
		}) {
			return nil, false
		}
	}
	if inner != nil && inner.loose {
		return nil, false
	}
	found := c.compare(slices.Values(items[0]), slices.Values(items[1]))
	if slices.ContainsFunc(found, c.isLoose) {
		return nil, false
	}
	found = slices.DeleteFunc(found, inner.hasChange)
	if len(found) == 0 {
		return inner, true
	}
	d = c.newDiff(key, inner, found)
	d.more = slices.Clone(found)
	return d, true
}

// wholeDiff returns how two sets differ, or nil if they don't. If keep is set, the result may later
// be the inner part of another difference.
func (c *comparison) wholeDiff(key diffKey, keep bool) *inputDiff {
	found := c.compare(c.sides[0].walker.All(key.inputs[0]), c.sides[1].walker.All(key.inputs[1]))
	if len(found) == 0 {
		return nil
	}
	d := c.newDiff(key, nil, found)
	if d.loose = !keep || slices.ContainsFunc(found, c.isLoose); !d.loose {
		d.more = slices.Clone(found)
	}
	return d
}

// hasChange reports whether d, which isn't loose and may be nil, has the change n.
func (d *inputDiff) hasChange(n int32) bool {
	for ; d != nil; d = d.inner {
		if contains(d.more, n) {
			return true
		}
	}
	return false
}

// isLoose reports whether a change is an input that is missing in one set, although that set's log
// has an artifact at the input's path.
func (c *comparison) isLoose(n int32) bool {
	ch := &c.changes[n]
	return ch.of[0] < 0 && c.sides[0].has[ch.path] || ch.of[1] < 0 && c.sides[1].has[ch.path]
}

// newDiff makes an inputDiff from inner and the changes in found, which it sorts.
func (c *comparison) newDiff(key diffKey, inner *inputDiff, found []int32) *inputDiff {
	d := &inputDiff{inner: inner, count: len(found)}
	if inner != nil {
		d.count += inner.count
		d.from, d.causes, d.first = inner.from, inner.causes, slices.Clone(inner.first)
	}
	c.tools(key.tools)
	from, causes := c.scratch[0][:0], c.scratch[1][:0]
	for _, n := range found {
		ch := &c.changes[n]
		if ch.origin.action >= 0 {
			from = append(from, int32(ch.origin.action))
		} else {
			causes = append(causes, int32(c.causeOf(ch)))
		}
		if len(d.first) < maxChanges || c.byPath(n, d.first[maxChanges-1]) < 0 {
			at, _ := slices.BinarySearchFunc(d.first, n, c.byPath)
			d.first = slices.Insert(d.first, at, n)
			d.first = d.first[:min(len(d.first), maxChanges)]
		}
	}
	d.from, d.causes = c.fromLists.share(d.from, from), c.causeLists.share(d.causes, causes)
	c.scratch = [2][]int32{from, causes}
	slices.Sort(found)
	return d
}

// compare returns the inputs that differ, as indices in c.changes. The next call overwrites them.
func (c *comparison) compare(inA, inB iter.Seq[execlog.ID]) []int32 {
	found := c.found[:0]
	c.seen.clear()
	a, b := c.sides[0], c.sides[1]
	for id := range inA {
		c.seen.put(a.path[id], int64(id))
	}
	c.matched.clear()
	for id := range inB {
		path := b.path[id]
		c.matched.put(path, 0)
		other := c.seen.get(path)
		if other < 0 || a.content[other] != b.content[id] {
			found = append(found, c.numberOf(inputChange{path, [2]int64{other, int64(id)}}))
		}
	}
	for id := range inA {
		if c.matched.get(a.path[id]) < 0 {
			found = append(found, c.numberOf(inputChange{a.path[id], [2]int64{int64(id), -1}}))
		}
	}
	c.found = found
	return found
}

// numberOf returns the index of a change in c.changes.
func (c *comparison) numberOf(in inputChange) int32 {
	if last := c.lastChange[in.path]; last > 0 && c.changes[last-1].inputChange == in {
		return last - 1 // the usual case
	}
	n, ok := c.changeNumbers[in]
	if !ok {
		n = int32(len(c.changes))
		c.changeNumbers[in] = n
		path, o := c.paths.names[in.path], c.origin(in)
		params := o.unlogged && (c.params[path] || strings.HasSuffix(path, ".params"))
		if params {
			o.note = ""
		}
		c.changes = append(c.changes, change{inputChange: in, origin: o, params: params})
	}
	c.lastChange[in.path] = n + 1
	return n
}

// byPath compares changes by their paths, then by their contents.
func (c *comparison) byPath(x, y int32) int {
	a, b := &c.changes[x], &c.changes[y]
	return cmp.Or(cmp.Compare(c.rank[a.path], c.rank[b.path]), cmp.Compare(a.of[0], b.of[0]),
		cmp.Compare(a.of[1], b.of[1]))
}

// shown returns a change as it is reported. The method tools must be called first.
func (c *comparison) shown(ch *change) Change {
	s := Change{Kind: Input, Name: c.paths.names[ch.path], InA: ch.of[0] >= 0, InB: ch.of[1] >= 0,
		Note: ch.origin.note, From: ch.origin.action, Cause: -1}
	switch {
	case c.tool.get(ch.path) >= 0:
		s.Kind = Tool
	case ch.params:
		s.Kind = ParamFile
	}
	s.A, s.B = c.describe(0, ch.of[0]), c.describe(1, ch.of[1])
	if s.From < 0 {
		s.Cause = c.causeOf(ch)
	}
	return s
}

// causeOf returns the number of a change's cause. The method tools must be called first.
func (c *comparison) causeOf(ch *change) int {
	kind, as := Input, 0
	switch {
	case c.tool.get(ch.path) >= 0:
		kind, as = Tool, 1
	case ch.params:
		kind = ParamFile
	}
	if ch.cause[as] == 0 {
		name := c.paths.names[ch.path]
		if ch.origin.path != "" {
			name = ch.origin.path // the file to which the input links
		}
		text := ch.origin.what + name + onlyIn(ch.of[0] >= 0, ch.of[1] >= 0)
		ch.cause[as] = c.causes.number(string(kind), text, -1) + 1
	}
	return ch.cause[as] - 1
}

func onlyIn(inA, inB bool) string {
	switch {
	case !inA:
		return " (only in B)"
	case !inB:
		return " (only in A)"
	}
	return ""
}

// describe returns a short text for an input's content, or "" if there is no such input.
func (c *comparison) describe(i int, id int64) string {
	if id < 0 {
		return ""
	}
	return c.contents.names[c.sides[i].content[id]]
}

// tools marks the paths of two actions' tools in c.tool.
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

// paramFiles returns the paths of the param files that are named in a log's arguments.
func paramFiles(log *execlog.Log) map[string]bool {
	found := map[string]bool{}
	for i := range log.Spawns {
		for _, arg := range log.Spawns[i].Args {
			for _, before := range []string{"@", "flagfile="} {
				if _, file, ok := strings.Cut(arg, before); ok {
					found[file] = true
				}
			}
		}
	}
	return found
}
