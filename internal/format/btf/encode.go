package btf

import "fmt"

// EncodeOptions chooses among the forms of the format.
type EncodeOptions struct {
	// Layout adds the layout section (Linux 7.1 and later read it): a header of 32 bytes, and one
	// entry a known kind. Without it the header has the 24 bytes that everything reads.
	Layout bool

	// HeaderLen is the length of the header in bytes, with zeros after the fields that are known; 0
	// is for the shortest. resolve_btfids of Linux 7.2 writes the 32 bytes of a header with a layout
	// section even if there is none.
	HeaderLen int
}

// Form returns the options that give a blob the form of the one that had this header.
func (h Header) Form() EncodeOptions {
	return EncodeOptions{Layout: h.LayoutLen > 0, HeaderLen: int(h.HdrLen)}
}

// Encode writes a blob in the form that every kernel reads: 16 bits of element count, 5 bits of
// kind. Elements are taken from the arenas by First and Vlen, so several types may share some.
// Errors name the type that breaks a limit.
func Encode(b *Blob, opts EncodeOptions) ([]byte, error) {
	if n := len(b.Strings); n == 0 && b.Base == nil && b.BaseStrLen == 0 ||
		n > 0 && b.Strings[n-1] != 0 {
		return nil, fmt.Errorf("cannot write BTF: the string section must end with a NUL byte")
	}
	typeLen, err := b.typeLen()
	if err != nil {
		return nil, err
	}
	m, err := NewImage(b, len(b.Types), typeLen, len(b.Strings), opts)
	if err != nil {
		return nil, err
	}
	r := m.Records(0)
	for i := range b.Types {
		r.record(b, &b.Types[i])
	}
	copy(m.Strings, b.Strings)
	return m.Finish(), nil
}

// typeLen returns the length of the type section in bytes.
func (b *Blob) typeLen() (uint64, error) {
	total := uint64(0)
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind == KindVoid || t.Kind >= NumKinds {
			return 0, fmt.Errorf("cannot write BTF type [%d]: kind %d is not known", b.StartID+uint32(i),
				t.Kind)
		}
		if t.Vlen > MaxVlen {
			return 0, VlenError(b.StartID+uint32(i), t.Kind, b.TypeName(t), t.Vlen)
		}
		total += t.Kind.RecordLen(t.Vlen)
	}
	return total, nil
}

// VlenError tells that a type has more elements than the format holds.
func VlenError(id uint32, kind Kind, name string, vlen uint32) error {
	return fmt.Errorf("cannot write BTF type [%d] %v %s: %d elements, the format holds %d", id, kind,
		name, vlen, MaxVlen)
}

func (r *Records) record(b *Blob, t *Type) {
	r.Type(t)
	switch t.Kind {
	case KindArray:
		r.Array(b.ArrayOf(t))
	case KindStruct, KindUnion:
		for _, m := range b.MembersOf(t) {
			r.Member(m)
		}
	case KindFuncProto:
		for _, p := range b.ParamsOf(t) {
			r.Param(p)
		}
	case KindEnum, KindEnum64:
		for _, e := range b.EnumsOf(t) {
			r.Enumerator(t.Kind, e)
		}
	case KindDatasec:
		for _, s := range b.SecinfosOf(t) {
			r.Secinfo(s)
		}
	}
}
