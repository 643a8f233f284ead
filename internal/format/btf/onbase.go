package btf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// CheckRefs returns an error if a type refers to an id that no type has. In split BTF, it also
// returns an error if a name is at an offset where no string begins (every writer of split BTF uses
// whole strings of the base), or if a type refers to a type of the base to which no such type can
// refer (mayReferTo). For split BTF, each of these errors shows that it was made with a different
// base. If the base is EndsOnly, only ids are checked. It is also an error if the base has the same
// content as the split BTF, unless that is only functions: two small modules may have the same
// ones.
// Rule: wrong base: ids, names and kinds that make no sense.
func (b *Blob) CheckRefs() error {
	hint := message.Rebuild
	if b.Base != nil {
		hint = "; was it made with a different base? use that one"
	}
	types := slices.ContainsFunc(b.Types, func(t Type) bool { return t.Kind != KindFunc })
	if b.Base != nil && types && b.SameRecords(b.Base) {
		return errors.New("its base has the same content: is the file its own base?")
	}
	known := b.Base != nil && !b.Base.EndsOnly()
	end := b.EndID()
	for i := range b.Types {
		t := &b.Types[i]
		id := b.StartID + uint32(i)
		for n := uint32(0); ; n++ {
			ref := b.Ref(t, n)
			if ref == nil {
				break
			}
			if *ref >= end {
				return fmt.Errorf("[%d] %s refers to [%d], but the last type is [%d]%s",
					id, b.KindName(t), *ref, end-1, hint)
			}
			if !known || *ref >= b.StartID || *ref == 0 {
				continue
			}
			if to, _ := b.Base.ByID(*ref); to != nil && !mayReferTo(t.Kind, to.Kind) {
				return fmt.Errorf("[%d] %s refers to [%d], which is %s in the base%s", id,
					b.KindName(t), *ref, b.KindName(to), hint)
			}
		}
		if !known {
			continue
		}
		for off := range b.Names(t) {
			if !b.StartsString(off) {
				return fmt.Errorf("[%d] %v: a name is at string offset %d, where no string begins%s", id,
					t.Kind, off, hint)
			}
		}
	}
	return nil
}

// PastEnd reports whether a type has an id after the last one, or a name after the end of the
// strings. The kernel doesn't check that before it relocates BTF: with such an id, it reads outside
// of its table (btf_relocate_rewrite_type_id).
func (b *Blob) PastEnd() bool {
	for i := range b.Types {
		for id := range b.Refs(&b.Types[i]) {
			if *id >= b.EndID() {
				return true
			}
		}
		for name := range b.Names(&b.Types[i]) {
			if name >= b.EndStr() {
				return true
			}
		}
	}
	return false
}

// mayReferTo reports whether a type of one kind can refer to a type of the other. For some pairs
// that no compiler makes, the result is true.
func mayReferTo(from, to Kind) bool {
	switch from {
	case KindFunc:
		return to == KindFuncProto
	case KindDatasec:
		return to == KindVar
	case KindDeclTag:
		return to != KindDatasec && to != KindDeclTag && !to.IsLocation()
	case KindLocProto:
		return to == KindLocParam
	case KindLocsec:
		return to == KindFunc || to == KindLocProto
	}
	switch to {
	case KindFunc, KindVar, KindDatasec, KindDeclTag, KindLocParam, KindLocProto, KindLocsec:
		return false
	case KindFuncProto: // an object or a parameter can't be a function
		return from == KindPtr || from == KindTypedef || from.IsModifier()
	}
	return true
}

// SameRecords reports whether two blobs have the same strings and records. What the bases of the
// blobs have isn't compared.
func (b *Blob) SameRecords(other *Blob) bool {
	return b.Strings == other.Strings && slices.Equal(b.Types, other.Types) &&
		slices.Equal(b.Members, other.Members) && slices.Equal(b.Params, other.Params) &&
		slices.Equal(b.Enums, other.Enums) && slices.Equal(b.Secinfos, other.Secinfos) &&
		slices.Equal(b.Arrays, other.Arrays) && slices.Equal(b.Words, other.Words) &&
		slices.Equal(b.Sites, other.Sites)
}

// StartsString reports whether a string of the blob or its bases begins at offset off.
func (b *Blob) StartsString(off uint32) bool {
	for ; b != nil; b = b.Base {
		if off >= b.BaseStrLen {
			i := off - b.BaseStrLen
			return i < uint32(len(b.Strings)) && (i == 0 || b.Strings[i-1] == 0)
		}
	}
	return false
}
