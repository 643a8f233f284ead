package write

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// places has the types that will be written, before they are ordered, and what their records need.
type places struct {
	anonymous [btf.NumKinds][]ranked // by kind
	named     survey.Lists[types.Str, place]
	uses      []uses // by string
	types     int
	length    uint64 // of the records, in bytes
	tooLong   []Type // types with more elements than the format holds
}

type place struct {
	typ    Type
	length uint32 // of the record, in bytes
	kind   btf.Kind
}

// ranked is the place of an anonymous type among those of its kind.
type ranked struct {
	content uint64 // half of the hash by which they are ordered
	typ     Type
	length  uint32 // of the record, in bytes
}

type uses uint8

const (
	usedAsText       uses = 1 << iota
	usedAsIdentifier      // the kernel refuses other names here
	usedAsSection
)

// newPlaces makes room for the given numbers of types, of strings, and of anonymous types by kind.
func newPlaces(all, strs int, anonymous *[btf.NumKinds]int) places {
	p := places{named: survey.NewLists[types.Str, place](strs, all/2), uses: make([]uses, strs)}
	for kind, n := range anonymous {
		p.anonymous[kind] = make([]ranked, 0, n)
	}
	return p
}

func addPlace[R ~uint32](p *places, k Type, n *types.NodeOf[R], elems []types.ElemOf[R]) {
	kind, use := object.RecordKind(n), usedAsText
	switch kind {
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindFuncProto,
		btf.KindTypedef, btf.KindFwd, btf.KindFunc, btf.KindVar:
		use = usedAsIdentifier
	case btf.KindDatasec:
		use = usedAsSection
	}
	p.uses[n.Name] |= use
	if n.Kind == types.KindStub {
		elems = nil
	}
	for i := range elems {
		p.uses[elems[i].Name] |= usedAsIdentifier
	}
	if len(elems) > btf.MaxVlen {
		p.tooLong = append(p.tooLong, k)
	}
	length := kind.RecordLen(uint32(len(elems)))
	p.types++
	p.length += length
	if n.Name == 0 {
		p.anonymous[kind] = append(p.anonymous[kind], ranked{n.Hash.A, k, uint32(length)})
	} else {
		p.named.Add(n.Name, place{k, uint32(length), kind})
	}
}
