package btf

import (
	"encoding/binary"
	"fmt"
)

// EncodeOptions chooses among the forms of the format.
type EncodeOptions struct {
	// Layout adds the layout section (Linux 7.1 and later read it): a header of 32 bytes, and one entry a known kind.
	// Without it the header has the 24 bytes that everything reads.
	Layout bool
}

// Encode writes a blob in the form that every kernel reads: 16 bits of element count, 5 bits of kind. Elements are taken
// from the arenas by First and Vlen, so several types may share some. Errors name the type that breaks a limit.
func Encode(b *Blob, opts EncodeOptions) ([]byte, error) {
	typeLen, err := b.checkLimits()
	if err != nil {
		return nil, err
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if b.Order == binary.BigEndian {
		order = binary.BigEndian
	}
	hdrLen, layoutLen := HeaderLen, 0
	if opts.Layout {
		hdrLen, layoutLen = HeaderLenLayout, 4*NumKinds
	}
	w := writer{order: order, out: make([]byte, 0, hdrLen+typeLen+layoutLen+len(b.Strings))}
	w.out = order.AppendUint16(w.out, Magic)
	w.out = append(w.out, Version, 0)
	w.u32(uint32(hdrLen), 0, uint32(typeLen), uint32(typeLen+layoutLen), uint32(len(b.Strings)))
	if opts.Layout {
		w.u32(uint32(typeLen), uint32(layoutLen))
	}
	for i := range b.Types {
		w.record(b, &b.Types[i])
	}
	if opts.Layout {
		for _, l := range layout {
			w.out = append(w.out, l.info, l.elem, 0, 0)
		}
	}
	return append(w.out, b.Strings...), nil
}

// checkLimits returns the length of the type section in bytes.
func (b *Blob) checkLimits() (int, error) {
	if n := len(b.Strings); n == 0 && b.Base == nil && b.BaseStrLen == 0 || n > 0 && b.Strings[n-1] != 0 {
		return 0, fmt.Errorf("cannot write BTF: the string section must end with a NUL byte")
	}
	if end := uint64(b.BaseStrLen) + uint64(len(b.Strings)); end > MaxNameOff+1 {
		return 0, fmt.Errorf("cannot write BTF: %d bytes of strings, the format holds %d", end, MaxNameOff+1)
	}
	if last := uint64(b.StartID) + uint64(len(b.Types)); last > MaxLastTypeID+1 {
		return 0, fmt.Errorf("cannot write BTF: the last type id would be %d, the kernel reads up to %d", last-1, MaxLastTypeID)
	}
	total := uint64(0)
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind == KindVoid || t.Kind >= NumKinds {
			return 0, fmt.Errorf("cannot write BTF type [%d]: kind %d is not known", b.StartID+uint32(i), t.Kind)
		}
		if t.Vlen > MaxVlen {
			return 0, fmt.Errorf("cannot write BTF type [%d] %v %s: %d elements, the format holds %d",
				b.StartID+uint32(i), t.Kind, b.TypeName(t), t.Vlen, MaxVlen)
		}
		total += uint64(t.wireLen())
	}
	if total > 1<<31-1 {
		return 0, fmt.Errorf("cannot write BTF: %d bytes of types, the format holds %d", total, 1<<31-1)
	}
	return int(total), nil
}

type writer struct {
	order binary.AppendByteOrder
	out   []byte
}

func (w *writer) u32(vs ...uint32) {
	for _, v := range vs {
		w.out = w.order.AppendUint32(w.out, v)
	}
}

func (w *writer) record(b *Blob, t *Type) {
	info := uint32(t.Kind)<<24 | t.Vlen
	if t.KFlag {
		info |= 1 << 31
	}
	w.u32(t.NameOff, info, t.SizeOrType)
	switch t.Kind {
	case KindInt, KindVar, KindDeclTag:
		w.u32(t.Extra)
	case KindArray:
		a := b.ArrayOf(t)
		w.u32(a.Elem, a.Index, a.Nelems)
	case KindStruct, KindUnion:
		for _, m := range b.MembersOf(t) {
			w.u32(m.NameOff, m.Type, m.Offset)
		}
	case KindFuncProto:
		for _, p := range b.ParamsOf(t) {
			w.u32(p.NameOff, p.Type)
		}
	case KindEnum:
		for _, e := range b.EnumsOf(t) {
			w.u32(e.NameOff, uint32(e.Value))
		}
	case KindEnum64:
		for _, e := range b.EnumsOf(t) {
			w.u32(e.NameOff, uint32(e.Value), uint32(e.Value>>32))
		}
	case KindDatasec:
		for _, s := range b.SecinfosOf(t) {
			w.u32(s.Type, s.Offset, s.Size)
		}
	}
}
