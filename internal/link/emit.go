package link

import (
	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// emit writes the types in l.puts.
func (l *linker) emit() ([]byte, error) {
	b := &btf.Blob{Order: l.order, StartID: 1, Base: l.base.blob, Types: make([]btf.Type, 0, len(l.puts))}
	if b.Base != nil {
		b.StartID, b.BaseStrLen = b.Base.EndID(), b.Base.EndStr()
	}
	l.placeStrings(b)
	l.placeShapes()
	for i := range l.puts {
		l.put(b, l.puts[i].final)
	}
	return btf.Encode(b, btf.EncodeOptions{Layout: l.layout()})
}

// layout tells whether the header gets a layout section: only that of base BTF does.
func (l *linker) layout() bool {
	return l.opt.Features.Has(features.Layout) && l.base.blob == nil
}

// placeStrings gives each string its offset: in the bases if they have it, else in b's own strings, which are sorted.
func (l *linker) placeStrings(b *btf.Blob) {
	l.offset = make([]uint32, l.g.Strs.Len())
	found := l.findInBases()
	size := 1
	for _, s := range l.strs {
		size += len(l.g.Strs.Bytes(s)) + 1
	}
	own := make([]byte, 0, size)
	if b.Base == nil {
		own = append(own, 0)
	}
	for i := 1; i < len(l.strs); i++ {
		if found != nil && found[i] != 0 {
			l.offset[l.strs[i]] = found[i]
			continue
		}
		l.offset[l.strs[i]] = b.BaseStrLen + uint32(len(own))
		own = append(append(own, l.g.Strs.Bytes(l.strs[i])...), 0)
	}
	b.Strings = string(own)
}

// findInBases returns for each string its first offset in the bases, 0 for none; nil without bases.
func (l *linker) findInBases() []uint32 {
	if l.base.blob == nil {
		return nil
	}
	found := make([]uint32, len(l.strs))
	var chain []*btf.Blob
	for b := l.base.blob; b != nil; b = b.Base {
		chain = append([]*btf.Blob{b}, chain...)
	}
	for _, b := range chain {
		s, off := []byte(b.Strings), b.BaseStrLen
		for start := 0; start < len(s); {
			end := start
			for end < len(s) && s[end] != 0 {
				end++
			}
			if str, ok := l.g.Strs.Lookup(s[start:end]); ok && str != 0 {
				if r := l.rank[str]; r != 0 && found[r] == 0 {
					found[r] = off + uint32(start)
				}
			}
			start = end + 1
		}
	}
	return found
}

func (l *linker) name(s types.Str) uint32 { return l.offset[s] }

// placeShapes notes by which id a shape that doesn't vary is referred to.
func (l *linker) placeShapes() {
	l.shapeIDs = make([]uint32, len(l.nodes))
	for id := range l.nodes {
		if l.role[id] == plain {
			l.shapeIDs[id] = l.ids[l.typeOf(types.ID(id))]
		}
	}
}

// nextID is next, as an id.
func (w *walker) nextID(id types.ID) uint32 {
	if w.l.role[id] == plain {
		return w.l.shapeIDs[id]
	}
	return w.l.ids[w.next(id)]
}

// put appends the record of one type.
func (l *linker) put(b *btf.Blob, f final) {
	if m := l.madeAt(f); m != nil {
		l.putMade(b, m)
		return
	}
	n := &l.nodes[l.nodeOf(f)]
	if n.Kind == types.KindStub {
		b.Types = append(b.Types, l.forward(n))
		return
	}
	w := l.walk(f)
	t := btf.Type{Kind: btf.Kind(n.Kind), NameOff: l.name(n.Name), SizeOrType: n.Size, KFlag: n.Flag, Vlen: n.Count}
	elems := l.g.Elems[n.First : n.First+n.Count]
	ref := w.nextID(n.Ref)
	switch n.Kind {
	case types.KindInt:
		t.Extra = n.Aux
	case types.KindArray:
		t.SizeOrType, t.First = 0, uint32(len(b.Arrays))
		b.Arrays = append(b.Arrays, btf.Array{Elem: ref, Index: w.nextID(types.ID(n.Aux)), Nelems: n.Size})
	case types.KindStruct, types.KindUnion:
		t.First = uint32(len(b.Members))
		for i := range elems {
			e := &elems[i]
			b.Members = append(b.Members, btf.Member{NameOff: l.name(e.Name), Type: w.nextID(e.Ref), Offset: uint32(e.Val)})
		}
	case types.KindEnum, types.KindEnum64:
		t.First = uint32(len(b.Enums))
		for i := range elems {
			b.Enums = append(b.Enums, btf.Enumerator{NameOff: l.name(elems[i].Name), Value: elems[i].Val})
		}
	case types.KindFuncProto:
		t.SizeOrType, t.First = ref, uint32(len(b.Params))
		for i := range elems {
			b.Params = append(b.Params, btf.Param{NameOff: l.name(elems[i].Name), Type: w.nextID(elems[i].Ref)})
		}
	case types.KindFloat:
	default:
		t.SizeOrType = ref
	}
	b.Types = append(b.Types, t)
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

func (l *linker) putMade(b *btf.Blob, m *made) {
	t := btf.Type{Kind: btf.Kind(m.kind), NameOff: l.name(m.name), SizeOrType: l.ids[m.ref], KFlag: m.flag}
	switch m.kind {
	case types.KindFunc:
		t.Vlen = m.aux
	case types.KindVar:
		t.Extra = m.aux
	case types.KindDeclTag:
		t.Extra = m.aux - 1
	case types.KindDatasec:
		t.SizeOrType, t.Vlen, t.First = m.size, uint32(len(m.elems)), uint32(len(b.Secinfos))
		for _, e := range m.elems {
			b.Secinfos = append(b.Secinfos, btf.Secinfo{Type: l.ids[e.ref], Offset: uint32(e.val), Size: uint32(e.val >> 32)})
		}
	case types.KindFuncProto:
		t.Vlen, t.First = uint32(len(m.elems)), uint32(len(b.Params))
		for _, e := range m.elems {
			b.Params = append(b.Params, btf.Param{NameOff: l.name(e.name), Type: l.ids[e.ref]})
		}
	}
	b.Types = append(b.Types, t)
}
