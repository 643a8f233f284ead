package link

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// A world is what units with the same varying definitions and typedefs share: in all of them the
// same shape is the same type. A kernel's thousands of units make few worlds that differ from the
// commonest.
type world struct {
	anchors []types.ID
	units   []int32 // indexes in linker.units
	weight  uint64  // how many units
	sig     types.Hash
	kind    worldKind
}

// worldKind says where a world's units are from. Worlds are preferred in this order where several
// have a type.
type worldKind uint8

const (
	ownWorld   worldKind = iota
	splitWorld           // of split BTF that was linked before, on the bases
	baseWorld            // the bases, as one world
	// a base as split BTF brought it along: it may be pinned in other ways than the base itself
	copyWorld
)

// fromBase tells whether the types of a world are a base's.
func (k worldKind) fromBase() bool { return k >= baseWorld }

// findVarying lists the varying shapes that each unit holds, in the units' order. Most units hold
// none.
func (l *linker) findVarying() [][]types.ID {
	varying := make([][]types.ID, len(l.units))
	role := l.role
	add := func(u int, items []types.ID) {
		for _, id := range items {
			if role[id] != plain {
				varying[u] = append(varying[u], id)
			}
		}
	}
	const part = 1 << 7
	parallel(l.jobs, (len(l.units)+part-1)/part, func(i int) {
		for u := i * part; u < min((i+1)*part, len(l.units)); u++ {
			if !l.selected[u] {
				continue
			}
			items := l.units[u].Items
			for ; len(items) >= 4; items = items[4:] { // nearly all of them are plain
				if role[items[0]]|role[items[1]]|role[items[2]]|role[items[3]] != plain {
					add(u, items[:4])
				}
			}
			add(u, items)
		}
	})
	return varying
}

// findWorlds groups the selected units by the varying definitions and typedefs that they hold.
func (l *linker) findWorlds() {
	bySig := map[types.Hash]int32{}
	var anchors, arena []types.ID
	l.leaves = make([][]types.ID, len(l.units))
	l.worldOf = make([]int32, len(l.units))
	stamp := make([]int32, len(l.nodes))
	child := make([]int32, len(l.nodes))
	var refs []types.ID
	l.attached = make([][]types.ID, len(l.units))
	var leafArena, attachedArena []types.ID
	for u, varying := range l.findVarying() {
		l.worldOf[u] = -1
		if len(varying) == 0 {
			continue
		}
		anchors = anchors[:0]
		leaves, attached := len(leafArena), len(attachedArena)
		var sig types.Hash
		add := func(id types.ID) {
			if stamp[id] == int32(u)+1 {
				return
			}
			stamp[id] = int32(u) + 1
			anchors = append(anchors, id)
			h := types.Start(types.KindVoid, 0, 0, l.nodes[id].Hash, types.Hash{})
			s := h.Sum(false)
			sig.A += s.A
			sig.B += s.B
		}
		follow := func(id types.ID) { // what a shape leads to by name
			for _, s := range l.progs.slotsOf(l.program(id)) {
				if s.tag < 0 {
					add(s.node)
				}
			}
		}
		if l.units[u].Linked {
			for _, id := range varying {
				if l.role[id] == inner || l.role[id] == anchor {
					for _, r := range l.g.Refs(id, refs[:0]) {
						child[r] = int32(u) + 1
					}
				}
			}
		}
		for _, id := range varying {
			switch l.role[id] {
			case anchor:
				add(id)
			case inner:
				switch l.nodes[id].Kind {
				case types.KindDeclTag, types.KindDatasec:
					attachedArena = append(attachedArena, id)
					continue
				case types.KindFunc, types.KindVar:
				default:
					if child[id] == int32(u)+1 {
						continue // made with what it is a part of
					}
				}
				leafArena = append(leafArena, id)
				follow(id)
			}
		}
		l.leaves[u] = leafArena[leaves:len(leafArena):len(leafArena)]
		l.attached[u] = attachedArena[attached:len(attachedArena):len(attachedArena)]
		for i := 0; i < len(anchors); i++ {
			follow(anchors[i])
		}
		if len(anchors) == 0 && len(l.leaves[u]) == 0 && len(l.attached[u]) == 0 {
			continue
		}
		kind := ownWorld
		if l.units[u].Linked && len(l.base.copies) > 0 {
			kind = splitWorld
			sig.A++
		}
		w, ok := bySig[sig]
		if !ok {
			w = int32(len(l.worlds))
			bySig[sig] = w
			start := len(arena)
			arena = append(arena, anchors...)
			l.worlds = append(l.worlds, world{anchors: arena[start:len(arena):len(arena)], sig: sig,
				kind: kind})
		}
		l.worldOf[u] = w
		l.worlds[w].units = append(l.worlds[w].units, int32(u))
		l.worlds[w].weight += uint64(l.units[u].Count)
	}
	l.addBaseWorlds(stamp)
}

// view is one world laid open: what each tag and anchor is in it. Entering another world costs what
// that one holds.
type view struct {
	world   int32
	round   int32   // how many worlds have been entered
	tagSeen []int32 // by tag: the round
	def     []types.ID
	seen    []int32 // by node: the round
	node    []int32 // by node: the node of the graph of types that an odd anchor has, -1 for others
}

const several = ^types.ID(0)

// view returns the linker's only view, in which no world is laid open yet.
func (l *linker) view() *view {
	if l.onlyView == nil {
		l.onlyView = &view{
			tagSeen: make([]int32, len(l.tags.list)),
			def:     make([]types.ID, len(l.tags.list)),
			seen:    make([]int32, len(l.nodes)),
			node:    make([]int32, len(l.nodes)),
		}
	}
	return l.onlyView
}

// enter lays open world w.
func (l *linker) enter(v *view, w int32) {
	v.world = w
	v.round++
	for _, id := range l.worlds[w].anchors {
		v.seen[id] = v.round
		v.node[id] = -1
		if t := l.tags.of[id]; t >= 0 {
			if v.tagSeen[t] == v.round {
				v.def[t] = several
				continue
			}
			v.tagSeen[t] = v.round
			v.def[t] = id
		}
	}
	if l.worlds[w].kind == baseWorld {
		for _, t := range l.base.apart {
			v.tagSeen[t], v.def[t] = v.round, several
		}
	}
}

// holds tells whether the world has the anchor.
func (v *view) holds(id types.ID) bool { return v.seen[id] == v.round }

// single returns the world's definition of a tag, 0 when there is none or several.
func (v *view) single(t int32) types.ID {
	if v.tagSeen[t] != v.round || v.def[t] == several {
		return 0
	}
	return v.def[t]
}

// target returns the anchor of this world that a slot means, 0 when the world leaves it open.
func (l *linker) target(v *view, s *slot) types.ID {
	switch {
	case s.tag < 0:
		return s.node
	case l.nodes[s.node].Size != 0:
		if d := l.nodes[s.node].Ref; v.holds(d) {
			return d
		}
		return 0
	}
	return v.single(s.tag)
}
