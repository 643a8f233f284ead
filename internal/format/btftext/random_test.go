package btftext_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// names are few, so that many types have equal names, and differ at most in references.
var names = []string{"a", "b", "c", "int", "unsigned int", "__int128 unsigned", "struct", "void",
	"core::Option<&'a \\str>", "größe", ".data..x", "f.isra.0", "decl_tag", "bits", "long\n\x7f"}

// planned is a type of which only the kind and the name are known.
type planned struct {
	kind btf.Kind
	name string
}

// isHub reports whether the type may be in cycles, because its name, not its content, is written
// where other types refer to it.
func (p planned) isHub() bool {
	switch p.kind {
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
		return p.name != ""
	case btf.KindInt, btf.KindFloat, btf.KindFwd, btf.KindTypedef:
		return true
	}
	return false
}

// generator makes random BTF of all kinds that the text has.
type generator struct {
	*rand.Rand
	*btf.Builder
	plan []planned // of all types, also those that are not added yet
}

func randomBlob(r *rand.Rand, n int) *btf.Blob {
	var order binary.ByteOrder = binary.LittleEndian
	if r.IntN(4) == 0 {
		order = binary.BigEndian
	}
	g := &generator{Rand: r, Builder: btf.NewBuilder(order, nil, nil)}
	for range n {
		p := planned{kind: btf.Kind(1 + g.IntN(int(btf.KindEnum64)))}
		switch p.kind {
		case btf.KindPtr, btf.KindArray, btf.KindConst, btf.KindVolatile, btf.KindRestrict,
			btf.KindFuncProto:
		default:
			p.name = g.name()
		}
		g.plan = append(g.plan, p)
	}
	for i := range g.plan {
		g.add(&g.plan[i])
	}
	// The text has only those pointers, arrays and so on that other types use.
	for i, p := range g.plan {
		switch p.kind {
		case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
		default:
			if !p.isHub() {
				g.Var("user", uint32(i)+1, 0)
			}
		}
	}
	return g.Finish()
}

func (g *generator) name() string {
	if g.IntN(3) == 0 {
		return ""
	}
	return names[g.IntN(1+g.IntN(len(names)))]
}

// pick returns the id of a type that a function selects, or 0 if there is none.
func (g *generator) pick(ok func(id uint32, p planned) bool) uint32 {
	var ids []uint32
	for i, p := range g.plan {
		if ok(uint32(i+1), p) {
			ids = append(ids, uint32(i+1))
		}
	}
	if len(ids) == 0 {
		return 0
	}
	return ids[g.IntN(len(ids))]
}

// ref returns a type, or void, to which the next type can refer.
func (g *generator) ref() uint32 {
	if g.IntN(10) == 0 {
		return 0
	}
	next := g.NextID()
	from := g.plan[next-1]
	return g.pick(func(id uint32, p planned) bool {
		switch p.kind {
		case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
			return false
		}
		return p.isHub() || id < next || from.isHub() && id != next
	})
}

func (g *generator) add(p *planned) {
	n := g.IntN(4)
	flag := g.IntN(2) == 0
	linkage := g.Uint32N(3)
	switch p.kind {
	case btf.KindFloat:
		g.Float(p.name, 4<<g.Uint32N(3))
	case btf.KindPtr, btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypedef:
		g.Ref(p.kind, p.name, g.ref())
	case btf.KindTypeTag:
		g.Add(btf.Type{Kind: p.kind, NameOff: g.Name(p.name), SizeOrType: g.ref(), KFlag: flag})
	case btf.KindArray:
		g.Array(g.ref(), g.ref(), g.Uint32N(3))
	case btf.KindStruct, btf.KindUnion:
		g.composite(p, n)
	case btf.KindEnum, btf.KindEnum64:
		var values []btf.Enumerator
		for range n {
			v := uint64(g.IntN(5) - 2)
			if p.kind == btf.KindEnum && !flag {
				v = uint64(uint32(v))
			}
			values = append(values, btf.Enumerator{NameOff: g.Name(g.name()), Value: v})
		}
		g.Enum(p.kind, p.name, 4, flag, values...)
	case btf.KindFwd:
		g.Fwd(p.name, flag)
	case btf.KindFuncProto:
		var params []btf.Param
		for range n {
			params = append(params, btf.Param{NameOff: g.Name(g.name()), Type: g.ref()})
		}
		if flag {
			params = append(params, btf.Param{})
		}
		g.FuncProto(g.ref(), params...)
	case btf.KindVar:
		g.Var(p.name, g.ref(), linkage)
	case btf.KindFunc:
		if to := g.pick(isKind(btf.KindFuncProto)); to != 0 {
			g.Func(p.name, to, linkage)
			return
		}
		g.integer(p)
	case btf.KindDatasec:
		var vars []btf.Secinfo
		for range n {
			if v := g.pick(isKind(btf.KindVar)); v != 0 {
				vars = append(vars, btf.Secinfo{Type: v, Offset: g.Uint32N(9), Size: g.Uint32N(9)})
			}
		}
		g.Datasec(p.name, 64, vars...)
	case btf.KindDeclTag:
		// a FUNC that comes later may become an INT
		to := g.pick(func(id uint32, p planned) bool {
			return p.kind.IsComposite() || p.kind == btf.KindTypedef || p.kind == btf.KindVar ||
				p.kind == btf.KindFunc && id < g.NextID()
		})
		if to != 0 {
			g.Add(btf.Type{Kind: p.kind, NameOff: g.Name(p.name), SizeOrType: to, KFlag: flag,
				Extra: g.component(to)})
			return
		}
		g.integer(p)
	default:
		g.integer(p)
	}
}

