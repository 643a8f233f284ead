package cheader

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// check checks what the other steps rely on: references lead to types of kinds that C allows there,
// and names exist. Cycles are found later.
func check(b *btf.Blob) error {
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			t := &o.Types[i]
			what := checkNames(b, o, t)
			for n := uint32(0); what == ""; n++ {
				ref := o.Ref(t, n)
				if ref == nil {
					break
				}
				what = checkReference(b, t, n, *ref)
			}
			if what != "" {
				return fmt.Errorf("%s: %s", describe(b, o.StartID+uint32(i)), what)
			}
		}
	}
	return nil
}

// checkNames returns what is wrong with the names of a type of o, which is b or one of its bases.
func checkNames(b, o *btf.Blob, t *btf.Type) string {
	who, needed := "it", t.Kind == btf.KindTypedef || t.Kind == btf.KindFwd
	for off := range o.Names(t) { // the type's own, then those of its elements
		name, err := b.Name(off)
		switch {
		case err != nil:
			return err.Error()
		case needed && name == "":
			return who + " has no name"
		}
		who, needed = "an enumerator", t.Kind.IsEnum()
	}
	return ""
}

// checkReference returns what is wrong with the n-th reference of a type, to id.
func checkReference(b *btf.Blob, t *btf.Type, n, id uint32) string {
	what, voidToo, written := "it refers to", true, true
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		what, voidToo = fmt.Sprintf("member %d is of", n), false
	case btf.KindFuncProto:
		if n > 0 {
			what, voidToo = fmt.Sprintf("parameter %d is of", n-1), n == t.Vlen
		}
	case btf.KindArray:
		if voidToo, written = n == 1, n == 0; written {
			what = "its elements are of"
		}
	case btf.KindDatasec, btf.KindDeclTag:
		written = false
	}
	x, _ := b.ByID(id)
	switch {
	case t.Kind == btf.KindFunc && (x == nil || x.Kind != btf.KindFuncProto):
		return fmt.Sprintf("type [%d] is not a FUNC_PROTO", id)
	case id == 0 && !voidToo:
		return what + " type void"
	case id == 0:
		return ""
	case x == nil:
		return fmt.Sprintf("%s type [%d], which doesn't exist", what, id)
	}
	switch x.Kind {
	case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
		if written {
			return fmt.Sprintf("%s type [%d], which is a %v", what, id, x.Kind)
		}
	}
	return ""
}
