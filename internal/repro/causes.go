package repro

import (
	"cmp"
	"slices"
)

type causeList struct {
	numbers map[string]int
	list    []Cause
}

// number returns the number of the cause with this kind and text. If there is none, it adds one.
func (l *causeList) number(kind, text string, action int) int {
	key := kind + "\x00" + text
	n, ok := l.numbers[key]
	if !ok {
		n = len(l.list)
		l.numbers[key] = n
		l.list = append(l.list, Cause{Kind: kind, Text: text, Action: action})
	}
	return n
}

// maxCauses is how many causes of an action are kept.
const maxCauses = 64

// follow finds the causes of each action: its own causes, and the causes of the actions whose
// changed outputs it reads.
func (c *comparison) follow() {
	acts := c.report.Actions
	for i := range acts {
		act := &acts[i]
		if act.Verdict == NonDeterministic {
			text := act.Mnemonic + " " + act.Label + " " + act.Output
			act.own = append(act.own, int32(c.causes.number(string(NonDeterministic), text, i)))
		}
		slices.Sort(act.own)
		act.own = slices.Compact(act.own)
		for _, n := range act.own {
			c.causes.list[n].Direct++
		}
		if causes := act.causeList(); causes != nil {
			causes.users++
		}
	}
	for _, l := range c.causeLists.all {
		l.causes = c.firstCauses(l, func(n int32, list []int) []int { return append(list, int(n)) })
	}
	for _, l := range slices.Backward(c.causeLists.all) {
		for _, n := range l.Items {
			c.causes.list[n].Direct += l.users
		}
		if l.Parent != nil {
			l.Parent.users += l.users
		}
	}
	followed := make([]bool, len(c.fromLists.all))
	for _, i := range c.order() {
		act := &acts[i]
		var direct []int
		for _, n := range act.own[:min(len(act.own), maxCauses)] {
			direct = append(direct, int(n))
		}
		if l := act.causeList(); l != nil {
			direct = append(direct, l.causes...)
		}
		direct = smallest(direct, maxCauses)
		act.Causes = direct
		if l := act.Upstream(); l != nil {
			c.followList(l, followed)
			act.Causes = smallest(slices.Concat(direct, l.causes), maxCauses)
			act.Deeper = l.depth
		}
		for _, n := range act.Causes {
			if _, ok := slices.BinarySearch(direct, n); !ok {
				c.causes.list[n].Downstream++
			}
		}
	}
}

func (c *comparison) followList(l *List, followed []bool) {
	var todo []*List
	for ; l != nil && !followed[l.number]; l = l.Parent {
		followed[l.number] = true
		todo = append(todo, l)
	}
	for _, l := range slices.Backward(todo) {
		if l.Parent != nil {
			l.depth = l.Parent.depth
		}
		for _, i := range l.Items {
			l.depth = max(l.depth, c.report.Actions[i].Deeper+1)
		}
		l.causes = c.firstCauses(l, func(i int32, list []int) []int {
			return append(list, c.report.Actions[i].Causes...)
		})
	}
}

// firstCauses returns the first causes of l's parent and items; causesOf appends those of an item.
func (c *comparison) firstCauses(l *List, causesOf func(item int32, list []int) []int) []int {
	var all []int
	if l.Parent != nil {
		all = slices.Clone(l.Parent.causes)
	}
	for _, n := range l.Items {
		all = causesOf(n, all)
	}
	return smallest(all, maxCauses)
}

// smallest returns the n smallest distinct numbers, in ascending order. It overwrites the slice.
func smallest(list []int, n int) []int {
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.Clip(list[:min(len(list), n)])
}

// causeList returns the causes among the action's inputs.
func (a *Action) causeList() *List {
	if a.inputs == nil {
		return nil
	}
	return a.inputs.causes
}

// Upstream returns the actions whose outputs changed the key of the action a. Several actions may
// share the same List.
func (a *Action) Upstream() *List {
	if a.inputs == nil {
		return nil
	}
	return a.inputs.from
}

// order returns the actions that differ, each after the actions whose outputs it reads. Actions
// that read from each other in a cycle, which Bazel never logs, come last.
func (c *comparison) order() []int {
	return newReaders(c.report.Actions, c.fromLists.all).run()
}

// finishCauses keeps only the causes of reported actions, and sorts these causes by their number of
// actions, the largest first.
func (c *comparison) finishCauses() {
	r := c.report
	used := make([]bool, len(c.causes.list))
	allowed := make([]bool, len(used))
	for i := range allowed {
		allowed[i] = true
	}
	for _, i := range r.Listed {
		for _, n := range r.Actions[i].Causes {
			used[n] = true
			allowed[n] = allowed[n] && r.Actions[i].Allowed != ""
		}
	}
	var order []int
	for n := range c.causes.list {
		c.causes.list[n].Allowed = used[n] && allowed[n]
		if used[n] {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := &c.causes.list[x], &c.causes.list[y]
		return cmp.Or(cmp.Compare(b.Direct+b.Downstream, a.Direct+a.Downstream),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	number := make([]int, len(used))
	for to, from := range order {
		number[from] = to
		r.Causes = append(r.Causes, c.causes.list[from])
	}
	changes := func(list []Change) {
		for i := range list {
			if n := list[i].Cause; n >= 0 && used[n] {
				list[i].Cause = number[n]
			} else {
				list[i].Cause = -1
			}
		}
	}
	for i := range r.Actions {
		act := &r.Actions[i]
		act.Causes = renumber(act.Causes, used, number)
		act.own = renumber(act.own, used, number)
		if !act.sharedChanges {
			changes(act.Changes)
		}
	}
	for _, d := range c.shownDiffs {
		changes(d.shown)
	}
	for _, l := range c.causeLists.all {
		l.Items = renumber(l.Items, used, number)
	}
}

// renumber replaces the used elements of a list with their new numbers, and removes the others.
func renumber[T int | int32](list []T, used []bool, number []int) []T {
	kept := list[:0]
	for _, n := range list {
		if used[n] {
			kept = append(kept, T(number[n]))
		}
	}
	slices.Sort(kept)
	return kept
}

// Own returns the causes that begin in the action a: first those among its inputs, in a List that
// several actions may share, then the others.
func (a *Action) Own() (inputs *List, others []int32) { return a.causeList(), a.own }
