package badinput

import (
	"fmt"
	"math/rand"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// A graph is BTF whose types refer to each other in a way that no compiler makes: in long chains
// and rings, or on exponentially many paths.
type graph struct {
	name string
	// fill adds types until the builder has about the given number of bytes.
	fill func(b *btf.Builder, bytes int)
}

// A hop is a way to refer to a type.
type hop struct {
	name    string
	records uint32 // how many records it takes
	bytes   int    // their size
	// add adds the records; the first one leads to the given type.
	add func(b *btf.Builder, to uint32)
}

const pointer, integer = btf.KindPtr, 1 // integer is the id of the INT in all graphs

// hops has one hop for each kind of reference.
func hops() []hop {
	list := []hop{
		{"itself", 0, 0, func(*btf.Builder, uint32) {}},
		{"array element", 1, 24, func(b *btf.Builder, to uint32) { b.Array(to, integer, 1) }},
		{"array index", 1, 24, func(b *btf.Builder, to uint32) { b.Array(integer, to, 1) }},
		{"return type", 2, 24, func(b *btf.Builder, to uint32) {
			b.Ref(pointer, "", b.NextID()+1)
			b.FuncProto(to)
		}},
		{"parameter", 2, 32, func(b *btf.Builder, to uint32) {
			b.Ref(pointer, "", b.NextID()+1)
			b.FuncProto(0, btf.Param{Type: to})
		}},
		{"typedef of one name", 2, 24, func(b *btf.Builder, to uint32) {
			b.Ref(btf.KindTypedef, "t", b.NextID()+1)
			b.Ref(pointer, "", to)
		}},
		{"member", 1, 24, func(b *btf.Builder, to uint32) { composite(b, btf.KindStruct, "", to) }},
		{"member of a union", 2, 36, func(b *btf.Builder, to uint32) {
			b.Ref(pointer, "", b.NextID()+1)
			composite(b, btf.KindUnion, "", to)
		}},
	}
	for _, k := range []btf.Kind{pointer, btf.KindConst, btf.KindVolatile, btf.KindRestrict,
		btf.KindTypedef, btf.KindTypeTag} {
		list = append(list, hop{k.String(), 1, 12, func(b *btf.Builder, to uint32) {
			name := ""
			switch k {
			case btf.KindTypedef:
				name = "t" + strconv.Itoa(int(b.NextID()))
			case btf.KindTypeTag:
				name = "tag"
			}
			b.Ref(k, name, to)
		}})
	}
	return list
}

func composite(b *btf.Builder, kind btf.Kind, name string, to ...uint32) {
	var members []btf.Member
	for i, typ := range to {
		members = append(members, btf.Member{Type: typ, Offset: 64 * uint32(i),
			NameOff: b.Name("m" + strconv.Itoa(i))})
	}
	b.Composite(kind, name, 8*uint32(len(to)), false, members...)
}

// tags are ways to name structs.
var tags = []struct {
	name string
	of   func(i int) string
}{
	{"anonymous structs", func(int) string { return "" }},
	{"structs", func(i int) string { return "s" + strconv.Itoa(i) }},
	{"structs of one name", func(int) string { return "s" }},
}

// shapes are ways in which n structs refer to two others each.
var shapes = []struct {
	name string
	next func(i, n int, random *rand.Rand) (int, int)
}{
	{"a chain", func(i, n int, _ *rand.Rand) (int, int) { return i + 1, n }},
	{"a ring", func(i, n int, _ *rand.Rand) (int, int) { return (i + 1) % n, n }},
	{"a ladder", func(i, _ int, _ *rand.Rand) (int, int) { return i + 1, i + 1 }},
	{"a ladder ring", func(i, n int, _ *rand.Rand) (int, int) { return (i + 1) % n, (i + 1) % n }},
	{"a net", func(i, n int, r *rand.Rand) (int, int) { return r.Intn(n), r.Intn(n) }},
	{"a net without rings", func(i, n int, r *rand.Rand) (int, int) {
		return min(n, i+1+r.Intn(8)), min(n, i+1+r.Intn(8))
	}},
}

// graphs returns structs that refer to each other in every way, in one piece or in pieces that are
// not deeper than a shape may be.
func graphs() []graph {
	var list []graph
	for _, tag := range tags {
		for _, shape := range shapes {
			for _, h := range hops() {
				for _, piece := range []int{1 << 20, 200} {
					name := fmt.Sprintf("%s: %s, %s", tag.name, shape.name, h.name)
					if piece < 1<<20 {
						name += ", in pieces"
						if tag.of(0) != "" {
							continue // a chain of named structs may be long
						}
					}
					list = append(list, graph{name, func(b *btf.Builder, bytes int) {
						random := rand.New(rand.NewSource(1))
						b.Int("int", 4, btf.IntSigned, 0)
						total := bytes / (36 + 2*h.bytes + len(tag.of(1000)))
						for first := 0; first < total; first += piece {
							n := min(piece, total-first)
							begin := b.NextID()
							at := func(i int) uint32 {
								if i >= n {
									return integer
								}
								return begin + uint32(i)*(1+2*h.records)
							}
							for i := range n {
								x, y := shape.next(i, n, random)
								if h.records == 0 {
									composite(b, btf.KindStruct, tag.of(first+i), at(x), at(y))
									continue
								}
								composite(b, btf.KindStruct, tag.of(first+i), at(i)+1, at(i)+1+h.records)
								h.add(b, at(x))
								h.add(b, at(y))
							}
						}
					}})
				}
			}
		}
	}
	return list
}
