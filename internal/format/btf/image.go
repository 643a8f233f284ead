package btf

import (
	"encoding/binary"
	"fmt"
)

// Image is the bytes of a blob that is being written. Its sections may be written in any order, and
// by several threads if each writes its own part.
type Image struct {
	Strings []byte // the string section, to be filled

	out       []byte
	types     []byte
	bigEndian bool
}

// NewImage makes room for a blob with the given number of types. The type section has typeLen
// bytes, the string section strLen bytes. The byte order and the bases are those of b.
func NewImage(b *Blob, types int, typeLen uint64, strLen int, opts EncodeOptions) (*Image, error) {
	if end := uint64(b.BaseStrLen) + uint64(strLen); end > MaxNameOff+1 {
		return nil, fmt.Errorf("cannot write BTF: %d bytes of strings, but the format allows only %d",
			end, MaxNameOff+1)
	}
	if last := uint64(b.StartID) + uint64(types); last > MaxLastTypeID+1 {
		return nil, fmt.Errorf("cannot write BTF: the last type id would be %d, "+
			"but the kernel reads only up to %d", last-1, MaxLastTypeID)
	}
	if typeLen > 1<<31-1 {
		return nil, fmt.Errorf("cannot write BTF: %d bytes of types, but the format allows only %d",
			typeLen, 1<<31-1)
	}
	m := &Image{bigEndian: b.Order == binary.BigEndian}
	var order binary.ByteOrder = binary.LittleEndian
	if m.bigEndian {
		order = binary.BigEndian
	}
	hdrLen, layoutLen := HeaderLen, 0
	if opts.Layout {
		hdrLen, layoutLen = HeaderLenLayout, 4*b.layoutKinds()
	}
	hdrLen = max(hdrLen, opts.HeaderLen)
	typesEnd := hdrLen + int(typeLen)
	m.out = make([]byte, typesEnd+layoutLen+strLen)
	m.types, m.Strings = m.out[hdrLen:typesEnd:typesEnd], m.out[typesEnd+layoutLen:]
	order.PutUint16(m.out, Magic)
	m.out[2] = Version
	header := []uint32{uint32(hdrLen), 0, uint32(typeLen), uint32(int(typeLen) + layoutLen),
		uint32(strLen)}
	if opts.Layout {
		header = append(header, uint32(typeLen), uint32(layoutLen))
		for i, l := range layout[:layoutLen/4] {
			m.out[typesEnd+4*i], m.out[typesEnd+4*i+1] = l.info, l.elem
		}
	}
	for i, v := range header {
		order.PutUint32(m.out[4+4*i:], v)
	}
	return m, nil
}

// layoutKinds is the number of kinds in the layout section. Without types of later kinds, the
// section has the bytes that libbpf 1.8 writes.
func (b *Blob) layoutKinds() int {
	for i := range b.Types {
		if b.Types[i].Kind > KindEnum64 {
			return NumKinds
		}
	}
	return int(KindEnum64) + 1
}

// Records returns a writer of type records that starts at an offset in the type section.
func (m *Image) Records(offset uint64) Records { return Records{m.types[offset:]} }

// Finish returns the blob, which must have been written completely. Don't use m afterwards.
func (m *Image) Finish() []byte {
	if m.bigEndian { // the type section consists of 32-bit words
		for b := m.types; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	}
	return m.out
}

// Records writes type records one after another. For each record, the caller writes the Type first,
// then the elements. A record that doesn't fit in the section causes a panic.
type Records struct {
	to []byte // the rest of the section; little-endian until the image is finished
}

// Type writes the beginning of a record: all but the elements.
func (r *Records) Type(t *Type) {
	info := uint32(t.Kind)<<24 | t.Vlen
	if t.KFlag {
		info |= 1 << 31
	}
	r.put3(t.NameOff, info, t.SizeOrType)
	switch t.Kind {
	case KindInt, KindVar, KindDeclTag, KindLocParam:
		binary.LittleEndian.PutUint32(r.to, t.Extra)
		r.to = r.to[4:]
	}
}

// Array writes the body of an ARRAY, after its Type.
func (r *Records) Array(a Array) { r.put3(a.Elem, a.Index, a.Nelems) }

// Member writes a member of a STRUCT or UNION.
func (r *Records) Member(m Member) { r.put3(m.NameOff, m.Type, m.Offset) }

// Param writes a parameter of a FUNC_PROTO.
func (r *Records) Param(p Param) { r.put2(p.NameOff, p.Type) }

// Enumerator writes a value of an ENUM or ENUM64.
func (r *Records) Enumerator(k Kind, e Enumerator) {
	if k == KindEnum64 {
		r.put3(e.NameOff, uint32(e.Value), uint32(e.Value>>32))
		return
	}
	r.put2(e.NameOff, uint32(e.Value))
}

// Secinfo writes a variable of a DATASEC.
func (r *Records) Secinfo(s Secinfo) { r.put3(s.Type, s.Offset, s.Size) }

// Word writes a value of a LOC_PARAM or a type id in a LOC_PROTO.
func (r *Records) Word(w uint32) {
	binary.LittleEndian.PutUint32(r.to, w)
	r.to = r.to[4:]
}

// Site writes a site of a LOCSEC.
func (r *Records) Site(s Site) { r.put3(s.Func, s.LocProto, s.Offset) }

func (r *Records) put2(a, b uint32) {
	binary.LittleEndian.PutUint64(r.to, uint64(b)<<32|uint64(a))
	r.to = r.to[8:]
}

func (r *Records) put3(a, b, c uint32) {
	p := r.to[:12]
	binary.LittleEndian.PutUint64(p, uint64(b)<<32|uint64(a))
	binary.LittleEndian.PutUint32(p[8:], c)
	r.to = r.to[12:]
}
