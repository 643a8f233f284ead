package object

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var amd64 = Target{AddrSize: 8, Order: binary.LittleEndian, Machine: 62}

// generator makes random objects with few names, so that tags get several definitions and units
// have much in common.
type generator struct {
	*rand.Rand
	o     *Object
	refs  []types.ID // what members, pointers and parameters may refer to
	items []types.ID
	defs  map[types.TagName][]types.ID
}

func randomObject(seed uint64) *Object {
	r := rand.New(rand.NewPCG(seed, 1))
	g := &generator{Rand: r, o: New(amd64, features.Default()), refs: []types.ID{0},
		defs: map[types.TagName][]types.ID{}}
	for range 10 + g.IntN(60) {
		g.node()
	}
	for range g.IntN(8) {
		u := Unit{File: g.str("file", 4, ".c"), FromBTF: g.IntN(4) == 0, Count: 1 + g.Uint32N(3)}
		for _, id := range g.items {
			if g.IntN(3) > 0 {
				u.Items = append(u.Items, id)
			}
		}
		g.Shuffle(len(u.Items), func(i, j int) { u.Items[i], u.Items[j] = u.Items[j], u.Items[i] })
		g.o.Units = append(g.o.Units, u)
	}
	return g.o
}

func (g *generator) str(prefix string, n int, suffix string) types.Str {
	return g.o.Graph.Strs.Intern(fmt.Appendf(nil, "%s%d%s", prefix, g.IntN(n), suffix))
}

func (g *generator) ref() types.ID { return g.refs[g.IntN(len(g.refs))] }

func (g *generator) elems(prefix string, named bool, val func(i int) uint64,
	ref func() types.ID) []types.Elem {
	var list []types.Elem
	for i := range g.IntN(4) {
		e := types.Elem{Ref: ref(), Val: val(i)}
		if named || g.IntN(3) > 0 {
			e.Name = g.str(prefix, 5, "")
		}
		list = append(list, e)
	}
	return list
}

// node adds one node, as an item and, if C allows it, as a type that others may refer to.
func (g *generator) node() {
	gr := g.o.Graph
	add := func(n types.Node, elems []types.Elem) types.ID {
		id := gr.Add(n, elems)
		if !slices.Contains(g.items, id) {
			g.items = append(g.items, id)
		}
		return id
	}
	use := func(id types.ID) { g.refs = append(g.refs, id) }
	zero := func(int) uint64 { return 0 }
	switch g.IntN(12) {
	case 0:
		use(add(types.Node{Kind: types.KindInt, Name: g.str("int", 3, ""), Size: 4, Aux: 1<<24 | 32},
			nil))
	case 1:
		kinds := []types.Kind{types.KindPtr, types.KindConst, types.KindVolatile, types.KindRestrict}
		use(gr.Add(types.Node{Kind: kinds[g.IntN(4)], Ref: g.ref()}, nil))
	case 2:
		use(gr.Add(types.Node{Kind: types.KindArray, Ref: g.ref(), Size: g.Uint32N(9)},
			[]types.Elem{{Ref: g.ref()}}))
	case 3, 4, 5:
		kind := []types.Kind{types.KindStruct, types.KindUnion}[g.IntN(2)]
		n := types.Node{Kind: kind, Size: 8 * g.Uint32N(3), Flag: g.IntN(2) == 0}
		if g.IntN(3) > 0 {
			n.Name = g.str("tag", 4, "")
		}
		id := gr.Add(n, g.elems("m", false, func(i int) uint64 { return uint64(i) * 32 }, g.ref))
		if n.Name == 0 {
			use(id)
			return
		}
		add(n, gr.ElemsOf(gr.Node(id)))
		g.define(types.TagOf(kind), n.Name, id)
	case 6:
		kind := []types.Kind{types.KindEnum, types.KindEnum64}[g.IntN(2)]
		n := types.Node{Kind: kind, Size: 4, Flag: g.IntN(2) == 0, Name: g.str("tag", 4, "")}
		if kind == types.KindEnum64 {
			n.Size = 8
		}
		elems := g.elems("E", true, func(i int) uint64 {
			switch {
			case n.Flag && kind == types.KindEnum:
				return uint64(uint32(-i)) // an ENUM's 32 bits
			case n.Flag:
				return uint64(int64(-i))
			}
			return uint64(i)
		}, func() types.ID { return 0 })
		if len(elems) > 0 {
			g.define(types.TagEnum, n.Name, add(n, elems))
		}
	case 7:
		use(add(types.Node{Kind: types.KindTypedef, Name: g.str("t", 6, ""), Ref: g.ref()}, nil))
	case 8:
		proto := gr.Add(types.Node{Kind: types.KindFuncProto, Ref: g.ref()},
			g.elems("p", false, zero, g.ref))
		use(proto)
		fn := add(types.Node{Kind: types.KindFunc, Name: g.str("f", 6, ""), Ref: proto, Aux: g.Uint32N(2),
			Size: g.Uint32N(4)}, nil)
		add(types.Node{Kind: types.KindDeclTag, Name: g.str("mark", 2, ""), Ref: fn, Aux: g.Uint32N(2)},
			nil)
	case 9:
		n := types.Node{Kind: types.KindVar, Name: g.str("v", 6, ""), Ref: g.ref(), Aux: g.Uint32N(2),
			Size: g.Uint32N(3)}
		n.Flag = n.Size == 2
		v := add(n, nil)
		add(types.Node{Kind: types.KindDatasec, Name: g.str(".data", 2, ""), Size: 8},
			[]types.Elem{{Ref: v, Val: 8 | 4<<32}})
	case 10:
		stub := gr.Stub(types.Tag(1+g.IntN(3)), g.str("tag", 5, ""))
		use(stub)
		if g.IntN(3) == 0 && !slices.Contains(g.items, stub) {
			g.items = append(g.items, stub)
		}
		if g.IntN(4) == 0 {
			add(types.Node{Kind: types.KindDeclTag, Name: g.str("mark", 2, ""), Ref: stub}, nil)
		}
	case 11:
		use(gr.Add(types.Node{Kind: types.KindTypeTag, Name: g.str("user", 2, ""), Ref: g.ref(),
			Flag: g.IntN(4) == 0}, nil))
		add(types.Node{Kind: types.KindFloat, Name: g.str("float", 2, ""), Size: 4}, nil)
	}
}

