package link

import (
	"errors"

	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// final names a type of the result, in three ranges: a shape of the graph (the type of a shape that
// doesn't vary), then instances, then made types.
type final uint32

// instance is a varying shape with what its varying children are.
type instance struct {
	colour types.Hash
	node   types.ID // 0: not yet known
	arg    uint32   // the children in order, in instances.args
	args   uint32
	weight uint64 // of functions and variables: how many units hold it
	linked uint64 // of these, how many linked units
	root   bool   // to be kept for itself
}

// instances finds instances by colour.
type instances struct {
	list  []instance
	args  []uint32
	index map[types.Hash]uint32
	held  map[types.Str][]uint32 // by name: the functions and variables that units hold
}

func (t *instances) find(colour types.Hash) uint32 {
	i, ok := t.index[colour]
	if !ok {
		i = uint32(len(t.list))
		t.index[colour] = i
		t.list = append(t.list, instance{colour: colour})
	}
	return i
}

// instantiate makes every type of the varying shapes that some unit holds.
func (l *linker) instantiate() error {
	l.inst.index = map[types.Hash]uint32{}
	if len(l.worlds) == 0 {
		return nil
	}
	p, open := l.settle()
	l.settled, l.open = p, open
	var slots []types.Hash
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.world < 0 && !p.real[i] || p.joined != nil && p.joined[i] >= 0 {
			continue
		}
		slots = slots[:0]
		for j := range l.progs.slotsOf(n.prog) {
			slots = append(slots, l.colour(p.colours, p.targets[int(n.target)+j]))
		}
		k := l.materialize(n.prog, slots, p.colours[i])
		if n.world < 0 || !l.worlds[n.world].kind.fromBase() {
			l.inst.list[k].root = true
		}
	}
	v := l.view()
	for w := range l.worlds {
		l.enterPhase(v, p, int32(w))
		for _, u := range l.worlds[w].units {
			for _, id := range l.leaves[u] {
				l.leafInstance(v, id, &l.units[u])
			}
			for _, id := range l.attached[u] {
				l.attachedInstance(v, id)
			}
		}
		if l.worlds[w].kind == baseWorld {
			l.baseInstances(v)
		}
	}
	l.inst.held = map[types.Str][]uint32{}
	for i := range l.inst.list {
		t := &l.inst.list[i]
		if t.weight != 0 {
			name := l.nodes[t.node].Name
			l.inst.held[name] = append(l.inst.held[name], uint32(i))
		}
		if t.node == 0 {
			if t.node = l.declared(t.colour); t.node == 0 {
				return errors.New("link: a type leads to one that no unit holds; this is a bug")
			}
		}
	}
	return nil
}

// leafInstance makes the type of a leaf in the world that v shows.
func (l *linker) leafInstance(v *view, id types.ID, unit *object.Unit) {
	k := l.instanceIn(v, id)
	t := &l.inst.list[k]
	t.weight += uint64(unit.Count)
	if unit.Linked {
		t.linked += uint64(unit.Count)
	}
	if kind := l.nodes[id].Kind; kind != types.KindFunc && kind != types.KindVar {
		t.root = true
	}
}

// attachment is a varying declaration tag or section of a unit, with what its varying references
// are there, in order.
type attachment struct {
	node types.ID
	refs []uint32
}

func (l *linker) attachedInstance(v *view, id types.ID) {
	a := attachment{node: id}
	for _, r := range l.g.Refs(id, nil) {
		if l.role[r] != plain {
			a.refs = append(a.refs, l.instanceIn(v, r))
		}
	}
	l.attachments = append(l.attachments, a)
}

// instanceIn returns the instance of a varying shape in the world that v shows.
func (l *linker) instanceIn(v *view, id types.ID) uint32 {
	p := l.settled
	switch l.role[id] {
	case stub:
		t := l.tags.of[id]
		s := slot{node: id, tag: t, vote: -1}
		if d := l.target(v, &s); d != 0 {
			return l.inst.find(p.colours[p.nodeOf(v, d)])
		}
		return l.inst.find(l.tags.list[t].hash)
	case anchor:
		if v.holds(id) {
			return l.inst.find(p.colours[p.nodeOf(v, id)])
		}
	}
	prog := l.program(id)
	ss := l.progs.slotsOf(prog)
	slots := make([]types.Hash, len(ss))
	for i := range ss {
		slots[i] = l.colour(p.colours, l.resolve(v, p, &ss[i], l.open))
	}
	return l.materialize(prog, slots, types.Hash{})
}

// materialize makes the instances of a program's shapes and returns that of the root. root is the
// root's colour if it is an anchor, by which others refer to it; it is of an earlier round of
// refinement than what the slots would give.
func (l *linker) materialize(prog int32, slots []types.Hash, root types.Hash) uint32 {
	t := &l.inst
	ops := l.progs.opsOf(prog)
	var at uint32
	colours := l.eval(prog, slots)
	if root != (types.Hash{}) {
		colours[len(colours)-1] = root
	}
	for i := range ops {
		o := &ops[i]
		at = t.find(colours[i])
		if t.list[at].node != 0 {
			continue
		}
		first := uint32(len(t.args))
		for range o.args {
			t.args = append(t.args, 0)
		}
		for j, a := range l.progs.args[o.arg : o.arg+o.args] {
			if a >= 0 {
				t.args[int(first)+j] = t.find(colours[a])
			} else {
				t.args[int(first)+j] = t.find(slots[^a])
			}
		}
		d := &t.list[at]
		d.node, d.arg, d.args = o.node, first, o.args
	}
	return at
}

// declared returns a stub of the tag with this hash, to stand for its declaration.
func (l *linker) declared(hash types.Hash) types.ID {
	for i := range l.tags.list {
		t := &l.tags.list[i]
		if t.varies && t.hash == hash {
			if t.stub != 0 {
				return t.stub
			}
			for id := range l.nodes {
				if l.tags.of[id] == int32(i) && l.role[id] == stub {
					return types.ID(id)
				}
			}
		}
	}
	return 0
}
