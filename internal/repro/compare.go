package repro

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

type comparison struct {
	logs            [2]*execlog.Log
	walkers         [2]*execlog.Walker
	paths, contents []string      // by number
	path, content   [2][]int32    // by artifact: the numbers of its path and content
	prints          [2][][16]byte // by set: a hash, the same for sets that are composed in the same way
	makers          [2]map[string][]int
	actionOf        [2][]int // by spawn: its action
	report          *Report
	causeNumbers    map[Cause]int // by kind and text
	work            int
	inputMemory
	origins []origin // by path: the last one
}

// numbers gives equal texts of artifacts the same number in both logs. The numbers have the same
// order as the texts.
func numbers(logs [2]*execlog.Log, text func(*execlog.Artifact) string) (
	texts []string, of [2][]int32) {
	for _, log := range logs {
		for id := range execlog.ID(log.Artifacts()) {
			texts = append(texts, text(log.Artifact(id)))
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	number := make(map[string]int32, len(texts))
	for n, text := range texts {
		number[text] = int32(n)
	}
	for i, log := range logs {
		for id := range execlog.ID(log.Artifacts()) {
			of[i] = append(of[i], number[text(log.Artifact(id))])
		}
	}
	return texts, of
}

// maxWork limits how many inputs of actions, and causes of inputs, are looked at.
const maxWork = 1 << 32

// Compare compares two logs. It returns an error if they use different digest functions, or if
// their actions have too many inputs.
// Rule: two builds: what is compared.
func Compare(a, b *execlog.Log, opt Options) (*Report, error) {
	if a.Hash != "" && b.Hash != "" && a.Hash != b.Hash {
		return nil, errors.New("A has " + a.Hash + " digests, but B has " + b.Hash +
			" digests: make both logs with the same --digest_function")
	}
	c := newComparison(a, b)
	c.report.Allowances = slices.Clone(opt.Allow)
	// Makers come before readers in B, so the causes of an action's inputs are known.
	for _, i := range c.actionOf[1] {
		c.judge(&c.report.Actions[i])
	}
	for _, i := range c.actionOf[0] {
		if act := &c.report.Actions[i]; act.Spawns[1] < 0 {
			c.judge(act)
		}
	}
	if c.work > maxWork {
		return nil, fmt.Errorf("the actions have too many inputs to compare (more than %d)", maxWork)
	}
	c.finish(opt.Mnemonics)
	return c.report, nil
}

// newComparison numbers the paths and contents of two logs, and pairs their actions.
func newComparison(a, b *execlog.Log) *comparison {
	c := &comparison{logs: [2]*execlog.Log{a, b}, report: &Report{Counts: map[Verdict]int{}},
		causeNumbers: map[Cause]int{}}
	c.paths, c.path = numbers(c.logs, func(a *execlog.Artifact) string { return a.Path })
	c.contents, c.content = numbers(c.logs, func(a *execlog.Artifact) string { return a.Content })
	c.at, c.origins = make([]int64, len(c.paths)), make([]origin, len(c.paths))
	c.marks = make([]uint64, (len(c.paths)+63)/64)
	for i, log := range c.logs {
		c.walkers[i] = execlog.NewWalker(log)
		c.prints[i] = c.findPrints(i)
		c.makers[i] = map[string][]int{}
		for n := range log.Spawns {
			for _, o := range log.Spawns[n].Outputs {
				path := withoutConfiguration(o.Path)
				c.makers[i][path] = append(c.makers[i][path], n)
			}
		}
	}
	c.addActions(c.match())
	return c
}

func (c *comparison) addActions(pairs [][2]int) {
	actions := make([]Action, len(pairs))
	for n, p := range pairs {
		for i, spawn := range p {
			if spawn < 0 {
				continue
			}
			s := &c.logs[i].Spawns[spawn]
			actions[n] = Action{Mnemonic: s.Mnemonic, Label: s.Label, Output: firstOutput(s), Spawns: p}
		}
	}
	slices.SortStableFunc(actions, func(x, y Action) int {
		return cmp.Or(cmp.Compare(x.Mnemonic, y.Mnemonic), cmp.Compare(x.Label, y.Label),
			cmp.Compare(x.Output, y.Output))
	})
	for i, log := range c.logs {
		c.actionOf[i] = make([]int, len(log.Spawns))
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

// judge compares the two spawns of an action, and finds the verdict, the causes and the allowance.
// Rule: two builds: verdict, where a difference begins.
func (c *comparison) judge(act *Action) {
	var spawns [2]*execlog.Spawn
	var ended [2]string
	for i, n := range act.Spawns {
		if n >= 0 {
			spawns[i] = &c.logs[i].Spawns[n]
			act.Cached[i], ended[i] = spawns[i].CacheHit, howEnded(spawns[i])
		}
	}
	a, b := spawns[0], spawns[1]
	k := keyDiff{c: c, act: act}
	switch {
	case b == nil:
		act.Verdict = OnlyA
	case a == nil:
		act.Verdict = OnlyB
	default:
		c.compareOutputs(act, a, b)
		k.compare(a, b)
		switch differs := len(act.Outputs) > 0 || ended[0] != ended[1]; {
		case len(act.Changes) == 0 && !differs:
			act.Verdict = Same
		case len(act.Changes) == 0:
			act.Verdict = NonDeterministic
			k.own(string(NonDeterministic), act.Mnemonic+" "+act.Label+" "+act.Output)
		case !differs && ended[0] == success:
			act.Verdict = CutOff
		case len(k.roots) > 0:
			act.Verdict = KeyChanged
		default:
			act.Verdict = Downstream
		}
	}
	switch {
	case ended[0] != ended[1] && a != nil && b != nil:
		act.Failed = "A: " + ended[0] + "; B: " + ended[1]
	case max(ended[0], ended[1]) != success:
		act.Failed = max(ended[0], ended[1])
	}
	k.finish()
	c.allow(act, &k)
}

const success = "success"

func howEnded(s *execlog.Spawn) string {
	if s.ExitCode == 0 && s.Status == "" {
		return success
	}
	return fmt.Sprintf("%s, exit code %d", cmp.Or(s.Status, "failed"), s.ExitCode)
}

// compareOutputs lists the outputs that differ. Outputs that only one spawn declares are changes of
// the key.
func (c *comparison) compareOutputs(act *Action, a, b *execlog.Spawn) {
	for x, y := range merge(a.Outputs, b.Outputs, func(o execlog.Output) string { return o.Path }) {
		var o OutputChange
		var texts [2]string
		for i, out := range []*execlog.Output{x, y} {
			o.IDs[i] = -1
			switch {
			case out == nil:
				texts[i] = "not declared"
			case out.Invalid:
				o.Path, texts[i] = out.Path, "missing, or not of the declared type"
			default:
				o.Path, o.IDs[i] = out.Path, int64(out.Artifact)
				texts[i] = c.logs[i].Artifact(out.Artifact).Content
			}
		}
		if texts[0] == texts[1] {
			continue
		}
		o.A, o.B = texts[0], texts[1]
		if o.IDs[0] >= 0 && o.IDs[1] >= 0 {
			o.More = filesThatDiffer(c.logs[0].Artifact(execlog.ID(o.IDs[0])).Files,
				c.logs[1].Artifact(execlog.ID(o.IDs[1])).Files)
		}
		act.Outputs = append(act.Outputs, o)
	}
}

// maxFiles is how many differing files in a directory are listed.
const maxFiles = 10

// filesThatDiffer lists the first files that differ between two directories.
func filesThatDiffer(a, b []execlog.Pair) []string {
	var lines []string
	for x, y := range merge(a, b, pairName) {
		switch {
		case x != nil && y != nil && *x == *y:
		case len(lines) == maxFiles:
			return append(lines, "and more files")
		case y == nil:
			lines = append(lines, x.Name+": only in A")
		case x == nil:
			lines = append(lines, y.Name+": only in B")
		default:
			lines = append(lines, x.Name+": "+x.Value+" vs "+y.Value)
		}
	}
	return lines
}

// finish selects the actions to report, counts them, and sorts their causes by their numbers of
// actions, the largest first.
func (c *comparison) finish(mnemonics []string) {
	r := c.report
	all := r.Causes
	used, differs := make([]bool, len(all)), make([]bool, len(all))
	for i := range r.Actions {
		act := &r.Actions[i]
		if mnemonics != nil && !slices.Contains(mnemonics, act.Mnemonic) {
			continue
		}
		r.Listed = append(r.Listed, i)
		r.Counts[act.Verdict]++
		if act.Verdict == Same && (act.Cached[0] || act.Cached[1]) {
			r.Cached++
		}
		for _, n := range act.Causes {
			used[n], differs[n] = true, differs[n] || act.Allowed == ""
		}
	}
	var order []int
	for n := range all {
		if all[n].Allowed = !differs[n]; used[n] {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := &all[x], &all[y]
		return cmp.Or(cmp.Compare(b.Direct+b.Downstream, a.Direct+a.Downstream),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	number := make([]int, len(all))
	r.Causes = nil
	for to, from := range order {
		number[from] = to
		r.Causes = append(r.Causes, all[from])
	}
	for _, i := range r.Listed {
		act := &r.Actions[i]
		for j, n := range act.Causes {
			act.Causes[j] = number[n]
		}
		slices.Sort(act.Causes)
	}
}
