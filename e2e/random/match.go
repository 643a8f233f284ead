package random

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// matcher compares types in BTF with types in DWARF, and with them all types to which they lead. If
// a DIE is only a declaration of a tag, it matches any definition of the tag, whose members aren't
// compared.
type matcher struct {
	info    *debugInfo
	matched map[pair]bool // the pairs that are known to match
}

type pair struct {
	die *die
	btf btf.Type
}

// match returns nil if d describes t, and otherwise the first difference. A nil d means void.
func (m *matcher) match(d *die, t btf.Type) error {
	assumed := map[pair]bool{}
	if err := m.compare(assumed, d, t); err != nil {
		return err
	}
	for p := range assumed {
		m.matched[p] = true
	}
	return nil
}

func (m *matcher) compare(assumed map[pair]bool, d *die, t btf.Type) error {
	if d != nil && d.Tag == dwarf.TagUnspecifiedType {
		if strings.Contains(d.name(), "nullptr") {
			if p, ok := t.(*btf.Pointer); ok {
				return m.compare(assumed, nil, p.Target)
			}
			return fmt.Errorf("nullptr has the type %s, want a pointer to void", tellBTF(t))
		}
		d = nil
	}
	_, void := t.(*btf.Void)
	if void || t == nil || d == nil {
		if d == nil && (void || t == nil) {
			return nil
		}
		return fmt.Errorf("%s in the DWARF is %s in the BTF", tell(d), tellBTF(t))
	}
	p := pair{d, t}
	if assumed[p] || m.matched[p] {
		return nil
	}
	assumed[p] = true
	if err := m.parts(assumed, d, t); err != nil {
		return fmt.Errorf("%s: %w", tell(d), err)
	}
	return nil
}

func tell(d *die) string {
	if d == nil {
		return "void"
	}
	return fmt.Sprintf("%s %s at %#x", d.Tag, d.name(), d.Offset)
}

func tellBTF(t btf.Type) string {
	if t == nil || reflect.ValueOf(t).IsNil() {
		return "void"
	}
	return fmt.Sprintf("%T %s", t, t.TypeName())
}

// parts compares two types that haven't been compared before.
func (m *matcher) parts(assumed map[pair]bool, d *die, t btf.Type) error {
	follow := func(tag dwarf.Tag, to btf.Type) error {
		if d.Tag != tag {
			return fmt.Errorf("is a %s", tellBTF(t))
		}
		return m.compare(assumed, m.info.typeOf(d), to)
	}
	if d.name() != t.TypeName() && d.Tag != dwarf.TagPointerType && d.Tag != dwarf.TagSubroutineType &&
		d.Tag != dwarf.TagSubprogram {
		return fmt.Errorf("is called %q", t.TypeName())
	}
	switch t := t.(type) {
	case *btf.Int, *btf.Float:
		return m.baseType(d, t)
	case *btf.Pointer:
		to, err := m.withoutTags(d, t.Target)
		if err != nil {
			return err
		}
		return follow(dwarf.TagPointerType, to)
	case *btf.Const:
		return follow(dwarf.TagConstType, t.Type)
	case *btf.Volatile:
		return follow(dwarf.TagVolatileType, t.Type)
	case *btf.Restrict:
		return follow(dwarf.TagRestrictType, t.Type)
	case *btf.Typedef:
		return errors.Join(m.tagged(d, t.Tags), follow(dwarf.TagTypedef, t.Type))
	case *btf.Array:
		return m.array(assumed, d, t)
	case *btf.Struct:
		return errors.Join(m.tagged(d, t.Tags),
			m.record(assumed, d, dwarf.TagStructType, t.Size, t.Members))
	case *btf.Union:
		return errors.Join(m.tagged(d, t.Tags),
			m.record(assumed, d, dwarf.TagUnionType, t.Size, t.Members))
	case *btf.Fwd:
		if tag := map[btf.FwdKind]dwarf.Tag{btf.FwdStruct: dwarf.TagStructType,
			btf.FwdUnion: dwarf.TagUnionType}[t.Kind]; d.Tag != tag || !d.declaration() {
			return fmt.Errorf("is a forward declaration of a %s in BTF, but not in DWARF", t.Kind)
		}
		return nil
	case *btf.Enum:
		return m.enum(d, t)
	case *btf.FuncProto:
		return m.prototype(assumed, d, t)
	}
	return fmt.Errorf("is a %T", t)
}

func (m *matcher) baseType(d *die, t btf.Type) error {
	const boolean, float, signed, signedChar = 2, 4, 5, 6
	encoding, _ := d.number(dwarf.AttrEncoding)
	size, _ := d.number(dwarf.AttrByteSize)
	want, have := "unsigned", "unsigned"
	switch encoding {
	case boolean:
		want = "bool"
	case float:
		want = "float"
	case signed, signedChar:
		want = "signed"
	}
	var haveSize uint32
	switch t := t.(type) {
	case *btf.Float:
		have, haveSize = "float", t.Size
	case *btf.Int:
		haveSize = t.Size
		switch t.Encoding {
		case btf.Bool:
			have = "bool"
		case btf.Signed:
			have = "signed"
		}
	}
	if d.Tag != dwarf.TagBaseType || have != want || int64(haveSize) != size {
		return fmt.Errorf("want %s of %d bytes, have %s of %d", want, size, have, haveSize)
	}
	return nil
}

