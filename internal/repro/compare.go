package repro

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

type comparison struct {
	sides           [2]*side
	paths, contents *numbering
	actionOf        [2][]int // by spawn: its action
	causes          causeList
	report          *Report

	// The fields below are for the comparison of inputs.
	rank                  []int32 // by path: its position in sorted order
	seen, matched, tool   *marks
	marked                [2]execlog.SetID // the sets that are marked in tool
	params                map[string]bool  // param files
	changes               []change         // each once
	changeNumbers         map[inputChange]int32
	lastChange            []int32 // by path: the index in changes of its last change, plus 1
	found                 []int32
	scratch               [2][]int32
	diffs                 map[diffKey]*inputDiff
	shownDiffs            []*inputDiff
	fromLists, causeLists *lists
}

// Compare compares two logs. It returns an error if they use different digest functions.
func Compare(a, b *execlog.Log, opt Options) (*Report, error) {
	if a.Hash != "" && b.Hash != "" && a.Hash != b.Hash {
		return nil, errors.New("A has " + a.Hash + " digests, but B has " + b.Hash +
			" digests: make both logs with the same --digest_function")
	}
	c := newComparison(a, b)
	for i := range c.report.Actions {
		c.judge(&c.report.Actions[i])
	}
	c.follow()
	c.list(opt.Mnemonics)
	c.allow(opt.Allow)
	c.finishCauses()
	c.count()
	return c.report, nil
}

// newComparison numbers the paths and contents of two logs, and pairs their actions.
func newComparison(a, b *execlog.Log) *comparison {
	rename := findRenames(a, b)
	c := &comparison{
		paths: newNumbering(), contents: newNumbering(),
		causes:        causeList{numbers: map[string]int{}},
		report:        &Report{Renamed: rename},
		params:        paramFiles(b),
		changeNumbers: map[inputChange]int32{},
		diffs:         map[diffKey]*inputDiff{},
		fromLists:     newLists(), causeLists: newLists(),
	}
	c.sides[0] = newSide(a, rename, c.paths, c.contents)
	c.sides[1] = newSide(b, nil, c.paths, c.contents)
	n := len(c.paths.names)
	c.seen, c.matched, c.tool = newMarks(n), newMarks(n), newMarks(n)
	c.rank, c.lastChange = c.paths.ranks(), make([]int32, n)
	for _, s := range c.sides {
		s.has = make([]bool, n)
		for _, path := range s.path {
			s.has[path] = true
		}
	}
	c.addActions(c.match())
	return c
}

func (c *comparison) spawn(i, spawn int) *execlog.Spawn { return &c.sides[i].log.Spawns[spawn] }

func (c *comparison) addActions(pairs []pair) {
	actions := make([]Action, len(pairs))
	for i, p := range pairs {
		from := 0
		if p[0] < 0 {
			from = 1
		}
		s := c.spawn(from, p[from])
		actions[i] = Action{Mnemonic: s.Mnemonic, Label: s.Label, Spawns: p}
		if p[1] >= 0 {
			s = c.spawn(1, p[1])
		}
		if len(s.Outputs) > 0 {
			actions[i].Output = s.Outputs[0].Path
		}
	}
	slices.SortStableFunc(actions, func(x, y Action) int {
		return cmp.Or(cmp.Compare(x.Mnemonic, y.Mnemonic), cmp.Compare(x.Label, y.Label),
			cmp.Compare(x.Output, y.Output))
	})
	for i, s := range c.sides {
		c.actionOf[i] = make([]int, len(s.log.Spawns))
	}
	for at := range actions {
		actions[at].ID = at
		for i, spawn := range actions[at].Spawns {
			if spawn >= 0 {
				c.actionOf[i][spawn] = at
			}
		}
	}
	c.report.Actions = actions
}

func (c *comparison) judge(act *Action) {
	for i, spawn := range act.Spawns {
		if spawn >= 0 {
			act.Cached[i] = c.spawn(i, spawn).CacheHit
		}
	}
	c.compareResults(act)
	switch {
	case act.Spawns[1] < 0:
		act.Verdict = OnlyA
		return
	case act.Spawns[0] < 0:
		act.Verdict = OnlyB
		return
	}
	root := c.keyChanges(act)
	differs := len(act.Outputs) > 0 || c.ended(act, 0) != c.ended(act, 1)
	switch {
	case len(act.Changes) == 0 && !differs:
		act.Verdict = Same
	case len(act.Changes) == 0:
		act.Verdict = NonDeterministic
	case !differs && act.Failed == "":
		act.Verdict = CutOff
	case root:
		act.Verdict = KeyChanged
	default:
		act.Verdict = Downstream
	}
}

