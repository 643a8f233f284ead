package needs

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// local builds the BTF of local types. Equal types are written once.
type local struct {
	*btf.Builder
	order binary.ByteOrder
	ids   map[string]uint32 // by want.text
}

func newLocal(order binary.ByteOrder) *local {
	return &local{btf.NewBuilder(order, nil, nil), order, map[string]uint32{}}
}

func (l *local) finish() (*core.BTF, error) {
	return core.NewBTF(l.Finish(), nil)
}

// relocations adds the types of all requests, and returns the relocations with the ids of these
// types. Requests for types with the same name share one type if they agree on its members.
func (l *local) relocations(requests map[string]*request) map[string]core.Relocation {
	placed := map[string]core.Relocation{}
	list := slices.SortedFunc(maps.Values(requests), compareRequests)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].root.kind == list[0].root.kind &&
			list[n].root.name == list[0].root.name {
			n++
		}
		l.place(list[:n], placed)
		list = list[n:]
	}
	return placed
}

// maxVariants limits the number of types of the same name with which a request is compared.
const maxVariants = 16

// place adds the types for requests about types of one kind and name. If all requests agree, it
// adds one type.
func (l *local) place(list []*request, placed map[string]core.Relocation) {
	var variants []*merged
	of := make([]int, len(list)) // index in variants
	for i, r := range list {
		of[i] = slices.IndexFunc(variants[:min(len(variants), maxVariants)],
			func(m *merged) bool { return m.agrees(r.root) })
		if of[i] < 0 {
			of[i] = len(variants)
			variants = append(variants, newMerged(r.root))
			continue
		}
		variants[of[i]].add(r.root)
	}
	ids := make([]uint32, len(variants))
	ways := make([]indexes, len(variants))
	for i, m := range variants {
		w := m.result()
		ids[i], ways[i] = l.add(w), indexes{w, map[*want]map[string]int{}}
	}
	for i, r := range list {
		placed[r.key] = core.Relocation{Kind: r.kind, Type: ids[of[i]], Memory: r.memory,
			Access: ways[of[i]].access(r)}
	}
}

// indexes finds the members of a type by name.
type indexes struct {
	root *want
	of   map[*want]map[string]int
}

// access returns the access string of a request, with the indexes that members have in the types
// that add wrote.
func (x indexes) access(r *request) string {
	w := x.root
	if w.kind == btf.KindTypedef && r.path != nil {
		w = w.ref
	}
	if r.kind.IsEnumval() {
		return strconv.Itoa(x.member(w, r.path[0].Name))
	}
	if len(r.path) == 0 {
		return "0"
	}
	text := strconv.Itoa(int(r.path[0].Index))
	for _, p := range r.path[1:] {
		index := int(p.Index)
		if p.Name == "" {
			w = w.ref
		} else {
			index = x.member(w, p.Name)
			w = w.members[index].of
		}
		text += ":" + strconv.Itoa(index)
	}
	return text
}

// member returns the index of the member with this name.
func (x indexes) member(w *want, name string) int {
	all := x.of[w]
	if all == nil {
		all = map[string]int{}
		for i, m := range w.members {
			all[m.name] = i
		}
		x.of[w] = all
	}
	return all[name]
}

// add writes a type after the types that it refers to, and returns its id.
func (l *local) add(w *want) uint32 {
	if w == nil {
		return 0
	}
	key := w.text()
	if id, ok := l.ids[key]; ok {
		return id
	}
	id := l.record(w)
	l.ids[key] = id
	return id
}

func (l *local) record(w *want) uint32 {
	ref := l.add(w.ref)
	switch w.kind {
	case btf.KindStruct, btf.KindUnion:
		return l.composite(w)
	case btf.KindEnum, btf.KindEnum64:
		var list []btf.Enumerator
		for i, m := range w.members {
			list = append(list, btf.Enumerator{NameOff: l.Name(m.name), Value: uint64(i)})
		}
		return l.Enum(w.kind, w.name, w.size, false, list...)
	case btf.KindInt:
		return l.Int(w.name, w.size, w.extra>>24, w.extra&0xff)
	case btf.KindFloat:
		return l.Float(w.name, w.size)
	case btf.KindFwd:
		return l.Fwd(w.name, w.extra != 0)
	case btf.KindArray:
		return l.Array(ref, l.add(&want{kind: btf.KindInt, name: "int", size: 4,
			extra: btf.IntSigned<<24 | 32}), w.nelems)
	case btf.KindFuncProto:
		var list []btf.Param
		for i, m := range w.members {
			list = append(list, btf.Param{NameOff: l.Name("arg" + strconv.Itoa(i)), Type: l.add(m.of)})
		}
		return l.FuncProto(ref, list...)
	case btf.KindFunc:
		return l.Func(w.name, ref, btf.LinkageGlobal)
	}
	return l.Ref(w.kind, w.name, ref)
}

// composite writes a struct, whose members begin at multiples of 8 bytes, or a union.
func (l *local) composite(w *want) uint32 {
	list := make([]btf.Member, len(w.members))
	bitfields := slices.ContainsFunc(w.members, func(m member) bool { return m.bits > 0 })
	end := uint32(0) // in bits
	size := uint32(0)
	for i, m := range w.members {
		bytes := m.of.bytes(l)
		at := (end + 63) &^ 63
		if w.kind == btf.KindUnion {
			at = 0
		}
		list[i] = btf.Member{NameOff: l.Name(m.name), Type: l.add(m.of), Offset: at | m.bits<<24}
		end = at + bytes*8
		size = max(size, end/8)
	}
	if size = (size + 7) &^ 7; w.size > 0 {
		size = w.size
	}
	return l.Composite(w.kind, w.name, size, bitfields, list...)
}

// bytes returns the size of a type as we write it.
func (w *want) bytes(l *local) uint32 {
	switch {
	case w == nil:
		return 0
	case w.kind == btf.KindPtr:
		return 8
	case w.kind == btf.KindArray:
		return w.nelems * w.ref.bytes(l)
	case w.kind == btf.KindTypedef:
		return w.ref.bytes(l)
	}
	t, _ := l.Blob.ByID(l.add(w))
	if t == nil || !t.Kind.HasSize() {
		return 0
	}
	return t.SizeOrType
}
