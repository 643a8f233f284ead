package repro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// maxChanges is how many changes of an action are kept.
const maxChanges = 50

// keyChanges fills in how the keys of an action's two spawns differ. The result root is set if any
// of the changes is not an output of another action.
func (c *comparison) keyChanges(act *Action) (root bool) {
	a, b := c.spawn(0, act.Spawns[0]), c.spawn(1, act.Spawns[1])
	known := a.Digest.Hash != "" && b.Digest.Hash != ""
	if known && a.Digest == b.Digest {
		return false
	}
	k := &keyDiff{c: c, act: act, a: a, b: b}
	k.configuration()
	k.arguments()
	k.pairs(Environment, a.Env, b.Env)
	k.pairs(Platform, a.Platform, b.Platform)
	if a.Timeout != b.Timeout {
		k.add(Change{Kind: Timeout, A: fmt.Sprintf("%d ms", a.Timeout),
			B: fmt.Sprintf("%d ms", b.Timeout), InA: true, InB: true})
	}
	k.outputs()
	k.inputs()
	if known && k.found == 0 {
		k.add(Change{Kind: Unlogged, A: digestText(a.Digest), B: digestText(b.Digest), InA: true,
			InB: true, Note: "only the action's digest differs, because of something that the log does" +
				" not show, such as a cache salt"})
	}
	return k.root
}

type keyDiff struct {
	c     *comparison
	act   *Action
	a, b  *execlog.Spawn
	found int
	root  bool
}

// add adds a change. Changes in the same group have one cause, even in different actions.
func (k *keyDiff) add(ch Change, group ...string) {
	ch.From = -1
	text := causeText(ch)
	if len(group) > 0 {
		text = group[0]
	}
	ch.Cause = k.c.causes.number(string(ch.Kind), text, -1)
	k.act.own = append(k.act.own, int32(ch.Cause))
	k.root = true
	if k.found++; len(k.act.Changes) == maxChanges {
		k.act.More++
		return
	}
	k.act.Changes = append(k.act.Changes, ch)
}

// causeText describes a change without its action.
func causeText(ch Change) string {
	parts := []string{}
	if ch.Name != "" {
		parts = append(parts, ch.Name)
	}
	if ch.A != "" || ch.B != "" {
		parts = append(parts, orNothing(ch.A, ch.InA)+" vs "+orNothing(ch.B, ch.InB))
	}
	return strings.Join(parts, ": ")
}

// orNothing returns a value, or a word for no value.
func orNothing(value string, there bool) string {
	if !there {
		return "nothing"
	}
	return value
}

// configuration adds a change for each renamed configuration that the action uses.
func (k *keyDiff) configuration() {
	for _, r := range k.c.sides[0].rename {
		uses := func(s string) bool { return strings.Contains(s, outRoot+r.A+"/") }
		in := slices.ContainsFunc(k.a.Args, uses) ||
			slices.ContainsFunc(k.a.Outputs, func(o execlog.Output) bool { return uses(o.Path) })
		if in {
			k.add(Change{Kind: Configuration, A: r.A, B: r.B, InA: true, InB: true,
				Note: "the name of the output directory"})
		}
	}
}

func (k *keyDiff) pairs(kind ChangeKind, a, b []execlog.Pair) {
	rename := k.c.sides[0].rename
	for len(a)+len(b) > 0 {
		var x, y []string
		var name string
		if len(b) == 0 || len(a) > 0 && a[0].Name <= b[0].Name {
			name = a[0].Name
		} else {
			name = b[0].Name
		}
		for ; len(a) > 0 && a[0].Name == name; a = a[1:] {
			x = append(x, rename.apply(a[0].Value))
		}
		for ; len(b) > 0 && b[0].Name == name; b = b[1:] {
			y = append(y, b[0].Value)
		}
		if slices.Equal(x, y) {
			continue
		}
		ch := Change{Kind: kind, Name: name, A: strings.Join(x, ", "), B: strings.Join(y, ", "),
			InA: x != nil, InB: y != nil}
		if from, _, ok := leak(ch.A, ch.B); ok {
			ch.Note = leakNote(from)
		}
		k.add(ch)
	}
}

func (k *keyDiff) outputs() {
	var paths [2]map[string]bool
	for i, s := range []*execlog.Spawn{k.a, k.b} {
		paths[i] = map[string]bool{}
		for _, o := range s.Outputs {
			paths[i][k.c.sides[i].rename.apply(o.Path)] = true
		}
	}
	for _, o := range k.a.Outputs {
		if name := k.c.sides[0].rename.apply(o.Path); !paths[1][name] {
			k.add(Change{Kind: Outputs, Name: name, InA: true, Note: "only in A"})
		}
	}
	for _, o := range k.b.Outputs {
		if !paths[0][o.Path] {
			k.add(Change{Kind: Outputs, Name: o.Path, InB: true, Note: "only in B"})
		}
	}
}

// inputs compares the input files. Call it last, after the other comparisons.
func (k *keyDiff) inputs() {
	d := k.c.inputs(k.a, k.b)
	if d == nil {
		return
	}
	k.act.inputs = d
	k.root = k.root || d.causes != nil
	k.found += d.count
	n := min(len(d.shown), maxChanges-len(k.act.Changes))
	k.act.More += d.count - n
	if k.act.sharedChanges = len(k.act.Changes) == 0; k.act.sharedChanges {
		k.act.Changes = d.shown[:n:n]
	} else {
		k.act.Changes = append(k.act.Changes, d.shown[:n]...)
	}
}
