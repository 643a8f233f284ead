package dwarf

import std "debug/dwarf"

// Attr names an attribute that a DIE is decoded into.
type Attr uint8

const (
	Name Attr = iota
	Type
	ByteSize
	Sibling
	Declaration
	MemberLocation
	BitSize
	DataBitOffset
	BitOffset
	Encoding
	UpperBound
	Count
	ConstValue
	External
	LowPC
	Ranges
	Origin
	Specification
	Location
	Language
	StrOffsetsBase
	AddrBase
	RnglistsBase
	LoclistsBase
	Signature
	Import
	Annotation
	CallingConvention
	DwoName
	EntryPC
	Producer
	Inline
	numAttrs
)

// DW_AT codes that package debug/dwarf doesn't name.
const (
	attrGNUDwoName    = 0x2130
	attrGNUAddrBase   = 0x2133
	attrGNUAnnotation = 0x2139
	attrDwoName       = 0x76
)

var attrOf = [0x90]Attr{}

func init() {
	for i := range attrOf {
		attrOf[i] = numAttrs
	}
	for a, s := range map[std.Attr]Attr{
		std.AttrName: Name, std.AttrType: Type, std.AttrByteSize: ByteSize, std.AttrSibling: Sibling,
		std.AttrDeclaration: Declaration, std.AttrDataMemberLoc: MemberLocation, std.AttrBitSize: BitSize,
		std.AttrDataBitOffset: DataBitOffset, std.AttrBitOffset: BitOffset, std.AttrEncoding: Encoding,
		std.AttrUpperBound: UpperBound, std.AttrCount: Count, std.AttrConstValue: ConstValue,
		std.AttrExternal: External, std.AttrLowpc: LowPC, std.AttrRanges: Ranges,
		std.AttrAbstractOrigin: Origin, std.AttrSpecification: Specification, std.AttrLocation: Location,
		std.AttrLanguage: Language, std.AttrStrOffsetsBase: StrOffsetsBase, std.AttrAddrBase: AddrBase,
		std.AttrRnglistsBase: RnglistsBase, std.AttrLoclistsBase: LoclistsBase, std.AttrSignature: Signature,
		std.AttrImport: Import, std.AttrCalling: CallingConvention, attrDwoName: DwoName,
		std.AttrEntrypc: EntryPC, std.AttrProducer: Producer, std.AttrInline: Inline,
	} {
		attrOf[a] = s
	}
}

func attrFor(attr uint64) Attr {
	if attr < uint64(len(attrOf)) {
		return attrOf[attr]
	}
	switch attr {
	case attrGNUDwoName:
		return DwoName
	case attrGNUAddrBase:
		return AddrBase
	case attrGNUAnnotation:
		return Annotation
	}
	return numAttrs
}

// Tags that package debug/dwarf doesn't name.
const (
	TagLLVMAnnotation std.Tag = 0x6000
	TagGNUAnnotation  std.Tag = 0x6001
	tagGNUCallSite    std.Tag = 0x4109
)

// Forms (7.5.6).
const (
	formAddr         = 0x01
	formBlock2       = 0x03
	formBlock4       = 0x04
	formData2        = 0x05
	formData4        = 0x06
	formData8        = 0x07
	formString       = 0x08
	formBlock        = 0x09
	formBlock1       = 0x0a
	formData1        = 0x0b
	formFlag         = 0x0c
	formSdata        = 0x0d
	formStrp         = 0x0e
	formUdata        = 0x0f
	formRefAddr      = 0x10
	formRef1         = 0x11
	formRef2         = 0x12
	formRef4         = 0x13
	formRef8         = 0x14
	formRefUdata     = 0x15
	formIndirect     = 0x16
	formSecOffset    = 0x17
	formExprloc      = 0x18
	formFlagPresent  = 0x19
	formStrx         = 0x1a
	formAddrx        = 0x1b
	formRefSup4      = 0x1c
	formStrpSup      = 0x1d
	formData16       = 0x1e
	formLineStrp     = 0x1f
	formRefSig8      = 0x20
	formImplicit     = 0x21
	formLoclistx     = 0x22
	formRnglistx     = 0x23
	formRefSup8      = 0x24
	formStrx1        = 0x25
	formStrx2        = 0x26
	formStrx3        = 0x27
	formStrx4        = 0x28
	formAddrx1       = 0x29
	formAddrx2       = 0x2a
	formAddrx3       = 0x2b
	formAddrx4       = 0x2c
	formGNUAddrIndex = 0x1f01
	formGNUStrIndex  = 0x1f02
	formGNURefAlt    = 0x1f20
	formGNUStrpAlt   = 0x1f21
)

// Class says how the value of an attribute is to be read.
type Class uint8

const (
	ClassNone    Class = iota
	ClassConst         // the value, sign-extended where the form is signed
	ClassAddr          // an address
	ClassAddrx         // an index into .debug_addr
	ClassRef           // a DIE's offset in this unit
	ClassRefAddr       // a DIE's offset in the section
	ClassSig           // a type unit's signature
	ClassBlock         // a block or expression: offset in the unit, length in the upper 32 bits
	ClassSec           // an offset into another section (lists)
	ClassListx         // an index into a list table (loclists, rnglists)
	ClassInline        // a string: its offset in the unit
	ClassStrp          // a string: its offset in .debug_str
	ClassLineStr       // a string: its offset in .debug_line_str
	ClassStrx          // a string: an index into .debug_str_offsets
	ClassSup           // something in a supplementary file, which is not available
)
