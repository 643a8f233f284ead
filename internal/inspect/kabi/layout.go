package kabi

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// reserved lists prefixes of names of members that nobody uses: the space reserved by the kernel's
// KABI_RESERVE and KABI_IGNORE (scripts/gendwarfksyms/examples/kabi.h) and by the macros of RHEL,
// Android, SUSE, openEuler, Oracle, Anolis and deepin; and members that RH_KABI_DEPRECATE renames.
// ANDROID_VENDOR_DATA is not reserved space: modules of vendors use it.
// Rule: kABI: reserved and replaced members. Source: kernel scripts/gendwarfksyms/examples/kabi.h.
var reserved = []string{"__kabi_reserved", "__kabi_ignored", "rh_reserved", "uek_reserved",
	"ck_reserved", "deepin_reserved", "kabi_reserved", "android_kabi_reserved",
	"android_backport_reserved", "suse_kabi_padding"}

// hides reports whether a name is that of a struct in which RH_KABI_REPLACE, or a similar macro,
// keeps the original member.
func hides(name string) bool {
	return strings.Contains(name, "kabi_hide") || strings.Contains(name, "kabi_hidden")
}

// renamed is what KABI_REPLACE puts before the name of the original member.
const renamed = "__kabi_renamed"

// field is a member of a struct or union. The members of anonymous members count as its own, and so
// do those in the structs that RH_KABI_REPLACE makes.
type field struct {
	name     string
	typ      uint32
	off, end uint64 // in bits, from the start of the struct or union
	hidden   bool   // in a struct of RH_KABI_REPLACE
}

// Beyond these limits, which only hostile input reaches, an anonymous member is one field.
const (
	maxFields = 1 << 16
	maxDepth  = 16
)

// layouts knows where the members of the types in a blob are.
type layouts struct {
	*btf.Blob
	pointer uint64             // the size of a pointer, in bytes
	known   map[uint32][]field // by type id: what fields has returned
}

func newLayouts(b *btf.Blob) *layouts {
	return &layouts{b, uint64(b.PointerSize()), map[uint32][]field{}}
}

// fields returns the members of a struct or union.
func (l *layouts) fields(id uint32) []field {
	found, ok := l.known[id]
	if !ok {
		r := fieldReader{b: l, left: maxFields}
		r.read(id, 0, false, maxDepth)
		found = r.fields
		l.known[id] = found
	}
	return found
}

type fieldReader struct {
	b      *layouts
	fields []field
	left   int // how many members may still be visited
}

func (r *fieldReader) read(id uint32, start uint64, hidden bool, depth int) {
	t, _ := r.b.ByID(id)
	for _, m := range r.b.MembersOf(t) {
		r.left--
		off, bits := m.Bits(t.KFlag)
		name, _ := r.b.Name(m.NameOff)
		f := field{name, m.Type, start + uint64(off), start + uint64(off) + uint64(bits), hidden}
		in, _ := r.b.ByID(m.Type)
		hide := hides(name)
		if in != nil && in.Kind.IsComposite() && in.NameOff == 0 && (name == "" || hide) && depth > 0 &&
			r.left > 0 {
			r.read(m.Type, f.off, hidden || hide, depth-1)
			continue
		}
		if bits == 0 {
			f.end += 8 * r.b.sizeOf(m.Type)
		}
		r.fields = append(r.fields, f)
	}
}

// sizeOf returns the size of a type in bytes, or 0 if it has none.
func (l *layouts) sizeOf(id uint32) uint64 {
	count := uint64(1)
	for range btf.MaxModifiers {
		t, _ := l.ByID(id)
		switch {
		case t == nil:
			return 0
		case t.Kind.HasSize():
			return count * uint64(t.SizeOrType)
		case t.Kind == btf.KindPtr:
			return count * l.pointer
		case t.Kind == btf.KindArray:
			a := l.ArrayOf(t)
			count *= uint64(a.Nelems)
			id = a.Elem
		case t.Kind.IsModifier():
			id = t.SizeOrType
		default:
			return 0
		}
	}
	return 0
}

// byValue follows typedefs, qualifiers and arrays to the type of which a value is stored.
func byValue(b *btf.Blob, id uint32) uint32 {
	for range btf.MaxModifiers {
		t, _ := b.ByID(id)
		switch {
		case t == nil:
			return 0
		case t.Kind == btf.KindArray:
			id = b.ArrayOf(t).Elem
		case t.Kind.IsModifier():
			id = t.SizeOrType
		default:
			return id
		}
	}
	return 0
}

// containers returns, for each struct and union whose size others depend on, one of these: a type
// that has it as a member, a variable, an array, a parameter or a result.
func containers(b *layouts) map[uint32]string {
	found := map[uint32]string{}
	add := func(id uint32, what string) {
		id = byValue(b.Blob, id)
		if t, _ := b.ByID(id); t != nil && t.Kind.IsComposite() && found[id] == "" {
			found[id] = what
		}
	}
	for id, t := range b.All() {
		switch {
		case t.Kind == btf.KindVar:
			add(t.SizeOrType, "variable "+b.TypeName(t))
		case t.Kind.IsComposite() && t.NameOff != 0:
			for _, f := range b.fields(id) {
				add(f.typ, title(b.Blob, t))
			}
		}
	}
	for _, t := range b.All() { // what has no name
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			for _, m := range b.MembersOf(t) {
				add(m.Type, "a struct without a name")
			}
		case btf.KindArray:
			add(b.ArrayOf(t).Elem, "an array")
		case btf.KindFuncProto:
			add(t.SizeOrType, "the result of a function")
			for _, p := range b.ParamsOf(t) {
				add(p.Type, "a parameter")
			}
		}
	}
	return found
}

// isReserved reports whether nobody uses a member of this name: it is reserved space, or keeps the
// original of a replaced member.
func isReserved(name string) bool {
	begins := func(with string) bool { return strings.HasPrefix(name, with) }
	return slices.ContainsFunc(reserved, begins) || hides(name) || begins(renamed)
}

// isOriginal reports whether f is the original of a member that has been replaced.
func (f field) isOriginal(name string) bool {
	return f.hidden && f.name == name || strings.TrimPrefix(f.name, renamed) == name && f.name != name
}
