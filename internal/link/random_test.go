package link

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

var times = flag.Int64("times", 1, "how many times as many random programs the tests link")

// seeds returns how many seeds a test tries.
func seeds(few int64) int64 { return few * *times }

// A randomProgram is a pool of shapes, and units made from these shapes. The units disagree a lot:
// there are few tags, and each has several definitions. Tags refer to each other directly, through
// typedefs and through anonymous shapes.
type randomProgram struct {
	r        *rand.Rand
	o        *object.Object
	tags     []randomTag
	typedefs []types.ID
	funcs    []types.ID
	others   []types.ID
}

type randomTag struct {
	stub types.ID
	defs []types.ID
}

func (p *randomProgram) str(s string) types.Str { return p.o.Graph.Strs.Intern([]byte(s)) }

// randomUnits makes n units over the given number of tags.
func randomUnits(r *rand.Rand, tags, n int) *object.Object {
	p := &randomProgram{r: r, o: object.New(object.Target{AddrSize: 8, Machine: 62},
		features.Default())}
	g := p.o.Graph
	p.others = append(p.others, g.Add(types.Node{Kind: types.KindInt, Name: p.str("int"), Size: 4,
		Aux: 1<<24 | 32}, nil))
	for i := range tags {
		space := []types.Tag{types.TagStruct, types.TagStruct, types.TagUnion, types.TagEnum}[r.Intn(4)]
		p.tags = append(p.tags, randomTag{stub: g.Stub(space, p.str(fmt.Sprintf("t%d", i)))})
	}
	for i := range p.tags {
		for range 1 + r.Intn(3) {
			p.tags[i].defs = append(p.tags[i].defs, p.definition(p.tags[i].stub))
		}
		for range r.Intn(3) {
			n := types.Node{Kind: types.KindTypedef, Name: p.str(fmt.Sprintf("d%d", r.Intn(tags))),
				Ref: p.ref(2)}
			p.typedefs = append(p.typedefs, g.Add(n, nil))
		}
		for range r.Intn(3) {
			p.funcs = append(p.funcs, p.function())
		}
	}
	for range n {
		p.unit()
	}
	return p.o
}

// ref makes a random type that refers to tags, at most depth shapes deep.
func (p *randomProgram) ref(depth int) types.ID {
	g := p.o.Graph
	if depth == 0 || p.r.Intn(4) == 0 {
		switch k := p.r.Intn(8); {
		case k == 0:
			return p.others[0]
		case k < 3 && len(p.typedefs) > 0:
			return p.typedefs[p.r.Intn(len(p.typedefs))]
		}
		return p.tags[p.r.Intn(len(p.tags))].stub
	}
	switch p.r.Intn(6) {
	case 0:
		return g.Add(types.Node{Kind: types.KindConst, Ref: p.ref(depth - 1)}, nil)
	case 1:
		return g.Add(types.Node{Kind: types.KindArray, Size: 2, Ref: p.ref(depth - 1)},
			[]types.Elem{{Ref: p.others[0]}})
	case 2:
		return g.Add(types.Node{Kind: types.KindFuncProto, Ref: p.ref(depth - 1)},
			[]types.Elem{{Name: p.str("a"), Ref: p.ref(depth - 1)}, {Name: p.str("b"), Ref: p.ref(0)}})
	case 3:
		return g.Add(types.Node{Kind: types.KindUnion, Size: 8},
			[]types.Elem{{Name: p.str("x"), Ref: p.ref(depth - 1)},
				{Name: p.str("y"), Ref: p.ref(depth - 1)}})
	}
	return g.Add(types.Node{Kind: types.KindPtr, Ref: p.ref(depth - 1)}, nil)
}

// member makes the type of a member for the definition of stub's tag. A tag contains, by value,
// only tags that are earlier than itself.
func (p *randomProgram) member(stub types.ID) types.ID {
	id := p.ref(2)
	if p.holds(id, stub) {
		return p.o.Graph.Add(types.Node{Kind: types.KindPtr, Ref: id}, nil)
	}
	return id
}

// holds reports whether a type contains, by value, a tag that is not earlier than stub's.
func (p *randomProgram) holds(id, stub types.ID) bool {
	g := p.o.Graph
	switch n := &g.Nodes[id]; n.Kind {
	case types.KindStub:
		return id >= stub
	case types.KindConst, types.KindArray, types.KindTypedef:
		return p.holds(n.Ref, stub)
	case types.KindUnion:
		return slices.ContainsFunc(g.ElemsOf(n),
			func(e types.Elem) bool { return p.holds(e.Ref, stub) })
	}
	return false
}

func (p *randomProgram) definition(stub types.ID) types.ID {
	g := p.o.Graph
	s := g.Nodes[stub]
	switch types.Tag(s.Aux) {
	case types.TagEnum:
		return g.Add(types.Node{Kind: types.KindEnum, Name: s.Name, Size: 4},
			[]types.Elem{{Name: p.str("E"), Val: uint64(p.r.Intn(3))}})
	case types.TagUnion:
		return g.Add(types.Node{Kind: types.KindUnion, Name: s.Name, Size: 8},
			[]types.Elem{{Name: p.str("m"), Ref: p.member(stub)}})
	}
	var elems []types.Elem
	for i := range 1 + p.r.Intn(3) {
		elems = append(elems, types.Elem{Name: p.str(fmt.Sprintf("m%d", i)), Ref: p.member(stub),
			Val: uint64(64 * i)})
	}
	return g.Add(types.Node{Kind: types.KindStruct, Name: s.Name, Size: uint32(8 * len(elems))}, elems)
}