// define lets other types refer to a new definition, either through a plain stub or a pinned one.
func (g *generator) define(tag types.Tag, name types.Str, id types.ID) {
	gr := g.o.Graph
	k := types.TagName{Tag: tag, Name: name}
	g.defs[k] = append(g.defs[k], id)
	if g.IntN(4) == 0 {
		g.items = append(g.items, gr.Add(types.Node{Kind: types.KindDeclTag, Name: g.str("mark", 99, ""),
			Ref: id, Aux: 1}, nil))
		slices.Sort(g.items)
		g.items = slices.Compact(g.items)
	}
	if g.IntN(2) == 0 {
		g.refs = append(g.refs, gr.Stub(tag, name))
		return
	}
	stub := gr.PinnedStub(tag, name, gr.Node(id).Hash)
	gr.Node(stub).Ref = id
	g.refs = append(g.refs, stub)
}

// meaning describes the content of an object in words that don't depend on ids or order.
func meaning(o *Object) []string {
	var list []string
	for _, u := range o.Units {
		var items []string
		for _, id := range u.Items {
			items = append(items, describe(o.Graph, id, nil))
		}
		slices.Sort(items)
		list = append(list, fmt.Sprintf("%s linked=%v ×%d: %q", o.Graph.Strs.String(u.File), u.FromBTF,
			u.Count, items))
	}
	slices.Sort(list)
	return append(list, fmt.Sprint(o.Target, o.Features))
}

// describe spells out a type and all types to which it refers. It stops at plain stubs, and at
// pinned stubs that close a cycle.
func describe(g *types.Graph, id types.ID, path []types.ID) string {
	if id == 0 {
		return "void"
	}
	n := g.Node(id)
	if n.Kind == types.KindStub {
		s := fmt.Sprintf("tag%d %s", n.Aux, g.Name(n))
		if n.Size == 1 {
			s += fmt.Sprintf(" pin %x is", g.Pin(n))
			if i := slices.Index(path, n.Ref); i >= 0 {
				return fmt.Sprintf("%s ^%d", s, len(path)-i)
			}
			return s + " " + describe(g, n.Ref, append(path, n.Ref))
		}
		return s
	}
	s := fmt.Sprintf("(%d %q %d %v ", n.Kind, g.Name(n), n.Size, n.Flag)
	s += fmt.Sprint(n.Aux)
	s += " " + describe(g, n.Ref, path)
	for _, e := range g.ElemsOf(n) {
		s += fmt.Sprintf(", %s %d %s", g.Strs.String(e.Name), e.Val, describe(g, e.Ref, path))
	}
	return s + ")"
}

func write(t testing.TB, o *Object) []byte {
	t.Helper()
	data := must.Get(Write(o, 1))(t)
	return data
}
