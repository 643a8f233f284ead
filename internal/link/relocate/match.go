package relocate

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// maxTwins is how many types with the same name a distilled base may have. C allows only a handful.
// All of them are compared with all types of that name in the base, so there must be a limit.
const maxTwins = 64

// sizeBits masks those bits of a size that btf_relocate compares when it looks up a type by name.
const sizeBits = 1<<31 - 1

// Looks reports whether a type of a distilled base can resolve to a named type of t's kind.
func Looks(t *btf.Type) bool {
	switch t.Kind {
	case btf.KindInt, btf.KindFloat, btf.KindFwd:
		return true
	}
	return t.Kind.IsEnum() || t.Kind.IsComposite()
}

// Matches reports whether the distilled type d can describe t, a base type that has the same name
// and that Looks accepts. If the parameter twins is set, the base has several structs and unions of
// that name, and the size of a struct or union must equal d's. Types of all other kinds except
// forward declarations must always have equal sizes.
//
// As in btf_relocate_map_distilled_base, any kind of type matches a distilled struct or union. That
// function also compares the kind flag of a distilled forward declaration with the kind flag of the
// struct or union in the base, although these flags say different things: whether the declaration
// is of a struct or a union, and whether the struct or union has bitfields.
// Rule: distilled base: which types match. Source: btf_relocate.c btf_relocate_map_distilled_base.
func Matches(d, t *btf.Type, twins bool) bool {
	sized := t.Kind != btf.KindFwd && (twins || !t.Kind.IsComposite())
	if sized && size(d)&sizeBits != size(t)&sizeBits {
		return false
	}
	switch d.Kind {
	case btf.KindFwd:
		return t.Kind == btf.KindFwd && t.KFlag == d.KFlag || t.Kind == btf.KindStruct && !t.KFlag ||
			t.Kind == btf.KindUnion && t.KFlag
	case btf.KindInt:
		return t.Kind == btf.KindInt && encoding(t) == encoding(d)
	case btf.KindFloat:
		return t.Kind == btf.KindFloat
	case btf.KindEnum:
		return t.Kind.IsEnum()
	}
	return d.Kind.IsComposite()
}

// size returns a type's size in bytes, or 0 for a forward declaration.
func size(t *btf.Type) uint32 {
	if t.Kind == btf.KindFwd {
		return 0
	}
	return t.SizeOrType
}

// encoding returns the encoding of an INT (BTF_INT_ENCODING).
func encoding(t *btf.Type) uint32 { return t.Extra >> 24 & 0xf }

// match finds base types for the distilled types (btf_relocate_map_distilled_base).
func (r *relocation) match() error {
	d := r.distilled
	byName := map[string][]uint32{}
	for i := range d.Types {
		name := d.TypeName(&d.Types[i])
		byName[name] = append(byName[name], d.StartID+uint32(i))
		if len(byName[name]) > maxTwins {
			return fmt.Errorf("the distilled base has more than %d types named %q", maxTwins, name)
		}
	}
	r.ids = make([]uint32, d.EndID())
	r.names = map[uint32]uint32{}
	composites := countComposites(r.base)
	for _, b := range object.Chain(r.base) {
		for i := range b.Types {
			t := &b.Types[i]
			if t.NameOff == 0 || !Looks(t) {
				continue
			}
			id := b.StartID + uint32(i)
			for _, wanted := range byName[r.base.TypeName(t)] {
				dt, _ := d.ByID(wanted)
				if !Matches(dt, t, composites[t.NameOff] > 1) || !r.fits(wanted, dt, t) {
					continue
				}
				if other := r.ids[wanted]; other != 0 {
					return r.ambiguous(wanted, other, id)
				}
				r.ids[wanted] = id
				r.names[dt.NameOff] = t.NameOff
			}
		}
	}
	return r.missing()
}

// fits reports whether t may take d's place: if a struct or union embeds d, the sizes must be
// equal.
func (r *relocation) fits(wanted uint32, d, t *btf.Type) bool {
	return !d.Kind.IsComposite() || r.embeddedIn[wanted] == 0 || size(d) == size(t)
}

// countComposites counts the named structs and unions of a base by the string offset of their name.
func countComposites(base *btf.Blob) map[uint32]int {
	n := map[uint32]int{}
	for _, b := range object.Chain(base) {
		for i := range b.Types {
			if t := &b.Types[i]; t.NameOff != 0 && t.Kind.IsComposite() {
				n[t.NameOff]++
			}
		}
	}
	return n
}
