package btf

import "iter"

// Ref returns the n-th of the type ids that a type of this very blob refers to, counted from 0, and
// nil when there are no more. Void (0) is such an id too. The order is that of the record: for a
// FUNC_PROTO the return type, then the parameters; for an ARRAY the elements' type, then the
// index's.
func (b *Blob) Ref(t *Type, n uint32) *uint32 {
	switch t.Kind {
	case KindStruct, KindUnion:
		if n < t.Vlen {
			return &b.Members[t.First+n].Type
		}
	case KindDatasec:
		if n < t.Vlen {
			return &b.Secinfos[t.First+n].Type
		}
	case KindArray:
		switch n {
		case 0:
			return &b.Arrays[t.First].Elem
		case 1:
			return &b.Arrays[t.First].Index
		}
	case KindFuncProto:
		if n == 0 {
			return &t.SizeOrType
		}
		if n--; n < t.Vlen {
			return &b.Params[t.First+n].Type
		}
	default:
		if n == 0 && t.Kind.HasType() {
			return &t.SizeOrType
		}
	}
	return nil
}

// Refs is all of Ref, in order.
func (b *Blob) Refs(t *Type) iter.Seq[*uint32] {
	return func(yield func(*uint32) bool) {
		for n := uint32(0); ; n++ {
			if ref := b.Ref(t, n); ref == nil || !yield(ref) {
				return
			}
		}
	}
}
