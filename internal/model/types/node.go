package types

// ID identifies a node of a Graph. 0 is void.
type ID uint32

// Kind is the kind of a node. Up to KindEnum64, kinds have BTF's numbers (uapi/linux/btf.h).
type Kind uint8

const (
	KindVoid      Kind = 0
	KindInt       Kind = 1
	KindPtr       Kind = 2
	KindArray     Kind = 3
	KindStruct    Kind = 4
	KindUnion     Kind = 5
	KindEnum      Kind = 6
	KindFwd       Kind = 7 // never in a graph: a forward declaration is a stub
	KindTypedef   Kind = 8
	KindVolatile  Kind = 9
	KindConst     Kind = 10
	KindRestrict  Kind = 11
	KindFunc      Kind = 12
	KindFuncProto Kind = 13
	KindVar       Kind = 14
	KindDatasec   Kind = 15
	KindFloat     Kind = 16
	KindDeclTag   Kind = 17
	KindTypeTag   Kind = 18
	KindEnum64    Kind = 19
	KindStub      Kind = 32
)

// Tag is a namespace of tags. C has one namespace for struct, union and enum. Here each has its
// own, because BTF's forward declarations distinguish struct and union.
type Tag uint8

const (
	TagStruct Tag = 1
	TagUnion  Tag = 2
	TagEnum   Tag = 3 // of either width
	// TagTypedef is for typedefs that lead to themselves without a tag in between, such as a typedef f
	// of a function that returns f *. Only BTF has them. References to them are pinned stubs.
	TagTypedef Tag = 4
)

// TagOf returns the namespace of the tag that a type of kind k defines, or 0 if it defines none.
func TagOf(k Kind) Tag { return tags[k&(KindStub-1)] }

var tags = [KindStub]Tag{KindStruct: TagStruct, KindUnion: TagUnion, KindEnum: TagEnum,
	KindEnum64: TagEnum}

// Node is one shape. It refers to nodes of its graph.
type Node = NodeOf[ID]

// NodeOf is a node whose references have the type R.
//
//	kind            Name   Size          Ref          Aux                  Elems
//	INT             name   bytes                      BTF's encoding word
//	FLOAT           name   bytes
//	PTR, CONST …                         type
//	TYPEDEF         name                 type
//	TYPE_TAG        value                type                              (Flag: kind_flag)
//	ARRAY                  count         element                           one: the index type
//	STRUCT, UNION   tag    bytes                                           members
//	ENUM, ENUM64    tag    bytes                                           enumerators (Flag: signed)
//	FUNC_PROTO                           return type                       parameters
//	FUNC            name   FuncFlags     prototype    linkage
//	VAR             name   bytes         type         linkage              (Flag: not per-CPU)
//	DATASEC         name   bytes                                           VARs
//	DECL_TAG        value                target       component index + 1  (Flag: kind_flag)
//	stub            tag    1 if pinned   pinned def.  Tag                  the pin's lanes, if pinned
//
// Anonymous aggregates and enums have Name 0. A variadic parameter list ends with an element
// without name and type.
type NodeOf[R ~uint32] struct {
	Hash  Hash
	Name  Str
	Size  uint32
	Ref   R
	Aux   uint32
	First uint32 // index in Graph.Elems of the first of Count elements
	Count uint32
	Depth uint16 // how deep the shape nests, see MaxDepth; AddHashed sets it
	Kind  Kind
	// aggregates: bitfields are present; enums: signed; tags: kind_flag; variables that a unit
	// defines: not per-CPU
	Flag bool
}

// MaxDepth is how deep a type may nest: the maximum length of a chain of types (pointers, arrays
// and so on) in which each contains the next, without a named struct, union or enum in between. The
// bound keeps recursive walks from exhausting the stack. It is the same for reading and writing, so
// no tool refuses what another one wrote. pahole has no such bound, nor has the kernel for its own
// BTF; the bound in BPF_BTF_LOAD and libbpf (MAX_RESOLVE_DEPTH, 32) depends on the order of ids.
// Rule: nesting of types: how deep. Source: kernel MAX_RESOLVE_DEPTH.
const MaxDepth = 1000

// Elem is an element of a Node.
type Elem = ElemOf[ID]

// ElemOf is one of these elements of a node:
//   - a member: Val is BTF's offset word (bits, and the bitfield's size in the high byte if
//     Node.Flag is set)
//   - an enumerator: Val is the value (for ENUM, its 32 bits, zero-extended)
//   - a parameter: Val is 0
//   - a variable in a DATASEC: Val is the offset, and in the upper 32 bits the size (both in bytes)
type ElemOf[R ~uint32] struct {
	Name Str
	Ref  R
	Val  uint64
}

// FuncFlags describe a function candidate. They are in Node.Size of a FUNC.
type FuncFlags uint32

const (
	// a parameter was optimized out, in a clone (.isra, .constprop) or in a function that clang
	// marked DW_CC_nocall
	FuncOptimized     FuncFlags = 1 << iota
	FuncReordered               // parameters are not in the order of the source
	FuncUnexpectedReg           // a parameter is not in the register that the ABI names
	FuncUncertain               // a packed struct passed by value may be on the stack
	// no code in the unit: the function is an alias of an identical function, or inlined
	FuncNoCode
	FuncWeak // a weak definition, or one that another definition replaced
	// the symbol has a different name: the function isn't encoded, but shows that the unit is linked
	FuncRenamed
	// only clones with a changed interface have symbols; BTF doesn't say where their parameters are
	FuncUnlocated
	FuncUnsized // in a link: no unit defines the type of a parameter or of the result
)

// Linkage of FUNC and VAR nodes (BTF_FUNC_STATIC …, BTF_VAR_STATIC …).
const (
	LinkageStatic uint32 = 0
	LinkageGlobal uint32 = 1
	LinkageExtern uint32 = 2
)

// Tag returns the namespace of the tag that n defines or, for a stub, refers to; otherwise 0.
func (n *NodeOf[R]) Tag() Tag {
	if n.Kind == KindStub {
		return Tag(n.Aux)
	}
	return TagOf(n.Kind)
}

// FuncFlags returns the flags of a FUNC.
func (n *NodeOf[R]) FuncFlags() FuncFlags { return FuncFlags(n.Size) }

// Linkage returns the linkage of a FUNC or VAR.
func (n *NodeOf[R]) Linkage() uint32 { return n.Aux }

// TagName is a tag: its namespace and name.
type TagName struct {
	Tag  Tag
	Name Str
}

// TagName returns the tag of a stub or a definition.
func (n *NodeOf[R]) TagName() TagName { return TagName{n.Tag(), n.Name} }

// IsDefinition reports whether n defines a tag.
func (n *NodeOf[R]) IsDefinition() bool { return n.Name != 0 && TagOf(n.Kind) != 0 }

// IsPinned reports whether n is a stub that resolves to a specific definition, n.Ref.
func (n *NodeOf[R]) IsPinned() bool { return n.Kind == KindStub && n.Size != 0 }
