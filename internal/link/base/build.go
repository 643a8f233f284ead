package base

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Parse returns the Base that consists of a BTF and its bases.
func Parse(b *btf.Blob) (*Chain, error) { return parse(b, false) }

// parse is Parse. checksums says whether to compute checksums, which only an index that is based on
// the result needs.
func parse(b *btf.Blob, checksums bool) (*Chain, error) {
	built, err := build(object.Chain(b), 0, checksums)
	if err != nil {
		return nil, err
	}
	c := &Chain{}
	for i, blob := range object.Chain(b) {
		if err := c.push(built[i]); err != nil {
			return nil, err
		}
		c.cameFrom(blob.Origin)
	}
	return c, nil
}

// build makes the indices for chain[first:].
func build(chain []*btf.Blob, first int, checksums bool) ([][]byte, error) {
	shapes, err := object.TypeShapes(chain...)
	if err != nil {
		return nil, err
	}
	b := builder{shapes: shapes}
	var built [][]byte
	var below Sum
	for i, blob := range chain {
		h := header{Below: below}
		if checksums {
			if h.BTF, err = sumOf(blob, below); err != nil {
				return nil, err
			}
			below = h.BTF
		}
		if i < first {
			continue
		}
		data, err := b.index(blob, h)
		if err != nil {
			return nil, err
		}
		built = append(built, data)
	}
	return built, nil
}

// sumOf returns the checksum of a BTF. The parameter below is the checksum of its base.
func sumOf(b *btf.Blob, below Sum) (Sum, error) {
	data, err := btf.Encode(b, btf.EncodeOptions{})
	if err != nil {
		return Sum{}, err
	}
	return sumOfBytes(data, below), nil
}

func sumOfBytes(data []byte, below Sum) (sum Sum) {
	h := sha256.New()
	h.Write(below[:])
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

type builder struct {
	shapes  []object.TypeShape // by id or, with an outline, by id in the outline
	outline *outline           // or nil
}

// shape returns the shape of the type with an id.
func (b *builder) shape(id uint32) *object.TypeShape {
	if b.outline != nil {
		id = b.outline.ref(id)
	}
	return &b.shapes[id]
}

// index makes the index of one BTF. The caller sets only the checksums in h.
// Rule: index of a base: how it is made.
func (b *builder) index(blob *btf.Blob, h header) ([]byte, error) {
	shapes := make([]entry, 0, len(blob.Types))
	var definitions, declTags []entry
	for i := range blob.Types {
		id := blob.StartID + uint32(i)
		s := b.shape(id)
		switch s.Kind {
		case types.KindVoid, types.KindFunc, types.KindVar, types.KindDatasec:
			continue // TypeShapes returns this kind for locations
		case types.KindDeclTag:
			// the tags of functions and variables are never looked up in a base
			t := &blob.Types[i]
			target := t.SizeOrType
			if k := b.shape(target).Kind; k != types.KindFunc && k != types.KindVar {
				_, component, _ := object.Head(blob, t)
				h := declTagHash(types.HashString([]byte(blob.TypeName(t))), target, component, t.KFlag)
				declTags = append(declTags, entry{h, 1})
			}
			continue
		}
		shapes = append(shapes, entry{s.Hash, id})
		if s.Stub != (types.Hash{}) {
			definitions = append(definitions, entry{s.Stub, id})
		}
	}
	strings := b.strings(blob)
	blocks, refs := b.references(blob)
	if uint64(len(refs)) > 1<<32-1 {
		return nil, fmt.Errorf("the index of BTF with %d types is larger than 4 GiB", len(blob.Types))
	}
	h.Version, h.Order = Version, littleEndian
	if blob.Order == binary.BigEndian {
		h.Order = bigEndian
	}
	if blob.Base == nil {
		shown := object.TargetOfTypes(blob)
		h.Machine, h.AddrSize = uint32(shown.Machine), uint32(shown.AddrSize)
	}
	h.StartID, h.EndID = blob.StartID, blob.EndID()
	h.StartStr, h.EndStr = blob.BaseStrLen, blob.EndStr()
	h.Digest = b.digest(blob)
	h.Shapes = shapeOf(len(shapes), h.EndID)
	h.Definitions = shapeOf(len(definitions), h.EndID)
	h.Strings = shapeOf(len(strings), h.EndStr)
	h.DeclTags = shapeOf(len(declTags), 1)
	h.Refs = uint32(len(refs))
	out := h.append(make([]byte, 0, h.size()))
	out = appendTable(out, h.Shapes, shapes)
	out = appendTable(out, h.Definitions, definitions)
	out = appendTable(out, h.Strings, strings)
	out = appendTable(out, h.DeclTags, declTags)
	out = append(append(out, blocks...), refs...)
	setChecksum(out)
	return out, nil
}

// digest returns the Digest of the shapes of a BTF's types, except for locations.
func (b *builder) digest(blob *btf.Blob) types.Hash {
	layer := make([]types.Hash, 0, len(blob.Types))
	for i := range blob.Types {
		if s := b.shape(blob.StartID + uint32(i)); s.Kind != types.KindVoid {
			layer = append(layer, s.Hash)
		}
	}
	return Digest(layer)
}

func (b *builder) strings(blob *btf.Blob) []entry {
	list := make([]entry, 0, len(blob.Types)+len(blob.Types)/4)
	data := []byte(blob.Strings)
	for at := uint32(0); len(data) > 0; {
		name, rest, _ := bytes.Cut(data, []byte{0})
		if len(name) > 0 {
			list = append(list, entry{types.HashString(name), blob.BaseStrLen + at})
		}
		at, data = at+uint32(len(name))+1, rest
	}
	return list
}

// references makes index.blocks and index.refs for a BTF.
func (b *builder) references(blob *btf.Blob) (blocks, refs []byte) {
	var list []uint32
	for i := range blob.Types {
		if i%blockLen == 0 {
			blocks = binary.LittleEndian.AppendUint32(blocks, uint32(len(refs)))
		}
		t := &blob.Types[i]
		list = list[:0]
		kind := b.shape(blob.StartID + uint32(i)).Kind
		switch kind {
		case types.KindVoid, types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
		default:
			for ref := range blob.Refs(t) {
				if s := b.shape(*ref); s.Leads || s.Stub != (types.Hash{}) {
					list = append(list, *ref)
				}
			}
		}
		count := uint64(len(list)) << 1
		if kind == types.KindStub {
			count |= 1
		}
		refs = binary.AppendUvarint(refs, count)
		for _, ref := range list {
			refs = binary.AppendUvarint(refs, uint64(ref))
		}
	}
	return blocks, refs
}
