package btf

import "fmt"

// CheckRefs reports an id of no type and, in split BTF, a name at an offset where no string begins.
// Every writer of split BTF uses whole strings of the base, so both show that it was made on
// another base than the one it was read with. The names of a base that EndsOnly are unknown.
func (b *Blob) CheckRefs() error {
	hint := ""
	if b.Base != nil {
		hint = "; was it made on another base?"
	}
	named := b.Base != nil && !b.Base.EndsOnly()
	for i := range b.Types {
		t := &b.Types[i]
		id := b.StartID + uint32(i)
		for ref := range b.Refs(t) {
			if *ref >= b.EndID() {
				return fmt.Errorf("[%d] %s refers to [%d], the last one is [%d]%s", id,
					b.KindName(t), *ref, b.EndID()-1, hint)
			}
		}
		for off := range b.Names(t) {
			if named && !b.StartsString(off) {
				return fmt.Errorf("[%d] %v: a name at string offset %d, where no string begins%s", id,
					t.Kind, off, hint)
			}
		}
	}
	return nil
}

// StartsString reports whether a string of the blob or its bases begins at an offset.
func (b *Blob) StartsString(off uint32) bool {
	for ; b != nil; b = b.Base {
		if off >= b.BaseStrLen {
			i := off - b.BaseStrLen
			return i < uint32(len(b.Strings)) && (i == 0 || b.Strings[i-1] == 0)
		}
	}
	return false
}
