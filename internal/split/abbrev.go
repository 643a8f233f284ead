package split

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// Forms that are written (DWARF 5, 7.5.6).
const (
	formAddr        = 0x01
	formData2       = 0x05
	formData4       = 0x06
	formData8       = 0x07
	formString      = 0x08
	formData1       = 0x0b
	formFlag        = 0x0c
	formSdata       = 0x0d
	formStrp        = 0x0e
	formRefAddr     = 0x10
	formRef4        = 0x13
	formSecOffset   = 0x17
	formExprloc     = 0x18
	formFlagPresent = 0x19

	formImplicit = 0x21
)

// attrCodes are the DW_AT codes of the attributes that are written.
var attrCodes = [...]uint16{
	dwarf.Name: 0x03, dwarf.Type: 0x49, dwarf.ByteSize: 0x0b, dwarf.Declaration: 0x3c,
	dwarf.MemberLocation: 0x38, dwarf.BitSize: 0x0d, dwarf.DataBitOffset: 0x6b,
	dwarf.BitOffset: 0x0c, dwarf.Encoding: 0x3e, dwarf.UpperBound: 0x2f, dwarf.Count: 0x37,
	dwarf.ConstValue: 0x1c, dwarf.External: 0x3f, dwarf.LowPC: 0x11, dwarf.Origin: 0x31,
	dwarf.Specification: 0x47, dwarf.Location: 0x02, dwarf.Language: 0x13, dwarf.Signature: 0x69,
	dwarf.Import: 0x18, dwarf.Annotation: 0x2139, dwarf.CallingConvention: 0x36,
	dwarf.Producer: 0x25, dwarf.Inline: 0x20,
}

// abbrevs are the abbreviation declarations of a shard, one table for all its units. Codes count
// in the order of the first use, so that the frequent ones have one byte.
type abbrevs struct {
	codes map[string]uint32 // by how a declaration is spelled after its code
	table []byte
	spec  []byte // the spelling of the declaration that is being made
	hash  uint64 // of spec
	// those that were used last, by hash
	recent [1 << 10]recentAbbrev
}

type recentAbbrev struct {
	spec string
	code uint32
}

const hashFactor = 0x9e3779b97f4a7c15

// begin begins a declaration.
func (a *abbrevs) begin(tag uint32, children bool) {
	a.hash = uint64(tag)
	a.spec = binary.AppendUvarint(a.spec[:0], uint64(tag))
	if children {
		a.hash ^= 1 << 32
		a.spec = append(a.spec, 1)
	} else {
		a.spec = append(a.spec, 0)
	}
	a.hash *= hashFactor
}

// add adds an attribute to the declaration.
func (a *abbrevs) add(attr dwarf.Attr, form byte) {
	a.hash = (a.hash ^ uint64(attr)<<8 ^ uint64(form)) * hashFactor
	if code := attrCodes[attr]; code < 0x80 {
		a.spec = append(a.spec, byte(code), form)
	} else {
		a.spec = append(a.spec, byte(code)|0x80, byte(code>>7), form)
	}
}

// addImplicit adds an attribute whose value is in the declaration: 0 to 63.
func (a *abbrevs) addImplicit(attr dwarf.Attr, v byte) {
	a.add(attr, formImplicit)
	a.hash = (a.hash ^ uint64(v)) * hashFactor
	a.spec = append(a.spec, v)
}

// end returns the code of the declaration.
func (a *abbrevs) end() uint32 {
	r := &a.recent[a.hash>>54]
	if r.spec == string(a.spec) {
		return r.code
	}
	code, ok := a.codes[string(a.spec)]
	if !ok {
		code = a.declare()
	}
	*r = recentAbbrev{string(a.spec), code}
	return code
}

// declare adds the declaration to the table.
func (a *abbrevs) declare() uint32 {
	if a.codes == nil {
		a.codes = make(map[string]uint32)
	}
	code := uint32(len(a.codes) + 1)
	a.codes[string(a.spec)] = code
	a.table = binary.AppendUvarint(a.table, uint64(code))
	a.table = append(append(a.table, a.spec...), 0, 0)
	return code
}
