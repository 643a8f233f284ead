package btf

import "cmp"

// PointerSize returns the size of a pointer in bytes: that of the machine of the ELF file from
// which the blob or a base was read (libbpf: btf_parse_elf). Raw BTF doesn't state the size, so
// there the result is the size of the type long (libbpf: determine_ptr_size). Without a type long,
// it is 4 if GuessesPointers, or else 8.
func (b *Blob) PointerSize() uint32 {
	size := b.statedPointer()
	if size == 0 && b.pointersFit(4) {
		size = 4
	}
	return cmp.Or(size, 8)
}

// GuessesPointers reports whether PointerSize is 4 only because some pointers would otherwise be
// larger than the space for them. Readers such as libbpf expect pointers of the machine on which
// they run.
func (b *Blob) GuessesPointers() bool { return b.statedPointer() == 0 && b.pointersFit(4) }

// statedPointer returns the size of a pointer, or 0 if neither a file nor the type long tells it.
func (b *Blob) statedPointer() uint32 {
	for o := b; o != nil; o = o.Base {
		if o.Origin.AddrSize != 0 {
			return uint32(o.Origin.AddrSize)
		}
	}
	return b.LongSize()
}

// LongSize returns the size of the type long, in bytes, or 0 if there is no such type. A long in
// the base is preferred.
func (b *Blob) LongSize() uint32 {
	size := uint32(0)
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			if t := &o.Types[i]; b.isLong(t) {
				size = t.SizeOrType
				break
			}
		}
	}
	return size
}

func (b *Blob) isLong(t *Type) bool {
	if t.Kind != KindInt || t.SizeOrType != 4 && t.SizeOrType != 8 {
		return false
	}
	switch b.TypeName(t) {
	case "long", "long int", "unsigned long", "long unsigned int", "unsigned long int",
		"long unsigned", "int long", "unsigned int long", "long int unsigned", "int unsigned long",
		"int long unsigned":
		return true
	}
	return false
}

// pointersFit reports whether some members or variables that are pointers, or arrays of pointers,
// have space for pointers of the given size, but not for pointers of twice that size.
func (b *Blob) pointersFit(size uint64) bool {
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			switch t := &o.Types[i]; {
			case t.Kind.IsComposite():
				for _, m := range o.MembersOf(t) {
					at, bits := m.Bits(t.KFlag)
					space := int64(t.SizeOrType) - int64(at/8)
					if n := b.pointers(m.Type); bits == 0 && n > 0 && fitsOnly(n*size, space) {
						return true
					}
				}
			case t.Kind == KindDatasec:
				for _, v := range o.SecinfosOf(t) {
					if n := b.pointers(v.Type); n > 0 && fitsOnly(n*size, int64(v.Size)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// fitsOnly reports whether size bytes fit in the space, but not twice as many.
func fitsOnly(size uint64, space int64) bool {
	return space > 0 && size <= uint64(space) && uint64(space) < 2*size
}

// pointers returns the number of pointers in a variable of a type, if that is a pointer or an array
// of pointers, or else 0.
func (b *Blob) pointers(id uint32) uint64 {
	n := uint64(1)
	for range 32 {
		t, o := b.ByID(id)
		switch {
		case t == nil || n > 1<<32:
			return 0
		case t.Kind == KindPtr:
			return n
		case t.Kind.IsModifier(), t.Kind == KindVar:
			id = t.SizeOrType
		case t.Kind == KindArray:
			a := o.ArrayOf(t)
			n, id = n*uint64(a.Nelems), a.Elem
		default:
			return 0
		}
	}
	return 0
}
