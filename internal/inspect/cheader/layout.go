package cheader

import (
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// style is a way to spell a struct or union so that compilers give it the BTF's layout.
type style uint8

const (
	unknown  style = iota
	underway       // not known yet: the shapes of its members are being determined
	natural        // no attributes; gaps that alignment doesn't explain are filled with bitfields
	narrow         // like natural, but the bitfields are no wider than the alignment of the members
	packed         // like natural, but with the attribute packed
	tight          // like packed, but no gap is filled with a bitfield of width 0
	spacer         // a packed union with an additional member of the union's size
	bytes          // an array of bytes, because C can't express the layout
)

// shape is the style of a struct or union, and the alignment that compilers give it.
type shape struct {
	style   style
	aligned uint32            // the argument of the attribute aligned, 0 for none
	align   [maxModels]uint32 // in bytes, by model
}

// inBytes is the shape of structs and unions whose layout C can't express.
var inBytes = shape{style: bytes, align: [maxModels]uint32{1, 1, 1}}

func (s shape) opaque() bool { return s.style == bytes }

func (s shape) isPacked() bool { return s.style != natural && s.style != narrow }

// model describes how compilers lay out types on some machines. BTF doesn't name its machine, so a
// layout must be right according to all possible models.
type model struct {
	most uint32 // the largest alignment of numbers
	// gaps is set if an unnamed bitfield's type affects the struct's alignment, as on 32-bit Arm.
	gaps bool
}

const maxModels = 3

// models returns the models that are possible for a pointer size. Some machines with 4-byte
// pointers, such as i386, align 8-byte numbers to 4 bytes, and others align them to 8. In most
// kernels, the offsets of members show which of these alignments applies.
func models(b *btf.Blob, pointer uint32) []model {
	if pointer == 8 {
		return []model{{most: 16}}
	}
	four, eight := 0, 0 // counts of 8-byte members, by the alignment of their offsets
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			t := &o.Types[i]
			if t.Kind != btf.KindStruct {
				continue
			}
			for _, m := range o.MembersOf(t) {
				if x := unmodified(b, m.Type); x != nil && x.Kind == btf.KindInt && x.SizeOrType == 8 {
					switch m.Offset % 64 {
					case 0:
						eight++
					case 32:
						four++
					}
				}
			}
		}
	}
	if four > 100 && four > eight/4 {
		return []model{{most: 4}}
	}
	return []model{{most: 4}, {most: 8}, {most: 8, gaps: true}}
}

// unmodified returns a type without its modifiers, or nil if no type is left.
func unmodified(b *btf.Blob, id uint32) *btf.Type {
	for range maxDepth {
		t, _ := b.ByID(id)
		if t == nil || !t.Kind.IsModifier() {
			return t
		}
		id = t.SizeOrType
	}
	return nil
}

type layouts struct {
	g       *generator
	pointer uint32 // the size of a pointer in bytes
	models  []model
	pads    [4]pad
	shapes  []shape // by type id
}

// pad is an integer type for unnamed bitfields.
type pad struct {
	name string
	bits uint64
}

func newLayouts(g *generator) *layouts {
	l := &layouts{g: g, pointer: g.blob.PointerSize(), shapes: make([]shape, g.blob.EndID())}
	l.models = models(g.blob, l.pointer)
	l.pads = [4]pad{{"long", 8 * uint64(l.pointer)}, {"int", 32}, {"short", 16}, {"char", 8}}
	return l
}

// terminal follows modifiers and arrays from the type with this id to the type that determines its
// alignment. That type is t, and its id is the result at. The given type consists of count copies
// of t. The result ok is false if there is no such type, or if count is too large.
func (l *layouts) terminal(id uint32) (t *btf.Type, o *btf.Blob, at uint32, count uint64, ok bool) {
	const most = 1 << 56
	count = 1
	for range maxDepth {
		t, o = l.g.blob.ByID(id)
		switch {
		case t == nil || count > most:
			return nil, nil, 0, 0, false
		case t.Kind.IsModifier():
			id = t.SizeOrType
		case t.Kind == btf.KindArray:
			a := o.ArrayOf(t)
			id = a.Elem
			if high, low := bits.Mul64(count, uint64(a.Nelems)); high == 0 {
				count = low
			} else {
				return nil, nil, 0, 0, false
			}
		default:
			return t, o, id, count, true
		}
	}
	return nil, nil, 0, 0, false
}

