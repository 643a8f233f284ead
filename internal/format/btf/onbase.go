package btf

import "fmt"

// CheckRefs returns an error if a type refers to an id that no type has. In split BTF, it also
// returns an error if a name is at an offset where no string begins: every writer of split BTF uses
// whole strings of the base. For split BTF, both errors show that it was made with a different
// base. If the base is EndsOnly, names are not checked.
func (b *Blob) CheckRefs() error {
	hint := ""
	if b.Base != nil {
		hint = "; was it made with a different base?"
	}
	named := b.Base != nil && !b.Base.EndsOnly()
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
		}
		if !named {
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
