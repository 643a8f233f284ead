package repro

import (
	"cmp"
	"slices"
)

// causeList is the causes that were found, by number.
type causeList struct {
	numbers map[string]int
	list    []Cause
}

// of returns the number of a cause, which is new if there was none of that kind and text.
func (l *causeList) of(kind, text string, action int) int {
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

// follow finds the causes of each action: its own, and those of the actions whose outputs differ
// and that it reads.
func (c *comparison) follow() {
	acts := c.report.Actions
	for _, i := range c.order() {
		act := &acts[i]
		var own []int
		if act.Verdict == NonDeterministic {
			text := act.Mnemonic + " " + act.Label + " " + act.Output
			own = append(own, c.causes.of(string(NonDeterministic), text, i))
		}
		for ch := range act.changes {
			if ch.From < 0 {
				own = append(own, ch.Cause)
			}
		}
		slices.Sort(own)
		own = slices.Compact(own)
		for _, n := range own {
			c.causes.list[n].Direct++
		}
		all := slices.Clone(own)
		for ch := range act.changes {
			if ch.From >= 0 {
				all = append(all, acts[ch.From].Causes...)
				act.Deeper = max(act.Deeper, acts[ch.From].Deeper+1)
			}
		}
		slices.Sort(all)
		all = slices.Compact(all)
		act.Causes = all[:min(len(all), maxCauses)]
		for _, n := range act.Causes {
			if _, direct := slices.BinarySearch(own, n); !direct {
				c.causes.list[n].Downstream++
			}
		}
	}
}

// changes yields the changes of an action, those beyond the listed ones included.
func (a *Action) changes(yield func(*Change) bool) {
	for _, list := range [][]Change{a.Changes, a.beyond} {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// order returns the actions that differ so that each is after those it reads from. Actions that
// read from each other in a circle, which Bazel never writes, come last.
func (c *comparison) order() []int {
	acts := c.report.Actions
	waits := make([]int, len(acts)) // for how many
	users := map[int][]int{}
	for i := range acts {
		for ch := range acts[i].changes {
			if ch.From >= 0 {
				users[ch.From] = append(users[ch.From], i)
				waits[i]++
			}
		}
	}
	var order []int
	for i := range acts {
		if waits[i] == 0 && acts[i].Verdict != Same {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, user := range users[order[at]] {
			if waits[user]--; waits[user] == 0 {
				order = append(order, user)
			}
		}
	}
	for i := range acts {
		if waits[i] > 0 {
			order = append(order, i)
		}
	}
	return order
}

// finishCauses keeps the causes of what is reported, and puts those with most actions first.
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
	for i := range r.Actions {
		act := &r.Actions[i]
		for j, n := range act.Causes {
			act.Causes[j] = -1
			if used[n] {
				act.Causes[j] = number[n]
			}
		}
		act.Causes = slices.DeleteFunc(act.Causes, func(n int) bool { return n < 0 })
		slices.Sort(act.Causes)
		for ch := range act.changes {
			if ch.From < 0 {
				if ch.Cause = number[ch.Cause]; !used[ch.Cause] {
					ch.Cause = -1
				}
			}
		}
	}
}

// Upstream returns the actions whose outputs changed the key of a, in ascending order.
func (a *Action) Upstream() []int {
	var list []int
	for ch := range a.changes {
		if ch.From >= 0 {
			list = append(list, ch.From)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Own returns the causes that are changes of a's own key, or a itself, in ascending order.
func (a *Action) Own(causes []Cause) []int {
	var list []int
	for ch := range a.changes {
		if ch.From < 0 && ch.Cause >= 0 {
			list = append(list, ch.Cause)
		}
	}
	if a.Verdict == NonDeterministic {
		for _, n := range a.Causes {
			if causes[n].Action == a.ID {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