// ended returns how a spawn failed, or "" if it succeeded.
func (c *comparison) ended(act *Action, i int) string {
	s := c.spawn(i, act.Spawns[i])
	if s.ExitCode == 0 && s.Status == "" {
		return ""
	}
	return fmt.Sprintf("%s, exit code %d", cmp.Or(s.Status, "failed"), s.ExitCode)
}

// compareResults fills in the outputs that differ, and how the action failed. If only one log has
// the action, compareResults fills in no outputs.
func (c *comparison) compareResults(act *Action) {
	var ended [2]string
	for i, spawn := range act.Spawns {
		ended[i] = "not there"
		if spawn >= 0 {
			ended[i] = cmp.Or(c.ended(act, i), "success")
		}
	}
	if act.Spawns[0] < 0 || act.Spawns[1] < 0 {
		if e := ended[max(0, -act.Spawns[0])]; e != "success" {
			act.Failed = e
		}
		return
	}
	switch {
	case ended[0] != ended[1]:
		act.Failed = "A: " + ended[0] + "; B: " + ended[1]
	case ended[0] != "success":
		act.Failed = ended[0] + " in both"
	}
	a, b := c.spawn(0, act.Spawns[0]), c.spawn(1, act.Spawns[1])
	others := map[string]*execlog.Output{}
	for i := range a.Outputs {
		others[c.sides[0].rename.apply(a.Outputs[i].Path)] = &a.Outputs[i]
	}
	for i := range b.Outputs {
		out := &b.Outputs[i]
		c.compareOutput(act, out.Path, others[out.Path], out)
		delete(others, out.Path)
	}
	for i := range a.Outputs {
		name := c.sides[0].rename.apply(a.Outputs[i].Path)
		if others[name] != nil {
			c.compareOutput(act, name, &a.Outputs[i], nil)
			delete(others, name)
		}
	}
}

// compareOutput compares one output; either side may be nil.
func (c *comparison) compareOutput(act *Action, path string, a, b *execlog.Output) {
	o := OutputChange{Path: path, IDs: [2]int64{-1, -1}}
	var texts [2]string
	for i, out := range []*execlog.Output{a, b} {
		switch {
		case out == nil:
			texts[i] = "not declared"
		case out.Invalid:
			texts[i] = "missing, or not of the declared type"
		default:
			o.IDs[i] = int64(out.Artifact)
			texts[i] = c.contents.names[c.sides[i].content[out.Artifact]]
		}
	}
	if texts[0] == texts[1] {
		return
	}
	o.A, o.B = texts[0], texts[1]
	if o.IDs[0] >= 0 && o.IDs[1] >= 0 {
		o.More = filesThatDiffer(c.sides[0].log.Artifact(execlog.ID(o.IDs[0])),
			c.sides[1].log.Artifact(execlog.ID(o.IDs[1])))
	}
	act.Outputs = append(act.Outputs, o)
}

// maxFiles is how many differing files in a directory are listed.
const maxFiles = 10

// filesThatDiffer lists the first files that differ between two directories.
func filesThatDiffer(a, b *execlog.Artifact) []string {
	var lines []string
	x, y, more := a.Files, b.Files, 0
	note := func(path, what string) {
		if len(lines) == maxFiles {
			more++
			return
		}
		lines = append(lines, path+": "+what)
	}
	for len(x)+len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Path < y[0].Path:
			note(x[0].Path, "only in A")
			x = x[1:]
		case len(x) == 0 || x[0].Path > y[0].Path:
			note(y[0].Path, "only in B")
			y = y[1:]
		default:
			if p, q := digestText(x[0].Digest), digestText(y[0].Digest); p != q {
				note(x[0].Path, p+" vs "+q)
			}
			x, y = x[1:], y[1:]
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more files", more))
	}
	return lines
}

// list selects the actions to report.
func (c *comparison) list(mnemonics []string) {
	for i := range c.report.Actions {
		if mnemonics == nil || slices.Contains(mnemonics, c.report.Actions[i].Mnemonic) {
			c.report.Listed = append(c.report.Listed, i)
		}
	}
}

func (c *comparison) count() {
	r := c.report
	r.Total.Verdicts = map[Verdict]int{}
	at := map[string]int{}
	for _, i := range r.Listed {
		act := &r.Actions[i]
		if _, ok := at[act.Mnemonic]; !ok {
			at[act.Mnemonic] = len(r.Counts)
			r.Counts = append(r.Counts, Count{Mnemonic: act.Mnemonic, Verdicts: map[Verdict]int{}})
		}
		for _, n := range []*Count{&r.Total, &r.Counts[at[act.Mnemonic]]} {
			n.Total++
			n.Verdicts[act.Verdict]++
			if act.Verdict == Same && (act.Cached[0] || act.Cached[1]) {
				n.SameCached++
			}
			for side := range 2 {
				if act.Spawns[side] >= 0 {
					n.Spawns[side]++
				}
				if act.Cached[side] {
					n.Hits[side]++
				}
			}
		}
	}
}
