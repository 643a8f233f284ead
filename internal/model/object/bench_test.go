package object

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// kernelSized returns an object as large as a distribution's kernel. It has 44,000 shapes, and
// 2,700 units that each hold about a thousand of these shapes: 800 that all units share, and others
// at random.
func kernelSized() *Object {
	r := rand.New(rand.NewPCG(1, 4))
	o := New(amd64, features.Default())
	g := o.Graph
	var items []types.ID
	base := g.Add(types.Node{Kind: types.KindInt, Name: g.Strs.Intern([]byte("int")), Size: 4}, nil)
	for i := range 14500 {
		name := g.Strs.Intern(fmt.Appendf(nil, "some_type_%d", i))
		ptr := g.Add(types.Node{Kind: types.KindPtr, Ref: g.Stub(types.TagStruct, name)}, nil)
		var elems []types.Elem
		for m := range 1 + r.IntN(12) {
			elems = append(elems, types.Elem{Name: g.Strs.Intern(fmt.Appendf(nil, "member_%d",
				r.IntN(30000))), Ref: base, Val: uint64(m) * 32})
		}
		elems[0].Ref = ptr
		items = append(items, g.Add(types.Node{Kind: types.KindStruct, Name: name,
			Size: uint32(len(elems)) * 4}, elems),
			g.Add(types.Node{Kind: types.KindTypedef, Name: name, Ref: ptr}, nil))
	}
	for i := range 2700 {
		u := Unit{File: g.Strs.Intern(fmt.Appendf(nil, "file%d.c", i)), Count: 1}
		u.Items = append(u.Items, items[:800]...)
		for _, id := range items[800:] {
			if r.IntN(150) == 0 {
				u.Items = append(u.Items, id)
			}
		}
		o.Units = append(o.Units, u)
	}
	return o
}

func BenchmarkMerge(b *testing.B) {
	o := kernelSized()
	for b.Loop() {
		must.Get(Merge(o))(b)
	}
}

func BenchmarkWrite(b *testing.B) {
	o := kernelSized()
	for b.Loop() {
		b.SetBytes(int64(len(write(b, o))))
	}
}

func BenchmarkRead(b *testing.B) {
	data := write(b, kernelSized())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.Get(read(data))(b)
	}
}

// BenchmarkReadSmall reads an object made from one source file.
func BenchmarkReadSmall(b *testing.B) {
	o := kernelSized()
	o.Units = o.Units[:1]
	data := write(b, o)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.Get(read(data))(b)
	}
}

func BenchmarkFromBTF(b *testing.B) {
	blob := runningKernel(b)
	for b.Loop() {
		fromBTF(b, blob)
	}
}
