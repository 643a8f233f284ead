package write

import (
	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/link/decide"
	"github.com/rules-btf/rules_btf/internal/types"
)

// places are the types that are written, as long as they have no order, and what is known of their
// records.
type places struct {
	anonymous [btf.NumKinds][]place
	first     []Type // by name: a type, the others follow in list
	list      []listed
	uses      []uses // by string
	types     int
	length    uint64 // of the records, in bytes
	tooLong   []Type // types with more elements than the format holds
}

// place is an anonymous type.
type place struct {
	hash   types.Hash // its content
	typ    Type
	length uint32
}

// listed is a type in the list of those with its name.
type listed struct {
	next   Type
	length uint32 // of the record, in bytes
}

// uses are what a string is needed for.
type uses uint8

const (
	usedAsText       uses = 1 << iota
	usedAsIdentifier      // the kernel refuses other names here
	usedAsSection
)

// newPlaces makes room for so many types and strings, and for anonymous types by kind.
func newPlaces(all, strs int, anonymous *[btf.NumKinds]int) places {
	p := places{first: make([]Type, strs), list: make([]listed, all), uses: make([]uses, strs)}
	for kind, n := range anonymous {
		p.anonymous[kind] = make([]place, 0, n)
	}
	return p
}

// add adds a type that is not made.
func (p *places) add(k Type, n *types.Node, elems []types.Elem) {
	kind, count := writtenKind(n), n.Count
	use := usedAsText
	switch kind {
	case btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64, btf.KindFuncProto,
		btf.KindTypedef, btf.KindFwd:
		use = usedAsIdentifier
	}
	if n.Kind == types.KindStub {
		count = 0
	} else {
		for i := range elems {
			p.uses[elems[i].Name] |= usedAsIdentifier
		}
	}
	p.put(k, kind, n.Name, use, count, &n.Hash)
}

// writtenKind is the kind of record that a shape becomes.
func writtenKind(n *types.Node) btf.Kind {
	switch {
	case n.Kind != types.KindStub:
		return btf.Kind(n.Kind)
	case types.Tag(n.Aux) == types.TagEnum:
		return btf.KindEnum
	}
	return btf.KindFwd
}

// addMade adds a made type.
func (p *places) addMade(k Type, m *decide.Made, elems []decide.Elem) {
	use := usedAsText
	switch m.Kind {
	case types.KindFunc, types.KindVar:
		use = usedAsIdentifier
	case types.KindDatasec:
		use = usedAsSection
	}
	for i := range elems {
		p.uses[elems[i].Name] |= usedAsIdentifier
	}
	p.put(k, btf.Kind(m.Kind), m.Name, use, uint32(len(elems)), &types.Hash{})
}

func (p *places) put(k Type, kind btf.Kind, name types.Str, use uses, count uint32,
	hash *types.Hash) {
	if count > btf.MaxVlen {
		p.tooLong = append(p.tooLong, k)
	}
	length := kind.RecordLen(count)
	p.types++
	p.length += length
	p.uses[name] |= use
	if name == 0 {
		p.anonymous[kind] = append(p.anonymous[kind], place{*hash, k, uint32(length)})
		return
	}
	p.list[k] = listed{p.first[name], uint32(length)}
	p.first[name] = k
}
