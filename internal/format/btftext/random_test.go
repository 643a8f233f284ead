package btftext_test

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/btftext"
)

// names are few, so that many types have equal names, and differ at most in references.
var names = []string{"a", "b", "c", "int", "unsigned int", "__int128 unsigned",
	"core::Option<&'a \\str>", "größe", ".data..x", "f.isra.0", "type_tag", "\"[{},", "long\n\x7f"}

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

// generator makes random BTF of all kinds that a reference has.
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
	g.plan = []planned{{btf.KindInt, btftext.Index}}
	for range n {
		p := planned{kind: btf.Kind(1 + g.IntN(int(btf.KindEnum64)))}
		switch p.kind {
		case btf.KindPtr, btf.KindArray, btf.KindConst, btf.KindVolatile, btf.KindRestrict,
			btf.KindFuncProto:
		case btf.KindDatasec, btf.KindDeclTag:
			p = planned{btf.KindInt, "int"}
		case btf.KindInt, btf.KindFloat, btf.KindTypedef, btf.KindFunc:
			p.name = cmp.Or(g.name(), "t")
		default:
			p.name = g.name()
		}
		g.plan = append(g.plan, p)
	}
	for i := range g.plan {
		g.add(&g.plan[i])
	}
	// A reference has only those pointers, arrays and so on that other types use.
	for i, p := range g.plan {
		switch p.kind {
		case btf.KindFunc, btf.KindVar:
		default:
			if !p.isHub() {
				g.Var("user", uint32(i)+1, btf.LinkageGlobal)
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
		case btf.KindFunc, btf.KindVar:
			return false
		}
		return p.isHub() || id < next || from.isHub() && id != next
	})
}

func (g *generator) add(p *planned) {
	n := g.IntN(4)
	flag := g.IntN(2) == 0
	switch p.kind {
	case btf.KindFloat:
		g.Float(p.name, 4<<g.Uint32N(3))
	case btf.KindPtr, btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypedef:
		g.Ref(p.kind, p.name, g.ref())
	case btf.KindTypeTag:
		g.Add(btf.Type{Kind: p.kind, NameOff: g.Name(p.name), SizeOrType: g.ref(), KFlag: flag})
	case btf.KindArray:
		g.Array(g.ref(), 1, g.Uint32N(3))
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
		g.Var(p.name, g.ref(), btf.LinkageGlobal)
	case btf.KindFunc:
		if to := g.pick(isKind(btf.KindFuncProto)); to != 0 {
			g.Func(p.name, to, btf.LinkageGlobal)
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

// TestRandom checks that a reference has all content.
func TestRandom(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 25))
		checkLossless(t, randomBlob(r, 1+r.IntN(90)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