// array compares arrays. In DWARF, a single DIE has all dimensions of an array.
func (m *matcher) array(assumed map[pair]bool, d *die, t *btf.Array) error {
	if d.Tag != dwarf.TagArrayType {
		return fmt.Errorf("is an array")
	}
	dimensions := d.children(dwarf.TagSubrangeType)
	for i, s := range dimensions {
		n, ok := s.number(dwarf.AttrCount)
		if upper, isUpper := s.number(dwarf.AttrUpperBound); !ok && isUpper {
			n = upper + 1
		}
		if n != int64(t.Nelems) {
			return fmt.Errorf("has %d elements, want %d", t.Nelems, n)
		}
		if i+1 < len(dimensions) {
			if t, ok = t.Type.(*btf.Array); !ok {
				return fmt.Errorf("has %d dimensions, want %d", i+1, len(dimensions))
			}
		}
	}
	return m.compare(assumed, m.info.typeOf(d), t.Type)
}

func (m *matcher) record(assumed map[pair]bool, d *die, tag dwarf.Tag, size uint32,
	members []btf.Member) error {
	if d.Tag != tag {
		return fmt.Errorf("is a struct in BTF and a union in DWARF, or the other way round")
	}
	if d.declaration() {
		return nil
	}
	if want, ok := d.number(dwarf.AttrByteSize); ok && want != int64(size) {
		return fmt.Errorf("has size %d, want %d", size, want)
	}
	fields := slices.DeleteFunc(d.children(dwarf.TagMember), m.info.leftOut)
	if len(fields) != len(members) {
		return fmt.Errorf("has %d members, want %d", len(members), len(fields))
	}
	for i, field := range fields {
		offset, width, err := m.field(field)
		if err != nil {
			return err
		}
		have := members[i]
		if have.Name != field.name() || int64(have.Offset) != offset ||
			int64(have.BitfieldSize) != width {
			return fmt.Errorf("member %d is %s at bit %d (bit-field of %d), want %s at bit %d (%d)", i,
				have.Name,
				have.Offset, have.BitfieldSize, field.name(), offset, width)
		}
		if err := errors.Join(m.tagged(field, have.Tags),
			m.compare(assumed, m.info.typeOf(field), have.Type)); err != nil {
			return fmt.Errorf("member %s: %w", have.Name, err)
		}
	}
	return nil
}

// field returns the offset of a member in bits, and its width if it is a bit-field.
func (m *matcher) field(d *die) (offset, width int64, err error) {
	offset, err = d.memberOffset()
	if err != nil {
		return 0, 0, err
	}
	width, _ = d.number(dwarf.AttrBitSize)
	if offset *= 8; width == 0 {
		return offset, 0, nil
	}
	if bits, ok := d.number(dwarf.AttrDataBitOffset); ok {
		return bits, width, nil
	}
	if old, ok := d.number(dwarf.AttrBitOffset); ok { // from the highest bit of the storage unit
		storage, ok := d.number(dwarf.AttrByteSize)
		if !ok {
			storage = m.size(m.info.typeOf(d))
		}
		offset += storage*8 - old - width
	}
	return offset, width, nil
}

// size returns the size of a type that a bit-field can have.
func (m *matcher) size(d *die) int64 {
	for d != nil {
		if n, ok := d.number(dwarf.AttrByteSize); ok {
			return n
		}
		d = m.info.typeOf(d)
	}
	return 0
}

func (m *matcher) enum(d *die, t *btf.Enum) error {
	if d.Tag != dwarf.TagEnumerationType {
		return fmt.Errorf("is an enum")
	}
	if d.declaration() {
		return nil
	}
	values := d.children(dwarf.TagEnumerator)
	if size, _ := d.number(dwarf.AttrByteSize); size != int64(t.Size) || len(values) != len(t.Values) {
		return fmt.Errorf("has %d bytes and %d values, want %d and %d", t.Size, len(t.Values), size,
			len(values))
	}
	mask := ^uint64(0) >> (64 - 8*t.Size)
	for i, v := range values {
		n, _ := v.number(dwarf.AttrConstValue)
		if have := t.Values[i]; have.Name != v.name() || have.Value&mask != uint64(n)&mask {
			return fmt.Errorf("has %s = %#x, want %s = %#x", have.Name, have.Value, v.name(), n)
		}
	}
	return nil
}

// prototype compares the type of a function. The DIE d may be a DW_TAG_subprogram.
func (m *matcher) prototype(assumed map[pair]bool, d *die, t *btf.FuncProto) error {
	if d.Tag != dwarf.TagSubroutineType && d.Tag != dwarf.TagSubprogram {
		return fmt.Errorf("is a function")
	}
	params := d.children(dwarf.TagFormalParameter, dwarf.TagUnspecifiedParameters)
	if len(params) != len(t.Params) {
		return fmt.Errorf("has %d parameters, want %d", len(t.Params), len(params))
	}
	for i, p := range params {
		if name := m.info.nameOf(p); name != t.Params[i].Name {
			return fmt.Errorf("parameter %d is called %q, want %q", i, t.Params[i].Name, name)
		}
		if err := m.compare(assumed, m.info.typeOf(p), t.Params[i].Type); err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	return m.compare(assumed, m.info.typeOf(d), t.Return)
}
