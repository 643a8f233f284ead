package verify

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// sized returns the type after any modifiers, and its size in bytes; ok is false if it has no size.
func (r *resolver) sized(id uint32) (at, size uint32, ok bool) {
	if k, _ := r.kind(id); k.IsModifier() {
		id = r.skipped(id)
	}
	t, _ := r.b.ByID(id)
	switch {
	case t == nil || t.Kind.IsLocation(): // the size of a LOC_PARAM is that of a parameter
	case t.Kind.HasSize():
		return id, t.SizeOrType, true
	case t.Kind == btf.KindPtr:
		return id, r.ptrSize, true
	case t.Kind == btf.KindArray:
		return id, r.arraySize(id), true
	}
	return 0, 0, false
}

// arraySize returns the size of an array in bytes, or 0 if it is unknown. Unlike the kernel, it can
// return the size of an array that has not been resolved yet.
func (r *resolver) arraySize(id uint32) uint32 {
	n := uint64(1)
	for range maxDepth {
		id = r.skipped(id)
		t, owner := r.b.ByID(id)
		switch {
		case t == nil:
			return 0
		case t.Kind != btf.KindArray:
			_, size, _ := r.sized(id)
			return clamp(n * uint64(size))
		case owner == r.b && r.stateOf(id) == resolved:
			return clamp(n * uint64(r.size[id-r.b.StartID]))
		}
		a := owner.ArrayOf(t)
		if n *= uint64(a.Nelems); n > 1<<32-1 {
			return 0
		}
		id = a.Elem
	}
	return 0
}

func clamp(n uint64) uint32 {
	if n > 1<<32-1 {
		return 0
	}
	return uint32(n)
}

// skipped follows modifiers from id, and returns the first type that isn't a modifier. If a base
// has a loop of modifiers, skipped returns one of them.
func (r *resolver) skipped(id uint32) uint32 {
	for range 4 * maxDepth {
		k, ok := r.kind(id)
		if !ok || !k.IsModifier() {
			break
		}
		if id >= r.b.StartID && r.stateOf(id) == resolved {
			return r.target[id-r.b.StartID]
		}
		t, _ := r.b.ByID(id)
		id = t.SizeOrType
	}
	return id
}

// regularInt reports whether an INT has 1, 2, 4, 8 or 16 bytes, like a C integer, and offset 0.
func regularInt(t *btf.Type) bool {
	return slices.Contains([]uint32{8, 16, 32, 64, 128}, t.Extra&0xff) && t.Extra>>16&0xff == 0
}
