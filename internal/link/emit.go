package link

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// emit writes the types in l.puts. The names that the kernel wants to be identifiers are looked at
// meanwhile.
func (l *linker) emit() ([]byte, error) {
	p := &l.places
	if len(p.tooLong) > 0 {
		f := slices.MinFunc(p.tooLong, func(a, b final) int { return cmp.Compare(l.ids[a], l.ids[b]) })
		n := &l.nodes[l.nodeOf(f)]
		return nil, btf.VlenError(l.ids[f], l.kindOf(f), l.g.Name(n), n.Count)
	}
	image, err := btf.NewImage(l.blob, p.types, p.length, l.stringsLen,
		btf.EncodeOptions{Layout: l.layout()})
	if err != nil {
		return nil, err
	}
	var odd atomic.Bool // the kernel doesn't take some name
	strings := (len(l.strs) + chunkStrings - 1) / chunkStrings
	parallel(l.jobs, strings+len(l.chunks), func(i int) {
		if i < strings {
			if !l.copyStrings(image.Strings, l.strs[i*chunkStrings:min((i+1)*chunkStrings, len(l.strs))]) {
				odd.Store(true)
			}
			return
		}
		i -= strings
		l.putAll(image.Records(l.chunks[i]), l.puts[i*chunkTypes:min((i+1)*chunkTypes, len(l.puts))])
	})
	if l.opt.Facts != nil && odd.Load() {
		if err := l.checkNames(); err != nil {
			return nil, err
		}
	}
	return image.Finish(), nil
}

// chunkStrings is how many strings are copied at a time.
const chunkStrings = 1 << 14

// layout tells whether the header gets a layout section: only that of base BTF does.
func (l *linker) layout() bool {
	return l.opt.Features.Has(features.Layout) && l.base.blob == nil
}

func (l *linker) name(s types.Str) uint32 { return l.offset[s] }

// nextID is next, as an id.
func (w *walker) nextID(id types.ID) uint32 {
	if len(w.args) == 0 || w.l.role[id] == plain {
		return w.l.ids[id]
	}
	return w.l.ids[w.next(id)]
}

// putAll writes the records of some types.
func (l *linker) putAll(r btf.Records, list []final) {
	var shapes [64]types.Node
	for len(list) > 0 {
		some := list[:min(len(shapes), len(list))]
		list = list[len(some):]
		// The shapes lie anywhere. Copied together, no load waits for another one's.
		for i, f := range some {
			if l.madeAt(f) == nil {
				shapes[i] = l.nodes[l.nodeOf(f)]
			}
		}
		for i, f := range some {
			if m := l.madeAt(f); m != nil {
				l.putMade(&r, m)
			} else {
				l.put(&r, f, &shapes[i])
			}
		}
	}
}

// put writes the record of one type of shape n.
func (l *linker) put(r *btf.Records, f final, n *types.Node) {
	if n.Kind == types.KindStub {
		t := l.forward(n)
		r.Type(&t)
		return
	}
	w := l.walk(f)
	t := btf.Type{Kind: btf.Kind(n.Kind), NameOff: l.name(n.Name), SizeOrType: n.Size, KFlag: n.Flag,
		Vlen: n.Count}
	elems := l.g.Elems[n.First : n.First+n.Count]
	ref := w.nextID(n.Ref)
	switch n.Kind {
	case types.KindArray:
		t.SizeOrType, t.Vlen = 0, 0
		r.Type(&t)
		r.Array(btf.Array{Elem: ref, Index: w.nextID(elems[0].Ref), Nelems: n.Size})
	case types.KindStruct, types.KindUnion:
		r.Type(&t)
		for i := range elems {
			e := &elems[i]
			r.Member(btf.Member{NameOff: l.name(e.Name), Type: w.nextID(e.Ref), Offset: uint32(e.Val)})
		}
	case types.KindEnum, types.KindEnum64:
		r.Type(&t)
		for i := range elems {
			r.Enumerator(t.Kind, btf.Enumerator{NameOff: l.name(elems[i].Name), Value: elems[i].Val})
		}
	case types.KindFuncProto:
		t.SizeOrType = ref
		r.Type(&t)
		for i := range elems {
			r.Param(btf.Param{NameOff: l.name(elems[i].Name), Type: w.nextID(elems[i].Ref)})
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
func (l *linker) forward(n *types.Node) btf.Type {
	t := btf.Type{Kind: btf.KindFwd, NameOff: l.name(n.Name)}
	switch types.Tag(n.Aux) {
	case types.TagUnion:
		t.KFlag = true
	case types.TagEnum:
		t.Kind, t.SizeOrType = btf.KindEnum, 4
	}
	return t
}

func (l *linker) putMade(r *btf.Records, m *made) {
	t := btf.Type{Kind: btf.Kind(m.kind), NameOff: l.name(m.name), SizeOrType: l.ids[m.ref],
		KFlag: m.flag}
	elems := l.elemsOf(m)
	switch m.kind {
	case types.KindFunc:
		t.Vlen = m.aux
	case types.KindVar:
		t.Extra = m.aux
	case types.KindDeclTag:
		t.Extra = m.aux - 1
	case types.KindDatasec:
		t.SizeOrType, t.Vlen = m.size, uint32(len(elems))
	case types.KindFuncProto:
		t.Vlen = uint32(len(elems))
	}
	r.Type(&t)
	for _, e := range elems {
		if m.kind == types.KindDatasec {
			r.Secinfo(btf.Secinfo{Type: l.ids[e.ref], Offset: uint32(e.val), Size: uint32(e.val >> 32)})
		} else {
			r.Param(btf.Param{NameOff: l.name(e.name), Type: l.ids[e.ref]})
		}
	}
}
