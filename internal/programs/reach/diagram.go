package reach

import "math"

// ref is the index of a node in a diagram. A node is a function from the outcomes of guards to
// terms; equal functions have the same node.
type ref int32

// The first two nodes are the terms none and anything. A node that leads only to these two terms is
// a condition, which holds where the node leads to anything.
const (
	none ref = iota
	anything
)

// node is a term, if its guard is noGuard. Otherwise it chooses between two nodes by the outcome of
// the guard; these two nodes have only later guards.
type node struct {
	guard          int32
	missing, found ref
	term           term
}

const noGuard = math.MaxInt32

// traits summarize the terms to which a node leads.
type traits struct {
	one   ref   // the only term except none; or none, if there are several terms
	frame bool  // some terms are addresses in the stack frame
	wild  bool  // some terms may be addresses anywhere in the stack frame
	low   int32 // the lowest address in the stack frame, at most 0
}

func (a traits) and(b traits) traits {
	one := a.one
	if one != b.one {
		one = none
	}
	return traits{one, a.frame || b.frame, a.wild || b.wild, min(a.low, b.low)}
}

// diagram is a reduced ordered decision diagram with several terms (MTBDD).
type diagram struct {
	nodes   []node
	traits  []traits // of the nodes
	refs    map[node]ref
	results map[application]ref
	work    int
	settings
	// full says that a limit was exceeded, so results are wrong.
	full bool
}

type application struct {
	op   operation
	x, y ref
}

func newDiagram() *diagram {
	d := &diagram{refs: map[node]ref{}, results: map[application]ref{}}
	d.constant(term{kind: isNone})
	d.constant(term{kind: isAnything})
	return d
}

// spend counts operations, and sets full if there are too many.
func (d *diagram) spend(work int) {
	d.work += work
	d.full = d.full || d.work > maxWork || len(d.nodes) > maxNodes || len(d.results) > maxResults
}

// constant returns the node of a term.
func (d *diagram) constant(t term) ref {
	n := node{guard: noGuard, term: t}
	if r, ok := d.refs[n]; ok {
		return r
	}
	of := traits{one: ref(len(d.nodes)), frame: t.inFrame(), wild: t.kind == isWild}
	if t.kind == isFrame {
		of.low = int32(t.value)
	}
	return d.add(n, of)
}

// branch returns the node that chooses between two nodes by the outcome of a guard.
func (d *diagram) branch(guard int32, missing, found ref) ref {
	n := node{guard: guard, missing: missing, found: found}
	if missing == found {
		return missing
	}
	if r, ok := d.refs[n]; ok {
		return r
	}
	switch {
	case missing == none:
		return d.add(n, d.traits[found])
	case found == none:
		return d.add(n, d.traits[missing])
	}
	return d.add(n, d.traits[missing].and(d.traits[found]))
}

// branchAny does the same as branch, but the two nodes may also have earlier guards. Nodes have
// such guards if an operation found a setting, which is a new guard.
func (d *diagram) branchAny(guard int32, missing, found ref) ref {
	if d.first(missing, found) > guard {
		return d.branch(guard, missing, found)
	}
	yes, no := d.branch(guard, none, anything), d.branch(guard, anything, none)
	return d.apply(join, d.apply(within, missing, no), d.apply(within, found, yes))
}

func (d *diagram) add(n node, t traits) ref {
	r := ref(len(d.nodes))
	d.refs[n] = r
	d.nodes, d.traits = append(d.nodes, n), append(d.traits, t)
	return r
}

// split returns the nodes for the two outcomes of a guard. This guard must not come after the guard
// of r.
func (d *diagram) split(r ref, guard int32) (missing, found ref) {
	if n := &d.nodes[r]; n.guard == guard {
		return n.missing, n.found
	}
	return r, r
}

// first returns the first guard of two nodes, or noGuard if both are terms.
func (d *diagram) first(x, y ref) int32 { return min(d.nodes[x].guard, d.nodes[y].guard) }

// apply applies an operation to the terms of x and y, for each outcome of the guards.
func (d *diagram) apply(op operation, x, y ref) ref {
	if r, ok := op.shortcut(x, y); ok {
		return r
	}
	d.spend(1)
	key := application{op, x, y}
	r, ok := d.results[key]
	if ok || d.full {
		return r
	}
	if guard := d.first(x, y); guard == noGuard {
		r = d.do(op, d.nodes[x].term, d.nodes[y].term)
	} else {
		x0, x1 := d.split(x, guard)
		y0, y1 := d.split(y, guard)
		r = d.branchAny(guard, d.apply(op, x0, y0), d.apply(op, x1, y1))
	}
	d.results[key] = r
	return r
}
