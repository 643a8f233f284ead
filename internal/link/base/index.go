package base

import (
	"cmp"
	"encoding/binary"
	"iter"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// index looks up types and strings of one BTF of a chain.
type index struct {
	header      header
	shapes      table // by a type's shape: its id
	definitions table // by a tag's stub: the ids of its definitions
	strings     table // by string: its offset
	declTags    table // by declTagHash: 1 if the declaration tag exists
	blocks      []byte
	refs        []byte
	far         sync.Map // by id, for types in long blocks: where their records begin in refs
}

// blockLen is how many types share an entry of index.blocks. An entry is 4 bytes: the offset in
// index.refs of the block's first type. For each type, index.refs has one number (twice the number
// of the type's references, plus one if the type is a declaration) and then the references. All are
// uvarints.
const blockLen = 8

func (x *index) has(id uint32) bool { return id >= x.header.StartID && id < x.header.EndID }

// record returns index.refs from a type's first reference on, the number of the type's references,
// and whether the type is a declaration.
func (x *index) record(id uint32) (refs []byte, count int, declares bool) {
	i := id - x.header.StartID
	at := binary.LittleEndian.Uint32(x.blocks[4*(i/blockLen):])
	refs = x.refs[min(int(at), len(x.refs)):]
	long := x.isLong(i/blockLen, len(refs))
	if long {
		if at, ok := x.far.Load(id); ok {
			return cutCount(x.refs[at.(int):])
		}
	}
	for range i % blockLen {
		refs, count, _ = cutCount(refs)
		refs = skipUvarints(refs, count)
	}
	if long {
		x.far.Store(id, len(x.refs)-len(refs))
	}
	return cutCount(refs)
}

// longBlock is a length in bytes. Nearly all blocks are shorter.
const longBlock = 1 << 12

// isLong reports whether a block, which begins where refs has only left bytes, is a long one.
func (x *index) isLong(block uint32, left int) bool {
	if left <= longBlock || 4*int(block+1) >= len(x.blocks) {
		return left > longBlock
	}
	end := binary.LittleEndian.Uint32(x.blocks[4*(block+1):])
	return int(end)-(len(x.refs)-left) > longBlock
}

func skipUvarints(data []byte, count int) []byte {
	at := 0
	for ; count > 0 && at < len(data); at++ {
		if data[at] < 0x80 { // the last byte of a number
			count--
		}
	}
	return data[at:]
}

func cutCount(data []byte) (rest []byte, count int, declares bool) {
	n, rest := cutUvarint(data)
	return rest, int(n >> 1), n&1 != 0
}

// cutUvarint removes a number from the front of data and returns it, or 0 if data is empty.
func cutUvarint(data []byte) (uint32, []byte) {
	if len(data) > 0 && data[0] < 0x80 {
		return uint32(data[0]), data[1:]
	}
	v, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil
	}
	return uint32(v), data[n:]
}

// Chain is a Base that consists of indices; the index of the lowest BTF is the first.
type Chain struct {
	layers []*index
	target object.Target
}

func (c *Chain) Target() object.Target { return c.target }

// cameFrom sets the chain's target to that of the ELF file that has the top BTF. BTF that is not
// from an ELF file has Machine 0, and doesn't change the target.
func (c *Chain) cameFrom(file btf.Origin) {
	if file.Machine != 0 {
		c.target.Machine, c.target.AddrSize = file.Machine, file.AddrSize
	}
}

func (c *Chain) Ends() (id, offset uint32) {
	top := &c.layers[len(c.layers)-1].header
	return top.EndID, top.EndStr
}

func (c *Chain) Find(shape types.Hash) uint32 {
	for _, x := range c.layers {
		if id := x.shapes.first(shape); id != 0 {
			return id
		}
	}
	return 0
}

func (c *Chain) All(shape types.Hash) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, x := range c.layers {
			for id := range x.shapes.all(shape) {
				if !yield(id) {
					return
				}
			}
		}
	}
}

func (c *Chain) Tag(stub types.Hash) (definition, declaration uint32, count int) {
	for _, x := range c.layers {
		first, n := x.definitions.count(stub)
		definition, count = cmp.Or(definition, first), count+n
		first, n = x.shapes.count(stub)
		declaration, count = cmp.Or(declaration, first), count+n
	}
	return definition, declaration, count
}

// layer returns the index of the BTF that has the type with this id, or nil if there is none.
func (c *Chain) layer(id uint32) *index {
	for _, x := range c.layers {
		if x.has(id) {
			return x
		}
	}
	return nil
}

func (c *Chain) Refs(id uint32, into []uint32) []uint32 {
	x := c.layer(id)
	if x == nil {
		return into
	}
	refs, count, _ := x.record(id)
	for range min(count, len(refs)) {
		var ref uint32
		ref, refs = cutUvarint(refs)
		into = append(into, ref)
	}
	return into
}

func (c *Chain) Declares(id uint32) bool {
	x := c.layer(id)
	if x == nil {
		return false
	}
	_, _, declares := x.record(id)
	return declares
}

func (c *Chain) HasDeclTag(value []byte, target, component uint32, flag bool) bool {
	h := declTagHash(types.HashString(value), target, component, flag)
	for _, x := range c.layers {
		if x.declTags.first(h) != 0 {
			return true
		}
	}
	return false
}

func declTagHash(value types.Hash, target, component uint32, flag bool) types.Hash {
	return types.Start(types.KindDeclTag, target, component, value, types.Hash{}).Sum(flag)
}

func (c *Chain) String(s []byte) uint32 {
	h := types.HashString(s)
	for _, x := range c.layers {
		if offset := x.strings.first(h); offset != 0 {
			return offset
		}
	}
	return 0
}

func (c *Chain) Layers() []types.Hash {
	var list []types.Hash
	for _, x := range c.layers {
		list = append(list, x.header.Digest)
	}
	return list
}
