package link

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// The result holds each type once. Here, a separate bisimulation of the finished blob decides which
// types are the same. It shares no code with the link.

// spelling returns a type's content without its references, and the references in order. This
// function was written without looking at the code of the link.
func spelling(b *btf.Blob, id uint32) (string, []uint32) {
	if id == 0 {
		return "void", nil
	}
	t, own := b.ByID(id)
	head := fmt.Sprintf("%d %q %v", t.Kind, b.TypeName(t), t.KFlag)
	name := func(off uint32) string { s, _ := b.Name(off); return s }
	var refs []uint32
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, m := range own.MembersOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(m.NameOff), m.Offset)
			refs = append(refs, m.Type)
		}
	case btf.KindEnum, btf.KindEnum64:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, e := range own.EnumsOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(e.NameOff), e.Value)
		}
	case btf.KindArray:
		a := own.ArrayOf(t)
		head += fmt.Sprintf(" %d", a.Nelems)
		refs = append(refs, a.Elem, a.Index)
	case btf.KindFuncProto:
		refs = append(refs, t.SizeOrType)
		for _, p := range own.ParamsOf(t) {
			head += fmt.Sprintf(" (%q)", name(p.NameOff))
			refs = append(refs, p.Type)
		}
	case btf.KindDatasec:
		head += fmt.Sprintf(" size %d", t.SizeOrType)
		for _, s := range own.SecinfosOf(t) {
			head += fmt.Sprintf(" (%d %d)", s.Offset, s.Size)
			refs = append(refs, s.Type)
		}
	case btf.KindInt, btf.KindFloat:
		head += fmt.Sprintf(" size %d %x", t.SizeOrType, t.Extra)
	case btf.KindFwd:
	default:
		head += fmt.Sprintf(" %d %x", t.Extra, t.Vlen)
		refs = append(refs, t.SizeOrType)
	}
	return head, refs
}

// bisimulation numbers the types of blobs and their bases: two types have the same number if they
// are bisimilar, even if they are in different blobs. It starts with classes of types with equal
// spelling, and splits these classes by what the types refer to, until a round splits no class.
func bisimulation(blobs ...*btf.Blob) [][]int {
	refs, class := make([][][]uint32, len(blobs)), make([][]int, len(blobs))
	labels := map[string]int{}
	for i, b := range blobs {
		for id := range b.EndID() {
			s, r := spelling(b, id)
			if _, ok := labels[s]; !ok {
				labels[s] = len(labels)
			}
			refs[i], class[i] = append(refs[i], r), append(class[i], labels[s])
		}
	}
	for count := len(labels); ; {
		index := map[string]int{}
		next := make([][]int, len(blobs))
		var key []byte
		for i := range blobs {
			for id := range class[i] {
				key = binary.AppendUvarint(key[:0], uint64(class[i][id]))
				for _, r := range refs[i][id] {
					key = binary.AppendUvarint(key, uint64(class[i][r]))
				}
				k, ok := index[string(key)]
				if !ok {
					k = len(index)
					index[string(key)] = k
				}
				next[i] = append(next[i], k)
			}
		}
		class = next
		if len(index) == count {
			return class
		}
		count = len(index)
	}
}

// checkExact checks that b has no type twice, and no type that a base has. Functions are an
// exception: a module may have a function that looks like one in the base.
func checkExact(t *testing.T, b *btf.Blob) {
	t.Helper()
	class := bisimulation(b)[0]
	first := map[int]uint32{}
	for id := range b.EndID() {
		f, ok := first[class[id]]
		if !ok {
			first[class[id]] = id
			continue
		}
		if k, _ := b.ByID(id); id >= b.StartID && (k.Kind != btf.KindFunc || f >= b.StartID) {
			t.Errorf("types %d and %d are the same: %s", f, id, spell(b, id, 3))
			if b.EndID() < 200 {
				t.Error(describe(b))
			}
		}
	}
}

func describe(b *btf.Blob) string {
	var s []string
	for id := uint32(1); id < b.EndID(); id++ {
		head, refs := spelling(b, id)
		s = append(s, fmt.Sprintf("[%d] %s -> %v", id, head, refs))
	}
	return strings.Join(s, "\n")
}
