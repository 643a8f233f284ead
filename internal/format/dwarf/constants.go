package dwarf

import std "debug/dwarf"

// Attr is an attribute that is decoded: a wanted attribute.
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

// FrameBase is only in entries of functions, which have no MemberLocation. So both share a slot,
// and DIE.Val has no more than 32 slots (see Reader.Read).
const FrameBase = MemberLocation

// Views (DW_AT_GNU_locviews) and EntryView (DW_AT_GNU_entry_view) share the slots of UpperBound and
// Count, which only entries of arrays have. Only entries of parameters and variables have Views,
// and only entries of inlined calls have EntryView.
const (
	Views     = UpperBound
	EntryView = Count
)

// DW_AT codes that package debug/dwarf doesn't name.
const (
	attrDwoName       std.Attr = 0x76
	attrGNUDwoName    std.Attr = 0x2130
	attrGNUAddrBase   std.Attr = 0x2133
	attrGNUViews      std.Attr = 0x2137
	attrGNUEntryView  std.Attr = 0x2138
	attrGNUAnnotation std.Attr = 0x2139
)

var attrOf = [attrGNUAnnotation + 1]Attr{}

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
		std.AttrRnglistsBase: RnglistsBase, std.AttrLoclistsBase: LoclistsBase,
		std.AttrSignature: Signature, std.AttrImport: Import, std.AttrCalling: CallingConvention,
		std.AttrFrameBase: FrameBase, std.AttrEntrypc: EntryPC, std.AttrProducer: Producer,
		std.AttrInline: Inline,
		attrDwoName:    DwoName, attrGNUDwoName: DwoName, attrGNUAddrBase: AddrBase,
		attrGNUAnnotation: Annotation, attrGNUViews: Views, attrGNUEntryView: EntryView,
	} {
		attrOf[a] = s
	}
}

// attrFor returns the attribute with a DW_AT code, or numAttrs if that attribute is not wanted.
// Rule: DWARF attributes that are read.
func attrFor(code uint64) Attr {
	if code < uint64(len(attrOf)) {
		return attrOf[code]
	}
	return numAttrs
}

// Tags that package debug/dwarf doesn't name.
const (
	TagLLVMAnnotation std.Tag = 0x6000
	TagGNUAnnotation  std.Tag = 0x6001
	tagGNUCallSite    std.Tag = 0x4109
)

// Class says what the value of an attribute means.
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
	ClassRefSup        // a DIE's offset in .debug_info of the supplementary file
	ClassStrpSup       // a string: its offset in .debug_str of the supplementary file
)
