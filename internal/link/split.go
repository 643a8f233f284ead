package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// baseTypes are the types that a chain of bases has: they take part when types are told apart, and
// a type that is among them is referred to by its id there and not written again.
type baseTypes struct {
	blob     *btf.Blob  // the last of the chain, nil without bases
	ids      []types.ID // the node of each BTF id
	in       []bool     // by node
	declared []types.ID // stubs of tags that the chain declares
	byNode   []uint32   // by node: the smallest id of a shape that doesn't vary
	byColour map[types.Hash]uint32
	tags     map[declTag]bool
	copies   [][]types.ID // the items of units that are bases: split BTF brings them along
	// by tag that varies: what the chain means by it: its definition, if it has just one
	single []types.ID
	apart  []int32 // tags that one base defines and another one declares: see object.AddBTF
}

// declTag is the content of a DECL_TAG on a type that has an id.
type declTag struct {
	name   types.Str
	target uint32
	aux    uint32
	flag   bool
}

// addBases adds the bases' shapes to the graph.
func (l *linker) addBases(t object.Target, bases []*btf.Blob) error {
	b := &l.base
	b.byColour = map[types.Hash]uint32{}
	if len(bases) == 0 {
		return nil
	}
	b.blob = bases[len(bases)-1]
	o := &object.Object{Target: t, Graph: l.g}
	ids, err := o.AddBTF(object.Chain(b.blob)...)
	if err != nil {
		return err
	}
	b.ids = ids
	l.dropBases(o.Units)
	b.in = make([]bool, len(l.g.Nodes))
	for _, id := range ids {
		if id != 0 && !b.in[id] {
			b.in[id] = true
			if l.g.Nodes[id].Kind == types.KindStub {
				b.declared = append(b.declared, id)
			}
		}
	}
	return nil
}

// dropBases empties the linked units that are bases: split BTF as an input brings them along. There
// a base's stubs may be pinned that are not in the base alone, so they are compared without regard
// to pins.
func (l *linker) dropBases(bases []object.Unit) {
	if !slices.ContainsFunc(l.units, func(u object.Unit) bool { return u.Linked }) {
		return
	}
	l.nodes = l.g.Nodes
	shapes := make([]types.Hash, len(l.nodes))
	for id := range l.nodes {
		n := &l.nodes[id]
		if n.Kind == types.KindStub {
			shapes[id] = types.HashStub(types.Tag(n.Aux), l.g.Strs.Hash(n.Name))
		} else {
			shapes[id] = l.shapeHash(types.ID(id), func(r types.ID) types.Hash { return shapes[r] })
		}
	}
	content := func(u *object.Unit) types.Hash {
		var list []types.Hash
		for _, id := range u.Items {
			list = append(list, shapes[id])
		}
		slices.SortFunc(list, types.Hash.Cmp)
		h := types.Start(types.KindVoid, 0, 0, types.Hash{}, types.Hash{})
		for _, s := range slices.Compact(list) {
			h.Elem(types.Hash{}, s, 0)
		}
		return h.Sum(false)
	}
	known := map[types.Hash]bool{}
	for i := range bases {
		known[content(&bases[i])] = true
	}
	l.units, l.isBase = slices.Clone(l.units), make([]bool, len(l.units))
	for i := range l.units {
		if u := &l.units[i]; u.Linked && known[content(u)] {
			l.base.copies = append(l.base.copies, u.Items)
			u.Items, l.isBase[i] = nil, true
		}
	}
}

func (l *linker) inBase(id types.ID) bool { return l.base.in != nil && l.base.in[id] }

// matchable tells whether a type of a split BTF can be one of the base's: functions, variables and
// their sections never are, and declaration tags are looked at on their own.
func matchable(k types.Kind) bool {
	switch k {
	case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
		return false
	}
	return true
}

