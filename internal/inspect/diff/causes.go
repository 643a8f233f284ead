package diff

import (
	"cmp"
	"slices"
	"strings"
)

// findCauses finds the difference that causes each Indirect difference, and counts the follow-ups
// of each other difference. An Indirect difference may have several causes. Those that break code
// take precedence over the others, then the nearest one: the one that the fewest references lead
// to. Of several nearest ones, it is the one to which the most Indirect differences refer, or else
// the first by name. The result has the indices of the differences that aren't Indirect.
// Rule: diff: causes and follow-ups.
func (c *comparison) findCauses(list []Difference) (own []int32) {
	if c.work.listed == nil {
		c.work.listed = make([]int32, c.contents)
	}
	of := c.work.listed
	mark := func(i int, as int32) {
		for _, n := range list[i].pair {
			if n != noPartner {
				of[c.content[n]] = as
			}
		}
	}
	for i := range list {
		mark(i, int32(i+1))
	}
	reached := make([][]int32, len(list)) // the Indirect differences that refer to a difference
	var pairs [][2]uint32
	for i := range list {
		d := &list[i]
		if d.Class != Indirect {
			own = append(own, int32(i))
			continue
		}
		var last int32
		pairs = c.differingChildren(d.pair, c.cleared(), pairs[:0])
		for _, p := range pairs {
			for _, n := range p {
				if k := of[c.content[n]]; k > 0 && k != last {
					reached[k-1] = append(reached[k-1], int32(i))
					last = k
				}
			}
		}
	}
	for i := range list {
		mark(i, 0)
	}
	slices.SortFunc(own, func(i, j int32) int {
		if n := cmp.Compare(len(reached[j]), len(reached[i])); n != 0 {
			return n
		}
		return byText(&list[i], &list[j])
	})
	rank := make([]int32, len(list)) // of the cause: its index in own plus 1; 0 if none is known
	for k, i := range own {
		rank[i] = int32(k + 1)
	}
	for _, compatible := range []bool{false, true} {
		var frontier []int32
		for _, i := range own {
			if list[i].Compatible == compatible && len(reached[i]) > 0 {
				frontier = append(frontier, i)
			}
		}
		c.spread(frontier, reached, rank)
	}
	if c.opts.Indirect {
		c.causes = make([]int32, c.contents)
	}
	for i := range list {
		c.keepCause(&list[i], rank[i])
		if d := &list[i]; d.Class == Indirect && rank[i] > 0 {
			cause := &list[own[rank[i]-1]]
			cause.FollowUps++
			d.Because = cause.Type
		}
	}
	return own
}

// spread gives the differences that are reached from a frontier their ranks, those that the fewest
// references lead to first. It doesn't change the ranks of others. The result doesn't depend on the
// order of the frontier.
func (c *comparison) spread(frontier []int32, reached [][]int32, rank []int32) {
	for len(frontier) > 0 {
		var next []int32
		fresh := map[int32]int32{}
		for _, from := range frontier {
			for _, i := range reached[from] {
				switch r, ok := fresh[i]; {
				case rank[i] > 0:
				case !ok:
					fresh[i] = rank[from]
					next = append(next, i)
				case rank[from] < r:
					fresh[i] = rank[from]
				}
			}
		}
		for i, r := range fresh {
			rank[i] = r
		}
		frontier = next
	}
}

func (c *comparison) keepCause(d *Difference, rank int32) {
	if c.causes == nil {
		return
	}
	if d.Class != Indirect {
		rank = -rank
	}
	for _, n := range d.pair {
		if n != noPartner {
			c.causes[c.content[n]] = rank
		}
	}
}

// follow walks the types of an Indirect difference. The walk's note names the cause if the types
// refer to it, or else a type with the same cause, if there is one.
func (c *comparison) follow(d *Difference) *walker {
	w := &walker{comparison: c, seen: c.cleared(), budget: maxPairs}
	if c.causes != nil {
		w.cause = c.causes[c.content[d.pair[0]]]
	}
	w.inside(d.pair[0], d.pair[1], spot{types: d.pair})
	return w
}

// leads returns how well a reference to a differing type explains the walked difference: 2 if that
// type is the cause, 1 if it has the same cause, otherwise 0.
func (w *walker) leads(n uint32) int {
	switch {
	case w.cause == 0:
		return 0
	case w.causes[w.content[n]] == -w.cause:
		return 2
	case w.causes[w.content[n]] == w.cause:
		return 1
	}
	return 0
}

// byText compares differences by what String returns, beginning with the type.
func byText(a, b *Difference) int {
	if n := strings.Compare(a.Type, b.Type); n != 0 {
		return n
	}
	return strings.Compare(a.String(), b.String())
}

// byImportance sorts differences: first those that break code that was compiled for A, then by how
// many others they cause, then those for which both sides have a type, then by name. It ends with
// the Indirect differences.
// Rule: diff: which differences come first.
func byImportance(a, b *Difference) int {
	if n := cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(b.FollowUps, a.FollowUps),
		cmp.Compare(classRank[a.Class], classRank[b.Class])); n != 0 {
		return n
	}
	return byText(a, b)
}

var classRank = map[Class]int{Differs: 1, Forward: 2, OnlyA: 3, OnlyB: 4}

func rankOf(d *Difference) int {
	switch {
	case d.Class == Indirect:
		return 2
	case d.Compatible:
		return 1
	}
	return 0
}
