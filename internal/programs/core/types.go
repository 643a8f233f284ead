package core

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxDepth is how many references from type to type libbpf follows before it gives up.
const maxDepth = 32

var errDepth = errors.New("types are nested more than 32 levels deep")

// BTF is a blob whose references have been checked, together with its pointer size.
type BTF struct {
	*btf.Blob
	pointer uint32
}

// NewBTF checks the references of a blob. The parameter base is the BTF on which the blob is based,
// or nil.
func NewBTF(b *btf.Blob, base *BTF) (*BTF, error) {
	if err := b.CheckRefs(); err != nil {
		return nil, err
	}
	if base != nil {
		return &BTF{b, base.pointer}, nil
	}
	return &BTF{b, b.PointerSize()}, nil
}

// Skip follows modifiers and typedefs to the type that they lead to: see skip_mods_and_typedefs.
// The returned type is nil for void, and if modifiers or typedefs form a cycle.
func (b *BTF) Skip(id uint32) (uint32, *btf.Type, *btf.Blob) {
	for range 2 * maxDepth {
		t, of := b.ByID(id)
		if t == nil || !t.Kind.IsModifier() {
			return id, t, of
		}
		id = t.SizeOrType
	}
	return 0, nil, nil
}

// kindOf returns the kind of a type; a nil type is void.
func kindOf(t *btf.Type) btf.Kind {
	if t == nil {
		return btf.KindVoid
	}
	return t.Kind
}

// compatible reports whether the kinds are the same or both are enums: btf_kind_core_compat.
func compatible(a, b btf.Kind) bool { return a == b || a.IsEnum() && b.IsEnum() }

// Essential returns a name without its flavor, the suffix after ___: bpf_core_essential_name_len.
func Essential(name string) string {
	// Like libbpf, look for "x___y" from the end; neither x nor y may be an underscore.
	for i := len(name) - 5; i >= 0; i-- {
		if name[i] != '_' && name[i+1] == '_' && name[i+2] == '_' && name[i+3] == '_' &&
			name[i+4] != '_' {
			return name[:i+1]
		}
	}
	return name
}

// isFlexible reports whether an array is a flexible array: see is_flex_arr. The parameter member is
// the point whose type is the array.
func (b *BTF) isFlexible(member Point, nelems uint32) bool {
	if member.Name == "" || nelems > 0 {
		return false
	}
	t, _ := b.ByID(member.Type)
	return member.Index == t.Vlen-1
}

// SizeOf is the size of a type in bytes: btf__resolve_size.
func (b *BTF) SizeOf(id uint32) (uint64, error) {
	n := uint64(1)
	for range maxDepth {
		t, of := b.ByID(id)
		switch {
		case t == nil:
			return 0, errors.New("void has no size")
		case t.Kind == btf.KindPtr:
			if n *= uint64(b.pointer); n > 1<<32-1 {
				return 0, errors.New("an array of more than 4 GiB")
			}
			return n, nil
		case t.Kind == btf.KindArray:
			a := of.ArrayOf(t)
			if n *= uint64(a.Nelems); n > 1<<32-1 {
				return 0, errors.New("an array of more than 4 GiB")
			}
			id = a.Elem
		case t.Kind.IsModifier(), t.Kind == btf.KindVar, t.Kind == btf.KindDeclTag:
			id = t.SizeOrType
		case t.Kind.HasSize():
			if n *= uint64(t.SizeOrType); n > 1<<32-1 {
				return 0, errors.New("a type of more than 4 GiB")
			}
			return n, nil
		default:
			return 0, errors.New(strings.ToLower(t.Kind.String()) + " has no size")
		}
	}
	return 0, errDepth
}

func (b *BTF) bigEndian() bool { return b.Order == binary.BigEndian }
