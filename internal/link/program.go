package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// A program says how the type that a varying shape is follows from the types of the tags and
// typedefs in it. Its operations are the shape itself and the anonymous shapes inside, children
// first; its slots are the stubs and anchors where it ends. Evaluating it for the colours (content
// hashes) of the slots gives the colour of each.
type program struct {
	op, ops     uint32 // the operations, in programs.ops
	slot, slots uint32 // the slots, in programs.slots
	pinned      bool   // some slot is a pinned stub
}

type operation struct {
	node      types.ID
	label     types.Hash // the shape's content, with a placeholder for each varying child
	arg, args uint32     // its varying children in order, in programs.args
}

// slot is where a program ends: at a stub or at an anchor.
type slot struct {
	node types.ID
	tag  int32 // the stub's tag; -1 for an anchor
	vote int32 // for an unpinned stub: the index of its vote
}

type programs struct {
	of    []int32 // by node: program index + 1
	list  []program
	ops   []operation
	args  []int32 // an operation's index in its program, or ^ the slot's
	slots []slot

	stamp []int32 // by node: program being compiled + 1
	local []int32 // by node: what args say
}

// placeholder stands for a varying child in a label.
var placeholder = types.Hash{A: 1, B: 1}

// program returns the program of a varying shape that is no stub, compiling it at first use.
func (l *linker) program(id types.ID) int32 {
	p := &l.progs
	if p.of == nil {
		p.of = make([]int32, len(l.nodes))
		p.stamp = make([]int32, len(l.nodes))
		p.local = make([]int32, len(l.nodes))
	}
	if p.of[id] == 0 {
		l.compile(id)
	}
	return p.of[id] - 1
}

func (l *linker) compile(root types.ID) {
	p := &l.progs
	index := int32(len(p.list))
	prog := program{op: uint32(len(p.ops)), slot: uint32(len(p.slots))}
	stamp := index + 1
	inside := []types.ID{root}
	p.stamp[root] = stamp
	var refs []types.ID
	for i := 0; i < len(inside); i++ {
		refs = l.g.Refs(inside[i], refs[:0])
		for _, r := range refs {
			if l.role[r] == plain || p.stamp[r] == stamp {
				continue
			}
			p.stamp[r] = stamp
			if l.role[r] == inner {
				inside = append(inside, r)
				continue
			}
			p.local[r] = ^int32(len(p.slots) - int(prog.slot))
			s := slot{node: r, tag: -1, vote: -1}
			if l.role[r] == stub {
				s.tag = l.tags.of[r]
				prog.pinned = prog.pinned || l.nodes[r].Size != 0
			}
			p.slots = append(p.slots, s)
		}
	}
	slices.Sort(inside) // children come first in the graph
	for i, id := range inside {
		p.local[id] = int32(i)
	}
	for _, id := range inside {
		o := operation{node: id, label: l.label(id), arg: uint32(len(p.args))}
		refs = l.g.Refs(id, refs[:0])
		for _, r := range refs {
			if l.role[r] != plain {
				p.args = append(p.args, p.local[r])
			}
		}
		o.args = uint32(len(p.args)) - o.arg
		p.ops = append(p.ops, o)
	}
	prog.ops = uint32(len(p.ops)) - prog.op
	prog.slots = uint32(len(p.slots)) - prog.slot
	p.list = append(p.list, prog)
	p.of[root] = stamp
}

func (l *linker) label(id types.ID) types.Hash {
	return l.shapeHash(id, func(r types.ID) types.Hash {
		if l.role[r] != plain {
			return placeholder
		}
		return l.nodes[r].Hash
	})
}

// shapeHash hashes a node's content with what of returns for the nodes that it refers to.
func (l *linker) shapeHash(id types.ID, of func(types.ID) types.Hash) types.Hash {
	n := &l.nodes[id]
	return l.g.HashWith(n, l.g.ElemsOf(n), func(r types.ID) types.Hash {
		if r == 0 {
			return types.Hash{}
		}
		return of(r)
	})
}

// slotsOf returns the slots of a program.
func (p *programs) slotsOf(prog int32) []slot {
	q := &p.list[prog]
	return p.slots[q.slot : q.slot+q.slots]
}

// opsOf returns the operations of a program.
func (p *programs) opsOf(prog int32) []operation {
	q := &p.list[prog]
	return p.ops[q.op : q.op+q.ops]
}

// eval returns the colours of the program's operations for those of its slots, the shape itself
// last. The result is good until the next call.
func (l *linker) eval(prog int32, slots []types.Hash) []types.Hash {
	out := l.evalBuf[:0]
	for _, o := range l.progs.opsOf(prog) {
		h := types.Start(types.KindVoid, o.args, 0, o.label, types.Hash{})
		for _, a := range l.progs.args[o.arg : o.arg+o.args] {
			if a >= 0 {
				h.Elem(types.Hash{}, out[a], 0)
			} else {
				h.Elem(types.Hash{}, slots[^a], 0)
			}
		}
		out = append(out, h.Sum(false))
	}
	l.evalBuf = out
	return out
}

// unpinned returns the content hash of a shape with every pinned stub read as an unpinned one.
func (l *linker) unpinned(id types.ID) types.Hash {
	if len(l.tags.pinned) == 0 || l.role[id] == plain {
		return l.nodes[id].Hash
	}
	if l.norm == nil {
		l.norm = make([]types.Hash, len(l.nodes))
		for i := range l.nodes {
			switch l.role[i] {
			case plain:
				l.norm[i] = l.nodes[i].Hash
			case stub:
				l.norm[i] = l.tags.list[l.tags.of[i]].hash
			default:
				l.norm[i] = l.shapeHash(types.ID(i), func(r types.ID) types.Hash { return l.norm[r] })
			}
		}
	}
	return l.norm[id]
}