func isKind(k btf.Kind) func(uint32, planned) bool {
	return func(_ uint32, p planned) bool { return p.kind == k }
}

func (g *generator) integer(p *planned) {
	p.kind = btf.KindInt
	g.Add(btf.Type{Kind: p.kind, NameOff: g.Name(p.name), SizeOrType: 1 << g.Uint32N(4),
		Extra: g.Uint32N(8)<<24 | g.Uint32N(9)/8<<16 | 8 + g.Uint32N(9)/8})
}

func (g *generator) composite(p *planned, n int) {
	var members []btf.Member
	bitfields := uint32(0)
	for range n {
		m := btf.Member{NameOff: g.Name(g.name()), Type: g.ref(), Offset: g.Uint32N(100)}
		if g.IntN(2) == 0 {
			m.Offset *= 8
		}
		if g.IntN(4) == 0 {
			m.Offset |= 3 << 24
			bitfields++
		}
		members = append(members, m)
	}
	g.Composite(p.kind, p.name, g.Uint32N(3), bitfields > 0, members...)
}

// component returns a member or parameter of a type, or the whole type.
func (g *generator) component(id uint32) uint32 {
	b := g.Blob
	t, _ := b.ByID(id)
	if t != nil && t.Kind == btf.KindFunc {
		t, _ = b.ByID(t.SizeOrType)
	}
	if t == nil || !t.Kind.IsComposite() && t.Kind != btf.KindFuncProto || t.Vlen == 0 {
		return btf.DeclTagWhole
	}
	return g.Uint32N(t.Vlen+1) - 1
}

// shuffled returns a blob with the same types in another order.
func shuffled(r *rand.Rand, b *btf.Blob) *btf.Blob {
	c := *b
	c.Members, c.Params = append([]btf.Member{}, b.Members...), append([]btf.Param{}, b.Params...)
	c.Arrays = append([]btf.Array{}, b.Arrays...)
	c.Secinfos = append([]btf.Secinfo{}, b.Secinfos...)
	c.Types = make([]btf.Type, len(b.Types))
	to := r.Perm(len(b.Types))
	for i, t := range b.Types {
		for ref := range c.Refs(&t) {
			if *ref != 0 {
				*ref = uint32(to[*ref-1]) + 1
			}
		}
		c.Types[to[i]] = t
	}
	return &c
}

// twice returns a blob that has each type twice.
func twice(b *btf.Blob) *btf.Blob {
	c := *b
	c.Types = append([]btf.Type{}, b.Types...)
	n := uint32(len(b.Types))
	for _, t := range b.Types {
		switch first := t.First; t.Kind {
		case btf.KindStruct, btf.KindUnion:
			t.First = uint32(len(c.Members))
			c.Members = append(c.Members[:t.First:t.First], b.Members[first:first+t.Vlen]...)
		case btf.KindFuncProto:
			t.First = uint32(len(c.Params))
			c.Params = append(c.Params[:t.First:t.First], b.Params[first:first+t.Vlen]...)
		case btf.KindArray:
			t.First = uint32(len(c.Arrays))
			c.Arrays = append(c.Arrays[:t.First:t.First], b.Arrays[first])
		case btf.KindDatasec:
			t.First = uint32(len(c.Secinfos))
			c.Secinfos = append(c.Secinfos[:t.First:t.First], b.Secinfos[first:first+t.Vlen]...)
		}
		for ref := range c.Refs(&t) {
			if *ref != 0 {
				*ref += n
			}
		}
		c.Types = append(c.Types, t)
	}
	return &c
}

// TestRandom checks that the text has all content, and nothing else: the order of the types doesn't
// matter, nor how often a type is there.
func TestRandom(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 25))
		b := randomBlob(r, 1+r.IntN(90))
		text := checkLossless(t, b)
		if other := write(t, shuffled(r, b)); string(other) != string(text) {
			t.Errorf("the text depends on the order of the types:\n%s\n-- and\n%s", text, other)
		}
		if other := write(t, twice(b)); string(other) != string(text) {
			t.Errorf("with each type twice, the text is\n%s\n-- but otherwise\n%s", other, text)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
