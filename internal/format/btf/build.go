package btf

import "encoding/binary"

// Builder makes a blob type by type. Types get ids in the order of the calls. A type may refer to
// an id that no type has yet. Encode checks the limits of the format.
type Builder struct {
	Blob *Blob
	strs *StringTable
}

// NewBuilder starts an empty blob that is based on base (nil for none). strs is the table of names.
// If strs is nil, a new table is made, in which each name of the base keeps its offset in the base.
func NewBuilder(order binary.ByteOrder, base *Blob, strs *StringTable) *Builder {
	if strs == nil {
		strs = NewStringTable(base)
	}
	b := &Blob{Order: order, StartID: 1, Base: base}
	if base != nil {
		b.StartID, b.BaseStrLen = base.EndID(), base.EndStr()
	}
	return &Builder{b, strs}
}

// NextID is the id that the next type gets.
func (b *Builder) NextID() uint32 { return b.Blob.EndID() }

// Name returns the string offset of a name, which it adds if necessary.
func (b *Builder) Name(s string) uint32 { return b.strs.Add(s) }

// Finish returns the blob, with its strings.
func (b *Builder) Finish() *Blob {
	b.Blob.Strings = b.strs.String()
	return b.Blob
}

// Encode finishes the blob and encodes it.
func (b *Builder) Encode(opts EncodeOptions) ([]byte, error) { return Encode(b.Finish(), opts) }

// Add appends a record and returns its id. The record's elements must be in the arenas already.
func (b *Builder) Add(t Type) uint32 {
	id := b.NextID()
	b.Blob.Types = append(b.Blob.Types, t)
	return id
}

// appendTo appends elements to an arena, and returns the index of the first and their number.
func appendTo[T any](arena *[]T, elems []T) (first, n uint32) {
	first = uint32(len(*arena))
	*arena = append(*arena, elems...)
	return first, uint32(len(elems))
}

// Int adds an INT of size bytes with the given number of bits, or size * 8 if bits is 0.
func (b *Builder) Int(name string, size, encoding, bits uint32) uint32 {
	if bits == 0 {
		bits = size * 8
	}
	return b.Add(Type{Kind: KindInt, NameOff: b.Name(name), SizeOrType: size,
		Extra: encoding<<24 | bits})
}

// Float adds a FLOAT of size bytes.
func (b *Builder) Float(name string, size uint32) uint32 {
	return b.Add(Type{Kind: KindFloat, NameOff: b.Name(name), SizeOrType: size})
}

// Ref adds a type that only refers to a type: PTR, TYPEDEF, VOLATILE, CONST, RESTRICT or TYPE_TAG.
func (b *Builder) Ref(kind Kind, name string, to uint32) uint32 {
	return b.Add(Type{Kind: kind, NameOff: b.Name(name), SizeOrType: to})
}

// Array adds an ARRAY.
func (b *Builder) Array(elem, index, nelems uint32) uint32 {
	first, _ := appendTo(&b.Blob.Arrays, []Array{{elem, index, nelems}})
	return b.Add(Type{Kind: KindArray, First: first})
}

// Composite adds a STRUCT or UNION. If kflag is set, member offsets include bitfield sizes.
func (b *Builder) Composite(kind Kind, name string, size uint32, kflag bool,
	members ...Member) uint32 {
	first, n := appendTo(&b.Blob.Members, members)
	return b.Add(Type{Kind: kind, NameOff: b.Name(name), SizeOrType: size, KFlag: kflag,
		First: first, Vlen: n})
}

// Enum adds an ENUM or ENUM64 of size bytes.
func (b *Builder) Enum(kind Kind, name string, size uint32, signed bool,
	values ...Enumerator) uint32 {
	first, n := appendTo(&b.Blob.Enums, values)
	return b.Add(Type{Kind: kind, NameOff: b.Name(name), SizeOrType: size, KFlag: signed,
		First: first, Vlen: n})
}

// Fwd adds a FWD that declares a struct or a union.
func (b *Builder) Fwd(name string, union bool) uint32 {
	return b.Add(Type{Kind: KindFwd, NameOff: b.Name(name), KFlag: union})
}

// Func adds a FUNC.
func (b *Builder) Func(name string, proto, linkage uint32) uint32 {
	return b.Add(Type{Kind: KindFunc, NameOff: b.Name(name), SizeOrType: proto, Vlen: linkage})
}

// FuncProto adds a FUNC_PROTO; ret 0 is void.
func (b *Builder) FuncProto(ret uint32, params ...Param) uint32 {
	first, n := appendTo(&b.Blob.Params, params)
	return b.Add(Type{Kind: KindFuncProto, SizeOrType: ret, First: first, Vlen: n})
}

// Var adds a VAR.
func (b *Builder) Var(name string, typ, linkage uint32) uint32 {
	return b.Add(Type{Kind: KindVar, NameOff: b.Name(name), SizeOrType: typ, Extra: linkage})
}

// Datasec adds a DATASEC of size bytes.
func (b *Builder) Datasec(name string, size uint32, vars ...Secinfo) uint32 {
	first, n := appendTo(&b.Blob.Secinfos, vars)
	return b.Add(Type{Kind: KindDatasec, NameOff: b.Name(name), SizeOrType: size, First: first,
		Vlen: n})
}

// LocParam adds a LOC_PARAM for a parameter of size bytes; flags say what the values mean.
func (b *Builder) LocParam(size, flags uint32, values ...uint32) uint32 {
	first, n := appendTo(&b.Blob.Words, values)
	return b.Add(Type{Kind: KindLocParam, SizeOrType: size, Extra: flags, First: first, Vlen: n})
}

// LocProto adds a LOC_PROTO; a parameter is the id of a LOC_PARAM, or 0 if it isn't known.
func (b *Builder) LocProto(params ...uint32) uint32 {
	first, n := appendTo(&b.Blob.Words, params)
	return b.Add(Type{Kind: KindLocProto, First: first, Vlen: n})
}

// Locsec adds a LOCSEC. In finished BTF, its sites are sorted: see SortSites.
func (b *Builder) Locsec(name string, sites ...Site) uint32 {
	first, n := appendTo(&b.Blob.Sites, sites)
	return b.Add(Type{Kind: KindLocsec, NameOff: b.Name(name), First: first, Vlen: n})
}

// DeclTag adds a DECL_TAG on a type or on one of its members or parameters. component is the index
// of the member or parameter, or DeclTagWhole for the type itself.
func (b *Builder) DeclTag(name string, target, component uint32) uint32 {
	return b.Add(Type{Kind: KindDeclTag, NameOff: b.Name(name), SizeOrType: target, Extra: component})
}
