package dwarf

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

// form has the size and the meaning of a DWARF form's values. The zero value is an unknown form.
type form struct {
	size  int8 // in bytes, or one of the negative sizes below
	class Class
}

const (
	sizeVaries    = -1
	sizeAddress   = -2 // the size of an address
	sizeOffset    = -3 // the size of an offset into a section
	sizeReference = -4 // the size of an offset; in version 2, of an address
)

var forms = [...]form{
	formAddr: {sizeAddress, ClassAddr}, formData16: {16, ClassNone},
	formData1: {1, ClassConst}, formData2: {2, ClassConst}, formData4: {4, ClassConst},
	formData8: {8, ClassConst}, formFlag: {1, ClassConst}, formFlagPresent: {0, ClassConst},
	formImplicit: {0, ClassConst}, formSdata: {sizeVaries, ClassConst},
	formUdata: {sizeVaries, ClassConst}, formBlock: {sizeVaries, ClassBlock},
	formBlock1: {sizeVaries, ClassBlock}, formBlock2: {sizeVaries, ClassBlock},
	formBlock4: {sizeVaries, ClassBlock}, formExprloc: {sizeVaries, ClassBlock},
	formString: {sizeVaries, ClassInline}, formStrp: {sizeOffset, ClassStrp},
	formLineStrp: {sizeOffset, ClassLineStr}, formStrpSup: {sizeOffset, ClassStrpSup},
	formRefSup4: {4, ClassRefSup}, formRefSup8: {8, ClassRefSup},
	formSecOffset: {sizeOffset, ClassSec},
	formRefAddr:   {sizeReference, ClassRefAddr}, formRefSig8: {8, ClassSig},
	formRef1: {1, ClassRef}, formRef2: {2, ClassRef}, formRef4: {4, ClassRef},
	formRef8: {8, ClassRef}, formRefUdata: {sizeVaries, ClassRef},
	formStrx: {sizeVaries, ClassStrx}, formStrx1: {1, ClassStrx}, formStrx2: {2, ClassStrx},
	formStrx3: {3, ClassStrx}, formStrx4: {4, ClassStrx},
	formAddrx: {sizeVaries, ClassAddrx}, formAddrx1: {1, ClassAddrx}, formAddrx2: {2, ClassAddrx},
	formAddrx3: {3, ClassAddrx}, formAddrx4: {4, ClassAddrx},
	formLoclistx: {sizeVaries, ClassListx}, formRnglistx: {sizeVaries, ClassListx},
}

// Rule: supplementary files of dwz: forms that refer to them. Source: libdw dwarf_getalt.
func formOf(code uint64) form {
	switch code {
	case formGNUAddrIndex:
		code = formAddrx
	case formGNUStrIndex:
		code = formStrx
	case formGNURefAlt:
		return form{sizeOffset, ClassRefSup}
	case formGNUStrpAlt:
		code = formStrpSup
	}
	if code >= uint64(len(forms)) {
		return form{}
	}
	return forms[code]
}

// format has the properties of a unit on which the sizes and meanings of forms depend: its version,
// its offset size, its address size, and whether the unit is in the supplementary file.
type format struct {
	version  uint16
	offSize  uint8
	addrSize uint8
	sup      bool // the unit is in the supplementary file
}

// fixedForm returns a form's size in bytes (-1 if the size varies), and its class (0 if unknown).
func (f format) fixedForm(code uint64) (int, Class) {
	form := formOf(code)
	switch {
	case form == forms[0]:
		return -1, ClassNone
	case form.size == sizeAddress, form.size == sizeReference && f.version <= 2:
		return int(f.addrSize), form.class
	case form.size == sizeOffset, form.size == sizeReference:
		return int(f.offSize), form.class
	}
	return int(form.size), form.class
}

// classOf adapts the class of a form to the attribute and the unit. Before DWARF 4, location-list
// offsets used DW_FORM_data4 and data8, so a member's location in such a form is a list (version 3,
// 7.5.4). A reference within the supplementary file gets the same class as one from outside.
func (f format) classOf(attr Attr, form uint64, class Class) Class {
	if f.version < 4 && attr == MemberLocation && (form == formData4 || form == formData8) {
		return ClassSec
	}
	if !f.sup {
		return class
	}
	switch class {
	case ClassStrp:
		return ClassStrpSup
	case ClassRefAddr:
		return ClassRefSup
	case ClassStrpSup, ClassRefSup: // in a supplementary file these are invalid
		return ClassSec
	}
	return class
}
