package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/rules-btf/rules_btf/internal/repro"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"class": class, "ratio": ratio, "short": shortHashes, "name": actionName,
	"count": message.Count[int],
}).Parse(page))

// These limits make sure that a browser can show the page. The JSON lists everything.
const (
	maxPageCauses = 300
	maxPageGroup  = 200 // actions with one mnemonic and verdict
	maxTree       = 150 // actions below a cause
	maxTreeDepth  = 8
)

type view struct {
	A, B       string
	Summary    string
	OK         bool
	Notes      []string
	Bar        []slice
	Causes     []causeView
	MoreCauses int
	Verdicts   []repro.Verdict
	Counts     []repro.Count
	Groups     []group
	Allowances []repro.Allowance
}

// slice is a part of the bar of verdicts.
type slice struct {
	Verdict repro.Verdict
	Count   int
	Percent string // of the width
}

type causeView struct {
	Number      int
	Text, Reach string
	Allowed     bool
	Tree        []branch
	More        int
}

// branch is an action, with the other actions that differ because of it.
type branch struct {
	Action   *repro.Action
	Below    []branch
	Repeated bool // whether Below is left out, because it is elsewhere in the tree or too deep
}

// group has the actions with one verdict.
type group struct {
	Verdict   repro.Verdict
	Count     int
	Mnemonics []mnemonicGroup
}

type mnemonicGroup struct {
	Mnemonic string
	Count    int
	More     int
	Actions  []actionView
}

type actionView struct {
	*repro.Action
	Lines []string // the changes
}

// HTML writes a report as one page that needs no other file; the parameters a and b are the names
// of the logs.
func HTML(w io.Writer, r *repro.Report, a, b string) error {
	v := view{A: a, B: b, Summary: summary(r), OK: !r.Differs(), Notes: notes(r),
		Verdicts: repro.Verdicts, Counts: append(append([]repro.Count{}, r.Counts...), r.Total),
		Allowances: r.Allowances}
	for _, verdict := range repro.Verdicts {
		if n := r.Total.Verdicts[verdict]; n > 0 {
			v.Bar = append(v.Bar, slice{verdict, n,
				fmt.Sprintf("%.3f", 100*float64(n)/float64(r.Total.Total))})
		}
	}
	t := newTrees(r)
	for i := range r.Causes {
		if i == maxPageCauses {
			v.MoreCauses = len(r.Causes) - i
			break
		}
		c := &r.Causes[i]
		cv := causeView{Number: i + 1, Text: causeText(c), Reach: reach(c), Allowed: c.Allowed}
		cv.Tree, cv.More = t.treeOf(i)
		v.Causes = append(v.Causes, cv)
	}
	for _, verdict := range repro.Verdicts {
		if verdict != repro.Same && r.Total.Verdicts[verdict] > 0 {
			v.Groups = append(v.Groups, groupOf(r, verdict))
		}
	}
	return pageTemplate.Execute(w, &v)
}

// groupOf collects the actions with a verdict. The report lists the actions of a mnemonic together.
func groupOf(r *repro.Report, verdict repro.Verdict) group {
	g := group{Verdict: verdict}
	for _, i := range r.Listed {
		act := &r.Actions[i]
		if act.Verdict != verdict {
			continue
		}
		g.Count++
		if n := len(g.Mnemonics); n == 0 || g.Mnemonics[n-1].Mnemonic != act.Mnemonic {
			g.Mnemonics = append(g.Mnemonics, mnemonicGroup{Mnemonic: act.Mnemonic})
		}
		m := &g.Mnemonics[len(g.Mnemonics)-1]
		if m.Count++; m.Count > maxPageGroup {
			m.More++
			continue
		}
		av := actionView{Action: act}
		for j := range act.Changes {
			av.Lines = append(av.Lines, changeText(r, &act.Changes[j]))
		}
		m.Actions = append(m.Actions, av)
	}
	return g
}

// trees builds, for each cause, the tree of actions below it.
type trees struct {
	r     *repro.Report
	first users // by cause: the actions in which it begins
	users users // by action: the actions that differ because of it
}

// users finds the actions that have a number (see trees), either alone or in a List that several
// actions share.
type users struct {
	alone    map[int32][]int
	holders  map[int32][]*repro.List // by number: the lists that have it in Items
	children map[*repro.List][]*repro.List
	of       map[*repro.List][]int
	known    map[*repro.List]bool
}

func newUsers() users {
	return users{map[int32][]int{}, map[int32][]*repro.List{}, map[*repro.List][]*repro.List{},
		map[*repro.List][]int{}, map[*repro.List]bool{}}
}

func (u users) add(action int, list *repro.List, others []int32) {
	for _, n := range others {
		u.alone[n] = append(u.alone[n], action)
	}
	if list != nil {
		u.of[list] = append(u.of[list], action)
	}
	for l := list; l != nil && !u.known[l]; l = l.Parent {
		u.known[l] = true
		for _, n := range l.Items {
			u.holders[n] = append(u.holders[n], l)
		}
		u.children[l.Parent] = append(u.children[l.Parent], l)
	}
}

func (u users) has(n int32) bool { return len(u.alone[n])+len(u.holders[n]) > 0 }

// actions returns the actions that have a number, in ascending order.
func (u users) actions(n int32) []int {
	all := slices.Clone(u.alone[n])
	todo := slices.Clone(u.holders[n])
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], u.children[l]...)
		all = append(all, u.of[l]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func newTrees(r *repro.Report) *trees {
	t := &trees{r: r, first: newUsers(), users: newUsers()}
	for _, i := range r.Listed {
		act := &r.Actions[i]
		inputs, others := act.Own()
		t.first.add(i, inputs, others)
		t.users.add(i, act.Upstream(), nil)
	}
	return t
}

// treeOf returns the tree below a cause. If an action appears several times in the tree, the
// actions below that action are shown only once.
func (t *trees) treeOf(cause int) (tree []branch, more int) {
	left := maxTree
	seen := map[int]bool{}
	var grow func(list []int, depth int) []branch
	grow = func(list []int, depth int) []branch {
		var out []branch
		for _, i := range list {
			if left == 0 {
				more++
				continue
			}
			left--
			b := branch{Action: &t.r.Actions[i]}
			switch {
			case !t.users.has(int32(i)):
			case seen[i] || depth == maxTreeDepth:
				b.Repeated = true
			default:
				seen[i] = true
				b.Below = grow(t.users.actions(int32(i)), depth+1)
			}
			out = append(out, b)
		}
		return out
	}
	return grow(t.first.actions(int32(cause)), 0), more
}

func class(v repro.Verdict) string {
	return map[repro.Verdict]string{repro.Same: "same", repro.NonDeterministic: "nondet",
		repro.KeyChanged: "key", repro.Downstream: "down", repro.CutOff: "cut",
		repro.OnlyA: "only", repro.OnlyB: "only"}[v]
}