// placed says where the BTF has a member, and how compilers align the member.
type placed struct {
	offset, width uint64            // in bits; the width of a bitfield, else 0
	size          uint64            // of its type, in bits
	align         [maxModels]uint32 // of its type, in bytes, by model; at least 1
}

// members returns the members of a struct or union. ok is false if a member's type has no size, or
// if the type of a bitfield is a number type that some compilers don't have.
func (l *layouts) members(t *btf.Type, o *btf.Blob) (all []placed, ok bool) {
	all = make([]placed, t.Vlen)
	for i, m := range o.MembersOf(t) {
		p := &all[i]
		of, _, at, count, ok := l.terminal(m.Type)
		if !ok {
			return nil, false
		}
		size := uint64(of.SizeOrType)
		switch of.Kind {
		case btf.KindPtr:
			size = uint64(l.pointer)
			p.align = [maxModels]uint32{l.pointer, l.pointer, l.pointer}
		case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindEnum64:
			p.align = l.numberAlign(of)
		case btf.KindStruct, btf.KindUnion:
			p.align = l.shape(at).align
		default:
			return nil, false
		}
		high, total := bits.Mul64(size, count)
		p.offset, p.width = l.place(t, m)
		if high != 0 || total >= 1<<56 || p.width != 0 && l.lacking(of) {
			return nil, false
		}
		p.size = 8 * total
	}
	return all, true
}

// numberAlign returns the alignment of an INT, FLOAT or enum in bytes, by model.
func (l *layouts) numberAlign(t *btf.Type) (align [maxModels]uint32) {
	for m, model := range l.models {
		if l.lacking(t) {
			align[m] = alignOfLacking(t)
		} else {
			align[m] = max(min(t.SizeOrType&-t.SizeOrType, model.most), 1)
		}
	}
	return align
}

// shape returns the first shape that makes compilers lay out a struct or union as the BTF says.
func (l *layouts) shape(id uint32) shape {
	s := &l.shapes[id]
	switch s.style {
	case unknown:
	case underway:
		l.g.fail(id, "it contains itself, which C doesn't allow")
		return inBytes
	default:
		return *s
	}
	s.style = underway
	found := inBytes
	if l.g.enter(id) {
		t, o := l.g.blob.ByID(id)
		found = l.find(t, o)
	}
	l.g.leave()
	*s = found
	return found
}

// Rule: C header: packed, aligned. Source: libbpf btf_is_struct_packed.
func (l *layouts) find(t *btf.Type, o *btf.Blob) shape {
	members, ok := l.members(t, o)
	if !ok {
		return inBytes
	}
	first, second := natural, packed
	if looksPacked(t, members) {
		first, second = packed, natural
	}
	candidates := []shape{{style: first}, {style: narrow}, {style: second}, {style: tight}}
	if t.Kind == btf.KindUnion {
		largest := t.SizeOrType & -t.SizeOrType
		candidates = []shape{{style: first}, {style: second},
			{style: natural, aligned: largest}, {style: spacer}}
	}
	for _, s := range candidates {
		fields := l.fields(t, members, s)
		right := true
		for m := range l.models {
			size := uint64(0)
			size, s.align[m], right = l.layOut(t, members, s, fields, m)
			if right = right && size == uint64(t.SizeOrType); !right {
				break
			}
		}
		if right {
			return s
		}
	}
	return inBytes
}

// looksPacked reports whether a member is not aligned, or the struct's size is not a multiple of
// its alignment.
func looksPacked(t *btf.Type, members []placed) bool {
	most := uint32(1)
	for _, m := range members {
		if m.width == 0 && m.offset%(8*uint64(m.align[0])) != 0 {
			return true
		}
		most = max(most, m.align[0])
	}
	return t.SizeOrType%most != 0
}

// place returns the offset of a member in bits, and its width if it is a bitfield. The BTF of Linux
// 4.20 or later has the width in the struct; older BTF has it in the INT.
func (l *layouts) place(t *btf.Type, m btf.Member) (offset, width uint64) {
	off, bits := m.Bits(t.KFlag)
	if bits == 0 {
		id := m.Type
		for range maxDepth {
			x, _ := l.g.blob.ByID(id)
			if x != nil && x.Kind == btf.KindInt {
				n, shift := x.Extra&0xff, x.Extra>>16&0xff
				if n != 0 && (n != 8*x.SizeOrType || shift != 0) && x.SizeOrType <= 16 {
					return uint64(off + shift), uint64(n)
				}
			}
			if x == nil || !x.Kind.IsModifier() {
				break
			}
			id = x.SizeOrType
		}
	}
	return uint64(off), uint64(bits)
}
