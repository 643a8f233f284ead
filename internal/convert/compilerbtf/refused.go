package compilerbtf

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// checkForm refuses types that the kernel refuses in its own BTF (kernel/bpf/btf.c, the check_meta
// function of each kind), such as the types that gcc writes for vectors and nullptr, or types in
// damaged files. Names are checked later, when it is known which types are encoded.
// Rule: types that the kernel refuses. In a compiler's BTF.
func (c *converter) checkForm() error {
	b := &c.blob
	for i := range b.Types {
		switch t := &b.Types[i]; t.Kind {
		case btf.KindArray:
			if b.ArrayOf(t).Elem == 0 {
				return c.refuse(i, "an array whose elements have type void; "+vectors)
			}
		case btf.KindStruct, btf.KindUnion:
			last := uint32(0)
			for n, m := range b.MembersOf(t) {
				at, _ := m.Bits(t.KFlag)
				switch {
				case m.Type == 0:
					return c.refuse(i, "member %d has type void; "+vectors, n)
				case t.Kind == btf.KindUnion && at != 0:
					return c.refuse(i, "member %d of a union is at bit %d", n, at)
				case at < last || (uint64(at)+7)/8 > uint64(t.SizeOrType):
					return c.refuse(i, "member %d is at bit %d, before the previous one or beyond the end", n, at)
				}
				last = at
			}
		case btf.KindEnum, btf.KindEnum64:
			size := t.SizeOrType
			if t.Vlen != 0 && (size == 0 || size > 8 || size&(size-1) != 0) {
				return c.refuse(i, "an enum of %d bytes", size)
			}
		}
	}
	return nil
}

const vectors = "gcc writes vectors and nullptr like this: compile with -g, and convert the DWARF"

func (c *converter) refuse(i int, format string, args ...any) error {
	t := &c.blob.Types[i]
	return &unencodable{fmt.Errorf("BTF type [%d] %v %.100q: %s (--features=+skip_unencodable "+
		"leaves such units out)", i+1, t.Kind, c.blob.TypeName(t), fmt.Sprintf(format, args...))}
}
