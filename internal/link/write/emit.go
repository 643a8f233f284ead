package write

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/parallel"
	"github.com/rules-btf/rules_btf/internal/types"
)

// chunkStrings is how many strings are copied at a time.
const chunkStrings = 1 << 14

// emit writes the types in w.list. The names that the kernel wants to be identifiers are looked at
// meanwhile.
func (w *writer) emit() ([]byte, error) {
	p := &w.places
	if len(p.tooLong) > 0 {
		k := slices.MinFunc(p.tooLong, func(a, b Type) int { return cmp.Compare(w.ids[a], w.ids[b]) })
		n := w.Node(k)
		return nil, btf.VlenError(w.ids[k], w.kindOf(k), w.Graph.Name(n), n.Count)
	}
	options := btf.EncodeOptions{Layout: w.opt.Layout && w.Base == nil}
	image, err := btf.NewImage(w.blob, p.types, p.length, w.strings.length, options)
	if err != nil {
		return nil, err
	}
	var refused atomic.Bool // the kernel does not take some name
	all := w.strings.list
	strings := (len(all) + chunkStrings - 1) / chunkStrings
	parallel.Do(w.opt.Jobs, strings+len(w.chunks), func(i int) {
		if i < strings {
			part := all[i*chunkStrings : min((i+1)*chunkStrings, len(all))]
			if !w.copyStrings(image.Strings, part) {
				refused.Store(true)
			}
			return
		}
		i -= strings
		r := image.Records(w.chunks[i])
		w.putAll(&r, w.list[i*chunkTypes:min((i+1)*chunkTypes, len(w.list))])
	})
	if w.opt.CheckNames && refused.Load() {
		if err := w.checkNames(); err != nil {
			return nil, err
		}
	}
	return image.Finish(), nil
}

func (w *writer) name(s types.Str) uint32 { return w.strings.offset[s] }

// putAll writes the records of some types.
func (w *writer) putAll(r *btf.Records, list []Type) {
	var shapes [64]types.Node
	for len(list) > 0 {
		some := list[:min(len(shapes), len(list))]
		list = list[len(some):]
		// The shapes lie anywhere. Copied together, no load waits for another one's.
		for i, k := range some {
			if w.madeAt(k) == nil {
				shapes[i] = *w.Node(k)
			}
		}
		for i, k := range some {
			if m := w.madeAt(k); m != nil {
				w.putMade(r, m)
			} else {
				w.put(r, k, &shapes[i])
			}
		}
	}
}

// put writes the record of one type of shape n.
func (w *writer) put(r *btf.Records, k Type, n *types.Node) {
	if n.Kind == types.KindStub {
		t := w.forward(n)
		r.Type(&t)
		return
	}
	id := func(to types.ID) uint32 { return w.ids[to] }
	if w.IsVariant(k) {
		refs := w.Refs(k)
		id = func(to types.ID) uint32 { return w.ids[refs.Next(to)] }
	}
	t := btf.Type{Kind: btf.Kind(n.Kind), NameOff: w.name(n.Name), SizeOrType: n.Size, KFlag: n.Flag,
		Vlen: n.Count}
	elems := w.Graph.Elems[n.First : n.First+n.Count]
	ref := id(n.Ref)
	switch n.Kind {
	case types.KindArray:
		t.SizeOrType, t.Vlen = 0, 0
		r.Type(&t)
		r.Array(btf.Array{Elem: ref, Index: id(elems[0].Ref), Nelems: n.Size})
	case types.KindStruct, types.KindUnion:
		r.Type(&t)
		for i := range elems {
			e := &elems[i]
			r.Member(btf.Member{NameOff: w.name(e.Name), Type: id(e.Ref), Offset: uint32(e.Val)})
		}
	case types.KindEnum, types.KindEnum64:
		r.Type(&t)
		for i := range elems {
			e := &elems[i]
			r.Enumerator(t.Kind, btf.Enumerator{NameOff: w.name(e.Name), Value: e.Val})
		}
	case types.KindFuncProto:
		t.SizeOrType = ref
		r.Type(&t)
		for i := range elems {
			r.Param(btf.Param{NameOff: w.name(elems[i].Name), Type: id(elems[i].Ref)})
		}
	case types.KindInt, types.KindFloat:
		t.Extra = n.Aux
		r.Type(&t)
	default:
		t.SizeOrType = ref
		r.Type(&t)
	}
}

// forward is the record of a tag without a definition.
func (w *writer) forward(n *types.Node) btf.Type {
	t := btf.Type{Kind: btf.KindFwd, NameOff: w.name(n.Name)}
	switch types.Tag(n.Aux) {
	case types.TagUnion:
		t.KFlag = true
	case types.TagEnum:
		t.Kind, t.SizeOrType = btf.KindEnum, 4
	}
	return t
}

func (w *writer) putMade(r *btf.Records, m *decide.Made) {
	t := btf.Type{Kind: btf.Kind(m.Kind), NameOff: w.name(m.Name), SizeOrType: w.ids[m.Ref],
		KFlag: m.Flag}
	elems := w.made.Elems(m)
	switch m.Kind {
	case types.KindFunc:
		t.Vlen = m.Aux
	case types.KindVar:
		t.Extra = m.Aux
	case types.KindDeclTag:
		t.Extra = m.Aux - 1
	case types.KindDatasec:
		t.SizeOrType, t.Vlen = m.Size, uint32(len(elems))
	case types.KindFuncProto:
		t.Vlen = uint32(len(elems))
	}
	r.Type(&t)
	for _, e := range elems {
		id := w.ids[e.Ref]
		if m.Kind == types.KindDatasec {
			r.Secinfo(btf.Secinfo{Type: id, Offset: uint32(e.Val), Size: uint32(e.Val >> 32)})
		} else {
			r.Param(btf.Param{NameOff: w.name(e.Name), Type: id})
		}
	}
}
