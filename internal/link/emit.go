package link

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// emit writes the types in l.puts. The names that the kernel wants to be identifiers are looked at meanwhile.
func (l *linker) emit() ([]byte, error) {
	p := &l.places
	if len(p.tooLong) > 0 {
		f := slices.MinFunc(p.tooLong, func(a, b final) int { return cmp.Compare(l.ids[a], l.ids[b]) })
		n := &l.nodes[l.nodeOf(f)]
		return nil, btf.VlenError(l.ids[f], l.kindOf(f), l.g.Name(n), n.Count)
	}
	b := &btf.Blob{Order: l.order, StartID: 1, Base: l.base.blob}
	if b.Base != nil {
		b.StartID, b.BaseStrLen = b.Base.EndID(), b.Base.EndStr()
	}
	image, err := btf.NewImage(b, p.types, p.length, l.placeStrings(b), btf.EncodeOptions{Layout: l.layout()})
	if err != nil {
		return nil, err
	}
	var odd atomic.Bool // the kernel doesn't take some name
	strings := (len(l.strs) + chunkStrings - 1) / chunkStrings
	parallel(l.jobs, strings+len(l.chunks), func(i int) {
		if i < strings {
			if !l.copyStrings(b, image.Strings, l.strs[i*chunkStrings:min((i+1)*chunkStrings, len(l.strs))]) {
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

// placeStrings gives each string its offset: in the bases if they have it, else in b's own strings, which are sorted. It
// returns the length of these.
func (l *linker) placeStrings(b *btf.Blob) int {
	l.offset = l.findInBases()
	end := uint64(b.BaseStrLen)
	if b.Base == nil {
		end++ // the empty name
	}
	for _, s := range l.strs {
		if l.offset[s] == 0 {
			l.offset[s] = uint32(end)
			end += uint64(len(l.g.Strs.Bytes(s))) + 1
		}
	}
	return int(end - uint64(b.BaseStrLen))
}

// copyStrings copies those of the strings that are b's own to their place. It tells whether all names are what the kernel
// takes.
func (l *linker) copyStrings(b *btf.Blob, own []byte, list []types.Str) bool {
	ok := true
	for _, s := range list {
		name := l.g.Strs.Bytes(s)
		if at := l.offset[s]; at >= b.BaseStrLen {
			copy(own[at-b.BaseStrLen:], name)
		}
		use := l.places.uses[s]
		ok = ok && (use&usedAsIdentifier == 0 || types.Identifier(name)) && (use&usedAsSection == 0 || printable(name))
	}
	return ok
}

// findInBases returns for each string that is needed its first offset in the bases, 0 for none.
func (l *linker) findInBases() []uint32 {
	found := make([]uint32, l.g.Strs.Len())
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
			if str, ok := l.g.Strs.Lookup(s[start:end]); ok && str != 0 && l.places.uses[str] != 0 && found[str] == 0 {
				found[str] = off + uint32(start)
			}
			start = end + 1
		}
	}
	return found
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
	t := btf.Type{Kind: btf.Kind(n.Kind), NameOff: l.name(n.Name), SizeOrType: n.Size, KFlag: n.Flag, Vlen: n.Count}
	elems := l.g.Elems[n.First : n.First+n.Count]
	ref := w.nextID(n.Ref)
	switch n.Kind {
	case types.KindArray:
		t.SizeOrType = 0
		r.Type(&t)
		r.Array(btf.Array{Elem: ref, Index: w.nextID(types.ID(n.Aux)), Nelems: n.Size})
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
	t := btf.Type{Kind: btf.Kind(m.kind), NameOff: l.name(m.name), SizeOrType: l.ids[m.ref], KFlag: m.flag}
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
