package repro

import (
	"math/bits"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// input is an input that two actions don't have in common.
type input struct {
	path int32
	of   [2]int64 // the artifact in each log, -1 if it isn't an input there
}

// inputMemory is memory that all comparisons of inputs use.
type inputMemory struct {
	at            []int64  // by path: the artifact in A, plus 1, or 0
	marks         []uint64 // by path, one bit each: whether it was found
	found, sorted []input  // what differs
}

// origin says where an input that differs comes from.
type origin struct {
	input  input  // what it is the origin of
	action int    // the action that made it, or -1 if the origin is a cause
	cause  string // the text of the cause
	note   string
	params bool // whether it is a param file
}

// inputs compares the inputs of two spawns. Sets that are composed in the same way are equal; all
// others are compared whole.
func (k *keyDiff) inputs(a, b *execlog.Spawn) {
	c := k.c
	if c.prints[0][a.Inputs] == c.prints[1][b.Inputs] {
		return
	}
	found := c.differentInputs(a.Inputs, b.Inputs)
	if len(found) == 0 {
		return
	}
	tools := map[int32]bool{}
	for i, set := range []execlog.SetID{a.Tools, b.Tools} {
		for id := range c.walkers[i].All(set) {
			tools[c.path[i][id]] = true
			c.work++
		}
	}
	for _, in := range found {
		o := c.origin(in)
		if o.action >= 0 {
			k.inherit(&c.report.Actions[o.action])
			if len(k.act.Changes) == maxChanges {
				k.act.More++
				continue
			}
		}
		ch := Change{Kind: Input, Name: c.paths[in.path], InA: in.of[0] >= 0, InB: in.of[1] >= 0,
			Note: o.note}
		switch {
		case tools[in.path]:
			ch.Kind = Tool
		case o.params:
			ch.Kind = ParamFile
		}
		for i, text := range []*string{&ch.A, &ch.B} {
			if in.of[i] >= 0 {
				*text = c.contents[c.content[i][in.of[i]]]
			}
		}
		if o.action < 0 {
			k.add(ch, o.cause)
			continue
		}
		ch.From = o.action
		k.act.Changes = append(k.act.Changes, ch)
	}
}

// inherit adds the causes of an action that made a changed input. Of all of them, only the
// maxCauses smallest can be in the report.
func (k *keyDiff) inherit(maker *Action) {
	if k.from == nil || k.from.Allowed != "" && maker.Allowed == "" {
		k.from = maker
	}
	for _, n := range maker.Causes {
		k.c.work++
		if at, found := slices.BinarySearch(k.causes, n); !found && at < maxCauses {
			k.causes = slices.Insert(k.causes[:min(len(k.causes), maxCauses-1)], at, n)
		}
	}
}

// differentInputs returns the inputs that differ between two sets, in the order of their paths. The
// result is valid until the next call.
func (c *comparison) differentInputs(a, b execlog.SetID) []input {
	if c.work > maxWork {
		return nil // Compare returns an error
	}
	at, found := c.at, c.found[:0]
	for id := range c.walkers[0].All(a) {
		at[c.path[0][id]] = int64(id) + 1
		c.work++
	}
	const matched = -1
	for id := range c.walkers[1].All(b) {
		path := c.path[1][id]
		other := at[path]
		if other != matched && (other == 0 || c.content[0][other-1] != c.content[1][id]) {
			found = append(found, input{path, [2]int64{other - 1, int64(id)}})
		}
		at[path] = matched
		c.work++
	}
	for id := range c.walkers[0].All(a) {
		if path := c.path[0][id]; at[path] > 0 {
			found = append(found, input{path, [2]int64{int64(id), -1}})
			at[path] = 0
		}
	}
	for i, set := range []execlog.SetID{a, b} {
		for id := range c.walkers[i].All(set) {
			at[c.path[i][id]] = 0
		}
	}
	c.found = found
	return c.byPath(found)
}

// byPath returns inputs in the order of their paths. Comparisons, which slices.Sort needs, would
// take most of the time if many actions read the same many files.
func (c *comparison) byPath(found []input) []input {
	sorted := c.sorted[:0]
	for n, in := range found {
		c.at[in.path] = int64(n)
		c.marks[in.path/64] |= 1 << (in.path % 64)
	}
	if len(found) > 0 {
		c.work += len(c.marks) / 16 // about as fast as one input
		for word := range c.marks {
			for ; c.marks[word] != 0; c.marks[word] &= c.marks[word] - 1 {
				path := 64*word + bits.TrailingZeros64(c.marks[word])
				sorted = append(sorted, found[c.at[path]])
				c.at[path] = 0
			}
		}
	}
	c.sorted = sorted
	return sorted
}

// maxLinks limits how many links in a chain are followed.
const maxLinks = 40

// origin finds where an input that differs comes from. It follows links that Bazel made.
// Rule: two builds: which action made an input.
func (c *comparison) origin(in input) origin {
	last := &c.origins[in.path]
	if last.input == in && last.cause != "" {
		return *last
	}
	o := origin{input: in, action: -1}
	name, link := c.paths[in.path], ""
	for range maxLinks {
		if c.made(&o, c.maker(0, name, in.of[0]), c.maker(1, name, in.of[1])) {
			break
		}
		next := c.logs[1].Links[name]
		if next == "" {
			next = c.logs[0].Links[name]
		}
		if next == "" || next == name {
			break
		}
		name, link = next, next
	}
	what := "input "
	if o.note == "" {
		switch {
		case strings.HasPrefix(name, outRoot):
			o.params = strings.HasSuffix(name, ".params")
			what, o.note = "generated file ", "no logged action makes this file"
		case strings.HasPrefix(name, "external/"):
			what, o.note = "external file ", "a file from an external repository"
		default:
			what, o.note = "source file ", "a source file"
		}
	}
	if link != "" {
		o.note = "a link to " + link + ", " + o.note
	}
	if o.params {
		o.note = ""
	}
	o.cause = what + name
	switch {
	case in.of[0] < 0:
		o.cause += " (only in B)"
	case in.of[1] < 0:
		o.cause += " (only in A)"
	}
	*last = o
	return o
}

// made fills in the origin of an input that spawn a made in A and spawn b in B; -1 means no spawn.
func (c *comparison) made(o *origin, a, b int) bool {
	acts := [2]int{-1, -1}
	for i, spawn := range []int{a, b} {
		if spawn >= 0 {
			acts[i] = c.actionOf[i][spawn]
		}
	}
	one := max(acts[0], acts[1])
	if one < 0 {
		return false
	}
	act := &c.report.Actions[one]
	o.note = "an output of " + act.Mnemonic + " " + act.Label
	switch {
	case o.input.of[0] < 0 || o.input.of[1] < 0:
	case acts[0] != acts[1]:
		o.note += ", which doesn't make it in both builds"
	default:
		o.action = one
	}
	return true
}

const outRoot = "bazel-out/"

// maker returns the spawn that made the artifact with this id at a path, or -1. With path mapping,
// the reader and the maker of a file may have different paths for it, with different
// configurations.
func (c *comparison) maker(i int, name string, id int64) int {
	if id < 0 || !strings.HasPrefix(name, outRoot) {
		return -1
	}
	best := -1
	for _, n := range c.makers[i][withoutConfiguration(name)] {
		c.work += len(c.logs[i].Spawns[n].Outputs)
		for _, o := range c.logs[i].Spawns[n].Outputs {
			if !o.Invalid && c.content[i][o.Artifact] == c.content[i][id] && (best < 0 || o.Path == name) {
				best = n
			}
		}
	}
	// The file may be in a directory that is an output.
	for dir := path.Dir(name); best < 0 && dir != "." && dir+"/" != outRoot; dir = path.Dir(dir) {
		if list := c.makers[i][withoutConfiguration(dir)]; len(list) > 0 {
			best = list[0]
		}
	}
	return best
}

// withoutConfiguration turns "bazel-out/k8-fastbuild/bin/x" into "bazel-out/*/bin/x".
func withoutConfiguration(path string) string {
	if rest, ok := strings.CutPrefix(path, outRoot); ok {
		if _, below, ok := strings.Cut(rest, "/"); ok {
			return outRoot + "*/" + below
		}
	}
	return path
}
