// Package relocate moves split BTF from its distilled base to another base, as the kernel does when
// it loads a module with the section .BTF.base.
//
// A distilled base (package distill) has the names and sizes of the base types that a module needs.
// Relocate looks up each of them in the new base. Then it replaces the ids and string offsets of
// the split BTF. The types, their order and the split BTF's own strings don't change. The rules for
// matches and errors are those of tools/lib/bpf/btf_relocate.c in Linux 7.2 (btf__relocate in
// libbpf), which the kernel also compiles. There are two differences. The new base may be a chain
// of several BTFs. The split BTF may be a chain too, because the sites of inlined functions in a
// module are based on the module's BTF.
package relocate

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Relocate moves split from its distilled base to base, and returns the result, which shares the
// strings of split. If split is based on other split BTF, Relocate moves that BTF too, and the
// result is based on the moved BTF. The arguments don't change. If a type of the distilled base
// can't be found, the error names it, and says what the new base has under that name.
// Rule: distilled base: moving BTF from it to a kernel. Source: btf_relocate.c btf_relocate,
// btf_relocate_map_distilled_base.
func Relocate(split, base *btf.Blob) (*btf.Blob, error) {
	chain := object.Chain(split)
	if len(chain) == 1 {
		return nil, fmt.Errorf("the BTF is not split BTF: it has no distilled base")
	}
	if bigEndian(split) != bigEndian(base) {
		return nil, fmt.Errorf("the BTF and its new base have different byte orders; use the base " +
			"for the same machine")
	}
	r := &relocation{split: split, distilled: chain[0], base: base}
	if err := CheckDistilled(r.distilled); err != nil {
		return nil, err
	}
	for _, s := range chain[1:] {
		if err := checkReferences(s); err != nil {
			return nil, err
		}
	}
	if err := r.findEmbedded(); err != nil {
		return nil, err
	}
	if err := r.match(); err != nil {
		return nil, err
	}
	moved := base
	for _, s := range chain[1:] {
		var err error
		if moved, err = r.rewrite(s, moved); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

func bigEndian(b *btf.Blob) bool { return b.Order == binary.BigEndian }

type relocation struct {
	split, distilled, base *btf.Blob

	embeddedIn []uint32          // by distilled id: a type above it that embeds it, or 0
	ids        []uint32          // by distilled id: the id in base, 0 until it is found
	names      map[uint32]uint32 // by string offset in the distilled base: the offset in base
}

// CheckDistilled checks that a distilled base has no base itself, and only named types of kinds
// that can be looked up (btf_relocate_validate_distilled_base).
func CheckDistilled(d *btf.Blob) error {
	if d.Base != nil {
		return fmt.Errorf("the distilled base is split BTF; it must stand alone")
	}
	for i := range d.Types {
		t := &d.Types[i]
		switch t.Kind {
		case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindStruct, btf.KindUnion, btf.KindFwd:
		default:
			return fmt.Errorf("the distilled base has [%d] %s, but only INT, FLOAT, ENUM, STRUCT, UNION "+
				"and FWD are allowed", d.StartID+uint32(i), d.KindName(t))
		}
		if d.TypeName(t) == "" {
			return fmt.Errorf("the distilled base has an anonymous type, [%d] %v, which can't be looked "+
				"up", d.StartID+uint32(i), t.Kind)
		}
	}
	return nil
}

// checkReferences checks that all types to which split BTF refers exist.
func checkReferences(s *btf.Blob) error {
	for i := range s.Types {
		for ref := range s.Refs(&s.Types[i]) {
			if *ref >= s.EndID() {
				return fmt.Errorf("BTF type [%d] refers to [%d], but the last type is [%d]",
					s.StartID+uint32(i), *ref, s.EndID()-1)
			}
		}
	}
	return nil
}

// rewrite returns s, a blob of the chain, with new ids and string offsets
// (btf_relocate_rewrite_type_id, btf_relocate_rewrite_strs). on is the base of the result.
func (r *relocation) rewrite(s, on *btf.Blob) (*btf.Blob, error) {
	b := &btf.Blob{
		Order: s.Order, Header: s.Header, Strings: s.Strings, Base: on,
		StartID: on.EndID(), BaseStrLen: on.EndStr(), Origin: s.Origin,
		Types: slices.Clone(s.Types), Members: slices.Clone(s.Members), Params: slices.Clone(s.Params),
		Enums: slices.Clone(s.Enums), Secinfos: slices.Clone(s.Secinfos),
		Arrays: slices.Clone(s.Arrays), Words: slices.Clone(s.Words), Sites: slices.Clone(s.Sites),
	}
	b.Origin.Release = "" // the BTF is now for the kernel of the base
	for i := range b.Types {
		t := &b.Types[i]
		for ref := range b.Refs(t) {
			if *ref < r.distilled.EndID() {
				*ref = r.ids[*ref]
			} else {
				*ref += r.base.EndID() - r.distilled.EndID()
			}
		}
		if err := r.rewriteNames(s, b, t); err != nil {
			return nil, fmt.Errorf("BTF type [%d] %v: %w", s.StartID+uint32(i), t.Kind, err)
		}
	}
	return b, nil
}

// rewriteNames replaces the string offsets of t, a type in b, the copy of s.
func (r *relocation) rewriteNames(s, b *btf.Blob, t *btf.Type) error {
	var bad error
	rename := func(off *uint32) {
		if err := r.rename(s, off); err != nil && bad == nil {
			bad = err
		}
	}
	rename(&t.NameOff)
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		for i := range b.MembersOf(t) {
			rename(&b.Members[t.First+uint32(i)].NameOff)
		}
	case btf.KindEnum, btf.KindEnum64:
		for i := range b.EnumsOf(t) {
			rename(&b.Enums[t.First+uint32(i)].NameOff)
		}
	case btf.KindFuncProto:
		for i := range b.ParamsOf(t) {
			rename(&b.Params[t.First+uint32(i)].NameOff)
		}
	}
	return bad
}

// rename replaces a string offset of s. If it is an offset in the distilled base, the string there
// must be a distilled type's name: the offset in the new base is known only for these names.
func (r *relocation) rename(s *btf.Blob, off *uint32) error {
	if *off == 0 {
		return nil
	}
	name, err := s.Name(*off)
	if err != nil {
		return err
	}
	if end := r.distilled.EndStr(); *off >= end {
		*off += r.base.EndStr() - end
		return nil
	}
	to, ok := r.names[*off]
	if !ok {
		return fmt.Errorf("the string %q (offset %d) of the distilled base isn't the name of a type",
			name, *off)
	}
	*off = to
	return nil
}