func (p *randomProgram) function() types.ID {
	g := p.o.Graph
	proto := g.Add(types.Node{Kind: types.KindFuncProto, Ref: p.ref(1)},
		[]types.Elem{{Name: p.str("p"), Ref: p.ref(2)}})
	return g.Add(types.Node{Kind: types.KindFunc,
		Name: p.str(fmt.Sprintf("f%d", p.r.Intn(2*len(p.tags)))), Ref: proto, Aux: 1}, nil)
}

// unit adds a unit that defines some tags, and holds functions and typedefs, including every
// typedef that is used there.
func (p *randomProgram) unit() {
	g := p.o.Graph
	held := map[types.ID]bool{}
	var items []types.ID
	var hold func(id types.ID)
	hold = func(id types.ID) {
		if held[id] {
			return
		}
		held[id] = true
		n := g.Nodes[id]
		if n.IsDefinition() || n.Kind == types.KindTypedef || n.Kind == types.KindFunc ||
			n.Kind == types.KindInt {
			items = append(items, id)
		}
		if n.Kind == types.KindStub {
			return
		}
		if n.Ref != 0 {
			hold(n.Ref)
		}
		if n.Kind == types.KindEnum {
			return
		}
		for _, e := range g.ElemsOf(&n) {
			if e.Ref != 0 {
				hold(e.Ref)
			}
		}
	}
	density := p.r.Intn(4)
	for _, t := range p.tags {
		if p.r.Intn(4) <= density {
			hold(t.defs[min(p.r.Intn(len(t.defs)), p.r.Intn(len(t.defs)))])
		}
	}
	for _, d := range p.typedefs {
		if p.r.Intn(3) == 0 {
			hold(d)
		}
	}
	for _, f := range p.funcs {
		if p.r.Intn(3) == 0 {
			hold(f)
		}
	}
	p.r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	p.o.Units = append(p.o.Units, object.Unit{Count: uint32(1 + p.r.Intn(3)), Items: items})
}

// scatter distributes the units of o over several objects in random order, and merges some of these
// objects. It also splits some units with a count above 1 into several equal units.
func scatter(r *rand.Rand, o *object.Object) ([]*object.Object, error) {
	var parts []*object.Object
	var units []object.Unit
	for _, u := range o.Units {
		for u.Count > 1 && r.Intn(2) == 0 {
			one := u
			one.Count = 1
			u.Count--
			units = append(units, one)
		}
		units = append(units, u)
	}
	r.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	for len(units) > 0 {
		k := 1 + r.Intn(len(units))
		part := &object.Object{Target: o.Target, Features: o.Features, Graph: o.Graph}
		for _, u := range units[:k] {
			u.Items = append([]types.ID(nil), u.Items...)
			r.Shuffle(len(u.Items), func(i, j int) { u.Items[i], u.Items[j] = u.Items[j], u.Items[i] })
			part.Units = append(part.Units, u)
		}
		parts, units = append(parts, reorder(r, part)), units[k:]
	}
	for len(parts) > 1 && r.Intn(3) > 0 {
		i := r.Intn(len(parts) - 1)
		m, err := object.Merge(parts[i], parts[i+1])
		if err != nil {
			return nil, err
		}
		parts = append(append(parts[:i:i], m), parts[i+2:]...)
	}
	return parts, nil
}

// reorder rebuilds an object's graph with its nodes in a different order.
func reorder(r *rand.Rand, o *object.Object) *object.Object {
	out := object.New(o.Target, o.Features)
	g := out.Graph
	ids := make([]types.ID, len(o.Graph.Nodes))
	done := make([]bool, len(o.Graph.Nodes))
	done[0] = true
	var pins [][2]types.ID // stubs, and what they mean in o
	var add func(id types.ID) types.ID
	add = func(id types.ID) types.ID {
		if done[id] {
			return ids[id]
		}
		done[id] = true
		n := o.Graph.Nodes[id]
		old := o.Graph.ElemsOf(&n)
		elems := make([]types.Elem, len(old))
		for _, i := range r.Perm(len(old)) {
			elems[i] = types.Elem{Name: g.Strs.Intern(o.Graph.Strs.Bytes(old[i].Name)), Ref: add(old[i].Ref),
				Val: old[i].Val}
		}
		pinned := n.Ref
		n.Name = g.Strs.Intern(o.Graph.Strs.Bytes(n.Name))
		if n.Kind == types.KindStub {
			n.Ref = 0
		} else {
			n.Ref = add(n.Ref)
		}
		ids[id] = g.AddHashed(n, elems)
		if n.Kind == types.KindStub && pinned != 0 {
			pins = append(pins, [2]types.ID{ids[id], pinned})
		}
		return ids[id]
	}
	for _, u := range o.Units {
		nu := u
		nu.File = g.Strs.Intern(o.Graph.Strs.Bytes(u.File))
		nu.Items = nil
		for _, id := range u.Items {
			nu.Items = append(nu.Items, add(id))
		}
		out.Units = append(out.Units, nu)
	}
	for i := 0; i < len(pins); i++ {
		to := add(pins[i][1])
		g.Nodes[pins[i][0]].Ref = to
	}
	return out
}
