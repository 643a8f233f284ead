package btf

import "fmt"

// EncodeOptions selects a variant of the format.
type EncodeOptions struct {
	// Layout adds the layout section, with one entry for each kind up to ENUM64 or, if the blob has
	// types of later kinds, for each known kind. The header then has 32 bytes, which Linux 7.1 and
	// later read; without Layout, it has 24 bytes, which everything reads.
	Layout bool

	// HeaderLen is the length of the header in bytes; zeros follow the known fields. 0 means the
	// shortest possible header. Even without a layout section, resolve_btfids from Linux 7.2 writes
	// the 32-byte header, which has fields for that section.
	HeaderLen int
}

// Form returns the options with which Encode writes a header like h.
func (h Header) Form() EncodeOptions {
	return EncodeOptions{Layout: h.LayoutLen > 0, HeaderLen: int(h.HdrLen)}
}

// Encode writes a blob in the form that every kernel reads, with 16 bits for the element count
// (Kind.MaxVlen: 24 bits in kinds that old kernels don't know) and 5 bits for the kind. It finds a
// type's elements in the arenas by First and Vlen, so several types may share elements. Errors name
// the type that exceeds a limit.
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

func (b *Blob) typeLen() (uint64, error) {
	total := uint64(0)
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind == KindVoid || t.Kind >= NumKinds {
			return 0, fmt.Errorf("cannot write BTF type [%d]: unknown kind %d", b.StartID+uint32(i),
				t.Kind)
		}
		if t.Vlen > t.Kind.MaxVlen() {
			return 0, VlenError(b.StartID+uint32(i), t.Kind, b.TypeName(t), t.Vlen)
		}
		total += t.Kind.RecordLen(t.Vlen)
	}
	return total, nil
}

// VlenError is the error for a type that has more elements than the format allows.
func VlenError(id uint32, kind Kind, name string, vlen uint32) error {
	return fmt.Errorf("cannot write BTF type [%d] %v %s: %d elements, but the format allows only %d",
		id, kind, name, vlen, kind.MaxVlen())
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
	case KindLocParam, KindLocProto:
		for _, w := range b.WordsOf(t) {
			r.Word(w)
		}
	case KindLocsec:
		for _, s := range b.SitesOf(t) {
			r.Site(s)
		}
	}
}
