package repro

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// An action has at most maxChanges changes and maxCauses causes in a report.
const (
	maxChanges = 20
	maxCauses  = 20
)

// keyDiff is how the keys of an action's two spawns differ.
type keyDiff struct {
	c      *comparison
	act    *Action
	roots  []int   // causes that begin here
	from   *Action // one that made a changed input; one that isn't allowed, if there is any
	causes []int   // of all actions that made changed inputs, the smallest, in ascending order
}

// compare fills in the changes of the action.
// Rule: two builds: what changed a key.
func (k *keyDiff) compare(a, b *execlog.Spawn) {
	known := a.Digest != "" && b.Digest != ""
	if known && a.Digest == b.Digest {
		return
	}
	k.arguments(a.Args, b.Args)
	k.pairs(Environment, a.Env, b.Env)
	k.pairs(Platform, a.Platform, b.Platform)
	k.pairs(Timeout, []execlog.Pair{{Value: fmt.Sprintf("%d ms", a.Timeout)}},
		[]execlog.Pair{{Value: fmt.Sprintf("%d ms", b.Timeout)}})
	k.pairs(Outputs, outputNames(a), outputNames(b))
	k.inputs(a, b)
	if known && len(k.act.Changes) == 0 {
		k.add(Change{Kind: Unlogged, A: a.Digest, B: b.Digest, InA: true, InB: true, Note: "only the " +
			"action's digest differs, because of something that the log does not show, such as a cache salt"},
			"")
	}
}

// add adds a change that begins here. Changes with the same kind and text have one cause, even in
// different actions; the parameter group replaces the text if it isn't "".
func (k *keyDiff) add(ch Change, group string) {
	if group == "" {
		var parts []string
		if ch.Name != "" {
			parts = append(parts, ch.Name)
		}
		if ch.A != "" || ch.B != "" {
			parts = append(parts, orNothing(ch.A, ch.InA)+" vs "+orNothing(ch.B, ch.InB))
		}
		group = strings.Join(parts, ": ")
	}
	k.own(string(ch.Kind), group)
	ch.From = -1
	if len(k.act.Changes) == maxChanges {
		k.act.More++
		return
	}
	k.act.Changes = append(k.act.Changes, ch)
}

// own adds a cause that begins here.
func (k *keyDiff) own(kind, text string) {
	key := Cause{Kind: kind, Text: text}
	n, ok := k.c.causeNumbers[key]
	if !ok {
		n = len(k.c.report.Causes)
		k.c.causeNumbers[key] = n
		k.c.report.Causes = append(k.c.report.Causes, key)
	}
	k.roots = append(k.roots, n)
}

// finish counts the causes of the action.
func (k *keyDiff) finish() {
	k.roots = firstNumbers(k.roots, len(k.roots))
	for _, n := range k.roots {
		k.c.report.Causes[n].Direct++
	}
	k.act.Causes = firstNumbers(slices.Concat(k.roots, k.causes), maxCauses)
	for _, n := range k.act.Causes {
		if _, ok := slices.BinarySearch(k.roots, n); !ok {
			k.c.report.Causes[n].Downstream++
		}
	}
}

// firstNumbers returns the n smallest distinct numbers, in ascending order.
func firstNumbers(list []int, n int) []int {
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.Clip(list[:min(len(list), n)])
}

// orNothing returns a value, or a word for no value.
func orNothing(value string, there bool) string {
	if !there {
		return "nothing"
	}
	return value
}

func outputNames(s *execlog.Spawn) (list []execlog.Pair) {
	for _, o := range s.Outputs {
		list = append(list, execlog.Pair{Name: o.Path})
	}
	return list
}

func pairName(p execlog.Pair) string { return p.Name }

// merge yields the elements of two sorted lists that have the same name, in pairs, and nil with an
// element that only one list has.
func merge[T any](a, b []T, name func(T) string) iter.Seq2[*T, *T] {
	return func(yield func(x, y *T) bool) {
		for len(a)+len(b) > 0 {
			var x, y *T
			order := cmp.Compare(len(b), 0) - cmp.Compare(len(a), 0)
			if order == 0 {
				order = cmp.Compare(name(a[0]), name(b[0]))
			}
			if order <= 0 && len(a) > 0 {
				x, a = &a[0], a[1:]
			}
			if order >= 0 && len(b) > 0 {
				y, b = &b[0], b[1:]
			}
			if !yield(x, y) {
				return
			}
		}
	}
}

func (k *keyDiff) pairs(kind ChangeKind, a, b []execlog.Pair) {
	for x, y := range merge(a, b, pairName) {
		ch := Change{Kind: kind, InA: x != nil, InB: y != nil}
		if x != nil {
			ch.Name, ch.A = x.Name, x.Value
		}
		if y != nil {
			ch.Name, ch.B = y.Name, y.Value
		}
		if x != nil && y != nil && *x == *y {
			continue
		}
		if _, ok := absolute(ch.A, ch.B); ok {
			ch.Note = absoluteNote
		}
		k.add(ch, "")
	}
}

// arguments compares arguments position by position, apart from those that both lists have in
// common at the beginning and at the end.
func (k *keyDiff) arguments(a, b []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i := range max(len(a), len(b)) {
		ch := Change{Kind: Argument, InA: i < len(a), InB: i < len(b)}
		if ch.InA {
			ch.A = a[i]
		}
		if ch.InB {
			ch.B = b[i]
		}
		group, ok := absolute(ch.A, ch.B)
		if ok {
			ch.Note = absoluteNote
		}
		if ch.A != ch.B || ch.InA != ch.InB {
			k.add(ch, group)
		}
	}
}

const absoluteNote = "an absolute path, which differs from machine to machine"

// pathFlags are the compiler flags that a path can follow directly, without a space.
var pathFlags = []string{"", "-I", "-L", "-B", "-F", "-isystem", "-iquote", "-idirafter", "@"}

const pathEnds = " \t\n\"'=:,;()<>"

// absolute describes the absolute paths at the first difference between two texts, without their
// common end: for /home/a/x/y and /srv/x/y, it returns "absolute path /home/a vs /srv". ok is false
// if the first difference is not in an absolute path.
func absolute(a, b string) (text string, ok bool) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return "", false
	}
	start := strings.LastIndexAny(a[:at], pathEnds) + 1
	slash := strings.IndexByte(a[start:at], '/')
	if slash < 0 || !slices.Contains(pathFlags, a[start:start+slash]) {
		return "", false
	}
	word := func(s string) []string {
		s = s[start+slash+1:]
		if end := strings.IndexAny(s, pathEnds); end >= 0 {
			s = s[:end]
		}
		return strings.Split(s, "/")
	}
	p, q := word(a), word(b)
	for len(p) > 1 && len(q) > 1 && p[len(p)-1] == q[len(q)-1] {
		p, q = p[:len(p)-1], q[:len(q)-1]
	}
	return "absolute path /" + strings.Join(p, "/") + " vs /" + strings.Join(q, "/"), true
}