// addBaseWorlds makes the bases one world of their own, and another one of each base that an input
// brought along.
func (l *linker) addBaseWorlds(stamp []int32) {
	if l.base.blob == nil {
		return
	}
	l.addBaseWorld(baseWorld, l.base.ids, stamp, -1)
	l.base.single = make([]types.ID, len(l.tags.list))
	for _, id := range l.worlds[len(l.worlds)-1].anchors {
		t := l.tags.of[id]
		switch {
		case t < 0:
		case l.base.single[t] == 0:
			l.base.single[t] = id
		default:
			l.base.single[t] = several
		}
	}
	l.base.apart = l.findApart()
	for _, t := range l.base.apart {
		l.base.single[t] = several
	}
	for t, d := range l.base.single {
		if d == several {
			l.base.single[t] = 0
		}
	}
	for i, items := range l.base.copies {
		l.addBaseWorld(copyWorld, items, stamp, -2-int32(i))
	}
}

// findApart lists the tags that one base of the chain defines and another one declares.
func (l *linker) findApart() []int32 {
	var apart []int32
	layer := map[int32]int{} // of a declaration; -1: of several
	chain := object.Chain(l.base.blob)
	if len(chain) < 2 {
		return nil
	}
	for pass := range 2 {
		for i, b := range chain {
			for id := b.StartID; id < b.EndID(); id++ {
				node := l.base.ids[id]
				t := l.tags.of[node]
				if t < 0 {
					continue
				}
				at, ok := layer[t]
				switch isStub := l.nodes[node].Kind == types.KindStub; {
				case pass == 0 && isStub && (!ok || at == i):
					layer[t] = i
				case pass == 0 && isStub:
					layer[t] = -1
				case pass == 1 && !isStub && ok && at != i:
					apart = append(apart, t)
				}
			}
		}
	}
	return apart
}

func (l *linker) addBaseWorld(kind worldKind, ids []types.ID, stamp []int32, mark int32) {
	w := world{kind: kind}
	for _, id := range ids {
		if l.role[id] == anchor && stamp[id] != mark {
			stamp[id] = mark
			w.anchors = append(w.anchors, id)
		}
		if l.role[id] == inner && matchable(l.nodes[id].Kind) {
			l.program(id)
		}
	}
	for i := 0; i < len(w.anchors); i++ {
		for _, s := range l.progs.slotsOf(l.program(w.anchors[i])) {
			if s.tag < 0 && stamp[s.node] != mark {
				stamp[s.node] = mark
				w.anchors = append(w.anchors, s.node)
			}
		}
	}
	l.worlds = append(l.worlds, w)
}

// baseInstances notes what the bases' varying types are; v shows the base world.
func (l *linker) baseInstances(v *view) {
	for i, id := range l.base.ids {
		n := &l.nodes[id]
		if l.role[id] == plain || !matchable(n.Kind) {
			continue
		}
		if n.Kind == types.KindStub && v.single(l.tags.of[id]) != 0 {
			continue // a forward declaration beside the definition
		}
		colour := l.inst.list[l.instanceIn(v, id)].colour
		if _, ok := l.base.byColour[colour]; !ok {
			l.base.byColour[colour] = uint32(i)
		}
	}
}

// indexBase notes the ids of the bases' other types, and the declaration tags that the bases have.
func (l *linker) indexBase() {
	b := &l.base
	if b.blob == nil {
		return
	}
	b.byNode = make([]uint32, len(l.nodes))
	b.tags = map[declTag]bool{}
	for i, id := range b.ids {
		n := &l.nodes[id]
		switch {
		case n.Kind == types.KindDeclTag:
			t, _ := b.blob.ByID(uint32(i))
			b.tags[declTag{n.Name, t.SizeOrType, n.Aux, n.Flag}] = true
		case l.role[id] != plain || !matchable(n.Kind) || b.byNode[id] != 0:
		case n.Kind == types.KindStub && l.tags.list[l.tags.of[id]].def != 0 &&
			b.in[l.tags.list[l.tags.of[id]].def]:
		default:
			b.byNode[id] = uint32(i)
		}
	}
}

// baseID returns the id that a type has in the bases, 0 if it has none.
func (l *linker) baseID(f final) uint32 {
	switch i := int(f) - len(l.nodes); {
	case l.base.blob == nil:
		return 0
	case i < 0:
		return l.base.byNode[f]
	case i < len(l.inst.list):
		return l.base.byColour[l.inst.list[i].colour]
	}
	return 0
}
