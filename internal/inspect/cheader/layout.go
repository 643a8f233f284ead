package cheader

import (
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// style is a way to spell a struct or union so that compilers give it the BTF's layout.
type style uint8

const (
	unknown  style = iota
	underway       // its members' shapes are being looked for
	natural        // without attributes; gaps that no alignment explains are filled with bitfields
	narrow         // the same with bitfields of types with the alignment of the members
	packed         // the same with the attribute packed
	tight          // packed, and all gaps are filled with bitfields of their width
	spacer         // a packed union, with one more member of its size
	bytes          // C can't express it: an array of bytes
)

// shape is the style of a struct or union, and the alignment that compilers give it.
type shape struct {
	style   style
	aligned uint32            // the argument of the attribute aligned, 0 for none
	align   [maxModels]uint32 // in bytes, by model
}

func (s shape) opaque() bool { return s.style == bytes }

func (s shape) isPacked() bool { return s.style != natural && s.style != narrow }

// model has the rules of compilers on some machines. BTF doesn't name its machine, so a layout must
// be right by all possible models.
type model struct {
	most uint32 // the largest alignment of numbers
	// gaps is set if a bitfield without a name aligns the struct as its type, as on 32-bit Arm.
	gaps bool
}

const maxModels = 3

// models returns the models for a size of pointers. With 4 bytes, some machines, such as i386,
// align numbers of 8 bytes at 4, and others at 8. The members of most kernels show which.
func models(b *btf.Blob, pointer uint32) []model {
	if pointer == 8 {
		return []model{{most: 16}}
	}
	four, eight := 0, 0 // members of 8 bytes, by offset
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

// unmodified returns a type without its modifiers; nil if there is none.
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

// layouts knows the size and alignment of types.
type layouts struct {
	g       *generator
	pointer uint32 // the size of a pointer in bytes
	models  []model
	pads    [4]pad
	shapes  []shape // by type id
}

// pad is an integer type of bitfields without a name.
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

// terminal follows modifiers and arrays to the type that has the alignment. count is how many of
// these the type id holds. ok is false if there is no such type, or too many.
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

// size returns the size of a type in bytes; ok is false if it has none.
func (l *layouts) size(id uint32) (size uint64, ok bool) {
	t, _, _, count, ok := l.terminal(id)
	if !ok {
		return 0, false
	}
	switch t.Kind {
	case btf.KindPtr:
		size = uint64(l.pointer)
	case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindEnum64, btf.KindStruct, btf.KindUnion:
		size = uint64(t.SizeOrType)
	default:
		return 0, false
	}
	high, total := bits.Mul64(size, count)
	return total, high == 0 && total < 1<<56
}

// align returns the alignment of a type in bytes by a model, 1 if it has none.
func (l *layouts) align(id uint32, m int) uint32 {
	t, _, at, _, ok := l.terminal(id)
	if !ok {
		return 1
	}
	switch t.Kind {
	case btf.KindPtr:
		return l.pointer
	case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindEnum64:
		if l.lacking(t) {
			return alignOfLacking(t)
		}
		return max(min(t.SizeOrType&-t.SizeOrType, l.models[m].most), 1)
	case btf.KindStruct, btf.KindUnion:
		return max(l.shape(at).align[m], 1)
	}
	return 1
}

// shape returns the first style of a struct or union that gives the BTF's layout.
func (l *layouts) shape(id uint32) shape {
	s := &l.shapes[id]
	switch s.style {
	case unknown:
	case underway:
		l.g.fail(id, "it contains itself, which C doesn't allow")
		return shape{style: bytes}
	default:
		return *s
	}
	s.style = underway
	found := shape{style: bytes}
	if l.g.enter(id) {
		t, o := l.g.blob.ByID(id)
		found = l.find(t, o)
	}
	l.g.leave()
	for m := range l.models {
		found.align[m] = max(found.align[m], 1)
	}
	*s = found
	return found
}

func (l *layouts) find(t *btf.Type, o *btf.Blob) shape {
	for _, m := range o.MembersOf(t) {
		_, width := l.place(t, m)
		of, _, _, _, ok := l.terminal(m.Type)
		if _, sized := l.size(m.Type); !ok || !sized || width != 0 && l.lacking(of) {
			return shape{style: bytes}
		}
		l.align(m.Type, 0) // finds the shapes of members, and cycles
	}
	first, second := natural, packed
	if l.looksPacked(t, o) {
		first, second = packed, natural
	}
	candidates := []shape{{style: first}, {style: narrow}, {style: second}, {style: tight}}
	if t.Kind == btf.KindUnion {
		largest := t.SizeOrType & -t.SizeOrType
		candidates = []shape{{style: first}, {style: second},
			{style: natural, aligned: largest}, {style: spacer}}
	}
	for _, s := range candidates {
		fields := l.fields(t, o, s)
		right := true
		for m := range l.models {
			size := uint64(0)
			size, s.align[m], right = l.layOut(t, o, s, fields, m)
			if right = right && size == uint64(t.SizeOrType); !right {
				break
			}
		}
		if right {
			return s
		}
	}
	return shape{style: bytes}
}

// looksPacked reports whether a member is not aligned, or the size is not a multiple of the
// alignment.
func (l *layouts) looksPacked(t *btf.Type, o *btf.Blob) bool {
	most := uint32(1)
	for _, m := range o.MembersOf(t) {
		offset, width := l.place(t, m)
		align := l.align(m.Type, 0)
		if width == 0 && offset%(8*uint64(align)) != 0 {
			return true
		}
		most = max(most, align)
	}
	return t.SizeOrType%most != 0
}

// place returns the place of a member in bits, and its width if it is a bitfield. The width is in
// the struct, or, before Linux 4.20, in an INT.
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
