package shared

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// spelling returns a type's own content as text, without references, and then the references in
// order. It shares no code with the package.
func spelling(b *btf.Blob, id uint32) (string, []uint32) {
	if id == 0 {
		return "void", nil
	}
	t, own := b.ByID(id)
	name := func(off uint32) string { s, _ := b.Name(off); return s }
	head := fmt.Sprintf("%v %q %v %x", t.Kind, name(t.NameOff), t.KFlag, t.Extra)
	if t.Kind.HasSize() {
		head += fmt.Sprintf(" size %d", t.SizeOrType)
	}
	var refs []uint32
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		for _, m := range own.MembersOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(m.NameOff), m.Offset)
			refs = append(refs, m.Type)
		}
	case btf.KindEnum, btf.KindEnum64:
		for _, e := range own.EnumsOf(t) {
			head += fmt.Sprintf(" (%q %d)", name(e.NameOff), e.Value)
		}
	case btf.KindArray:
		a := own.ArrayOf(t)
		head += fmt.Sprint(" ", a.Nelems)
		refs = append(refs, a.Elem, a.Index)
	case btf.KindFuncProto:
		refs = append(refs, t.SizeOrType)
		for _, p := range own.ParamsOf(t) {
			head += fmt.Sprintf(" (%q)", name(p.NameOff))
			refs = append(refs, p.Type)
		}
	case btf.KindDatasec:
		for _, s := range own.SecinfosOf(t) {
			head += fmt.Sprintf(" (%d %d)", s.Offset, s.Size)
			refs = append(refs, s.Type)
		}
	default:
		if t.Kind.HasType() {
			head += fmt.Sprint(" ", t.Vlen)
			refs = append(refs, t.SizeOrType)
		}
	}
	return head, refs
}

// same reports whether a type of a equals a type of b, including all types that they refer to. If
// resolved is set, a forward declaration in a may be a definition in b.
func same(a, b *btf.Blob, x, y uint32, resolved bool) bool {
	seen := map[[2]uint32]bool{}
	bottom := b // the deepest base of b, which may be a base of a too
	for bottom.Base != nil {
		bottom = bottom.Base
	}
	var visit func(x, y uint32) bool
	visit = func(x, y uint32) bool {
		pair := [2]uint32{x, y}
		inBoth := x == y && x < a.StartID && a.Base == bottom
		if seen[pair] || inBoth {
			return true
		}
		seen[pair] = true
		s, from := spelling(a, x)
		o, to := spelling(b, y)
		if s != o {
			return resolved && x != 0 && y != 0 && declaredAs(a, b, x, y)
		}
		for i := range from {
			if !visit(from[i], to[i]) {
				return false
			}
		}
		return true
	}
	return visit(x, y)
}

// declaredAs reports whether x declares the tag that y defines.
func declaredAs(a, b *btf.Blob, x, y uint32) bool {
	s, _ := a.ByID(x)
	t, _ := b.ByID(y)
	if a.TypeName(s) != b.TypeName(t) {
		return false
	}
	switch {
	case s.Kind == btf.KindFwd:
		return t.Kind == btf.KindUnion && s.KFlag || t.Kind == btf.KindStruct && !s.KFlag
	case s.Kind == btf.KindEnum && s.Vlen == 0:
		return t.Kind.IsEnum()
	}
	return false
}

// byName maps a text such as "STRUCT page" to the ids of all such types in a chain of blobs.
type byName map[string][]uint32

func names(b *btf.Blob) byName {
	all := byName{}
	for id := uint32(1); id < b.EndID(); id++ {
		k := key(b, id)
		all[k] = append(all[k], id)
	}
	return all
}

func key(b *btf.Blob, id uint32) string {
	t, _ := b.ByID(id)
	return fmt.Sprint(t.Kind, " ", b.TypeName(t))
}

// lost returns the named types of a, not of a's base, that neither b nor b's bases have. Forward
// declarations in a may be definitions in b.
func lost(a, b *btf.Blob, found func(key string) []uint32) []string {
	var list []string
	for id := a.StartID; id < a.EndID(); id++ {
		t, _ := a.ByID(id)
		if t.NameOff == 0 || t.Kind == btf.KindFwd || t.Kind == btf.KindEnum && t.Vlen == 0 {
			continue
		}
		ok := false
		for _, y := range found(key(a, id)) {
			ok = ok || same(a, b, id, y, true)
		}
		if !ok {
			list = append(list, key(a, id))
		}
	}
	return list
}
