package cheader

import (
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// check verifies what the other steps rely on: that each reference is to a type of a kind that C
// allows there, that names exist, and that the text of all names fits in a header: many members can
// have the same long name. Cycles are found later.
func check(b *btf.Blob) error {
	text := 0
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			id, t := o.StartID+uint32(i), &o.Types[i]
			for off := range o.Names(t) {
				name, _ := b.Name(off)
				if text += len(name); text > maxText(b) {
					return errors.New("the names are so long that the header would be too large")
				}
			}
			if what := checkType(b, o, t); what != "" {
				return fmt.Errorf("%s: %s", describe(b, id), what)
			}
		}
	}
	return nil
}

// checkType returns the first problem with a type in o, which is b or one of b's bases.
func checkType(b, o *btf.Blob, t *btf.Type) string {
	if _, err := b.Name(t.NameOff); err != nil {
		return err.Error()
	}
	switch t.Kind {
	case btf.KindTypedef, btf.KindFwd:
		if b.TypeName(t) == "" {
			return "it has no name"
		}
	case btf.KindStruct, btf.KindUnion:
		for i, m := range o.MembersOf(t) {
			if what := checkElement(b, m.NameOff, m.Type, false); what != "" {
				return fmt.Sprintf("member %d %s", i, what)
			}
		}
		return ""
	case btf.KindEnum, btf.KindEnum64:
		for i, e := range o.EnumsOf(t) {
			if name, err := b.Name(e.NameOff); err != nil || name == "" {
				return fmt.Sprintf("enumerator %d has no name", i)
			}
		}
	case btf.KindFuncProto:
		params := o.ParamsOf(t)
		for i, p := range params {
			if what := checkElement(b, p.NameOff, p.Type, i == len(params)-1); what != "" {
				return fmt.Sprintf("parameter %d %s", i, what)
			}
		}
	case btf.KindArray:
		return checkArray(b, o.ArrayOf(t))
	case btf.KindDatasec, btf.KindDeclTag, btf.KindLocProto, btf.KindLocsec:
		return checkTarget(b, t, o)
	}
	if t.Kind.HasType() {
		return checkReference(b, t)
	}
	return ""
}

func checkElement(b *btf.Blob, nameOff, id uint32, voidToo bool) string {
	if _, err := b.Name(nameOff); err != nil {
		return err.Error()
	}
	if what := isType(b, id, voidToo); what != "" {
		return "has " + what
	}
	return ""
}

func checkArray(b *btf.Blob, a btf.Array) string {
	if what := isType(b, a.Elem, false); what != "" {
		return "its elements have " + what
	}
	if t, _ := b.ByID(a.Index); t == nil && a.Index != 0 {
		return fmt.Sprintf("its index has type [%d], which doesn't exist", a.Index)
	}
	return ""
}

func checkReference(b *btf.Blob, t *btf.Type) string {
	if t.Kind == btf.KindFunc {
		if proto, _ := b.ByID(t.SizeOrType); proto == nil || proto.Kind != btf.KindFuncProto {
			return fmt.Sprintf("its type [%d] is not a FUNC_PROTO", t.SizeOrType)
		}
		return ""
	}
	if what := isType(b, t.SizeOrType, true); what != "" {
		return "it refers to " + what
	}
	return ""
}

// checkTarget checks that the types that t refers to exist, although t itself is not written.
func checkTarget(b *btf.Blob, t *btf.Type, o *btf.Blob) string {
	for ref := range o.Refs(t) {
		if x, _ := b.ByID(*ref); x == nil && *ref != 0 {
			return fmt.Sprintf("it refers to type [%d], which doesn't exist", *ref)
		}
	}
	return ""
}

// isType returns "" if C can use the id as a type; otherwise it describes what the id refers to.
func isType(b *btf.Blob, id uint32, voidToo bool) string {
	if id == 0 {
		if voidToo {
			return ""
		}
		return "type void"
	}
	t, _ := b.ByID(id)
	if t == nil {
		return fmt.Sprintf("type [%d], which doesn't exist", id)
	}
	switch t.Kind {
	case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag, btf.KindLocParam,
		btf.KindLocProto, btf.KindLocsec:
		return fmt.Sprintf("type [%d], which is a %v", id, t.Kind)
	}
	return ""
}
