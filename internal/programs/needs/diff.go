package needs

import (
	"fmt"
	"slices"
)

// Change is something that a program needs according to only one of two files with needs.
type Change struct {
	Added   bool   `json:"added"`
	Program string `json:"program"`
	Ask     ask    `json:"ask"`
}

// String is the change as a line: "+ handle_exit: byte_off struct task_struct.mm".
func (c Change) String() string {
	sign := "-"
	if c.Added {
		sign = "+"
	}
	return fmt.Sprintf("%s %s: %v", sign, c.Program, c.Ask)
}

// Diff returns what programs need according to only a or only b, sorted by program. It compares
// programs that have the same name.
func Diff(a, b *Needs) []Change {
	var changes []Change
	before, after := a.byProgram(), b.byProgram()
	var names []string
	for name := range before {
		names = append(names, name)
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		changes = append(changes, unmatched(name, before[name], after[name], false)...)
		changes = append(changes, unmatched(name, after[name], before[name], true)...)
	}
	return changes
}

// unmatched returns a change for each element of asks that is missing in others.
func unmatched(program string, asks, others []ask, added bool) (changes []Change) {
	have := map[ask]bool{}
	for _, x := range others {
		have[x] = true
	}
	for _, x := range asks {
		if !have[x] {
			changes = append(changes, Change{added, program, x})
		}
	}
	return changes
}

func (n *Needs) byProgram() map[string][]ask {
	asks := map[string][]ask{}
	for i := range n.Programs {
		p := &n.Programs[i]
		asks[p.Name] = append(asks[p.Name], n.asks(p)...)
	}
	return asks
}
