package cheader

import (
	"cmp"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// field is a line in the definition of a struct or union.
type field struct {
	member int    // the index of the member; negative for padding
	pad    int    // for padding: its type's index in layouts.pads
	bits   uint64 // the width of a bitfield, else 0; padding with width 0 aligns what follows
	bytes  uint64 // for padding that is an array: its size
}

// longGap is a size in bits: gaps of this size or more are filled with an array.
const longGap = 1 << 18

func (l *layouts) fields(t *btf.Type, members []placed, s shape) []field {
	if s.style == bytes {
		return []field{{member: -1, bytes: uint64(t.SizeOrType)}}
	}
	out := make([]field, 0, len(members)+2)
	f := filler{layouts: l, exact: s.style == tight}
	if s.style == narrow {
		f.widest = l.widest(members)
	}
	at, inBitfield := uint64(0), false
	for i, m := range members {
		out = f.fill(out, at, m.offset, s.alignOf(m), inBitfield && m.width != 0)
		out = append(out, field{member: i, bits: m.width})
		inBitfield = m.width != 0
		at = m.offset + cmp.Or(m.width, m.size)
	}
	end := 8 * uint64(t.SizeOrType)
	switch {
	case t.Kind == btf.KindStruct:
		align := uint64(1)
		for _, m := range members {
			align = max(align, s.alignOf(m))
		}
		out = f.fill(out, at, end, align, false)
	case s.style == spacer:
		out = append(out, field{member: -1, bytes: uint64(t.SizeOrType)})
	}
	return out
}

// alignOf returns the alignment of a member in bytes, according to the first model.
func (s shape) alignOf(m placed) uint64 {
	if s.isPacked() {
		return 1
	}
	return uint64(m.align[0])
}

// widest returns the index of the widest padding type that isn't wider than the members' alignment.
func (l *layouts) widest(members []placed) int {
	most := uint32(1)
	for _, m := range members {
		most = max(most, m.align[0])
	}
	for i, p := range l.pads {
		if p.bits <= 8*uint64(most) {
			return i
		}
	}
	return len(l.pads) - 1
}

type filler struct {
	*layouts
	widest int  // the index in pads of the widest type to use
	exact  bool // whether padding of width 0 is avoided
}

// fill pads the gap from the end of a field (at, in bits) to the next field (next), unless the next
// field's alignment (align, in bytes) explains the gap. inBitfield is set between bitfields, where
// alignment has no effect. fill follows libbpf's btf_dump_emit_bit_padding, with two differences:
// long gaps get an array, and there are options (the fields of filler).
// Rule: C header: padding. Source: libbpf btf_dump_emit_bit_padding.
func (f filler) fill(out []field, at, next, align uint64, inBitfield bool) []field {
	if at >= next {
		return out
	}
	if next-at >= longGap {
		from := roundUp(at, 8)
		n := (next - from) / 8
		out = append(out, field{member: -1 - len(out), bytes: n})
		at = from + 8*n
	}
	unit := f.widest
	for unit < len(f.pads)-1 && roundUp(at, f.pads[unit].bits) > next {
		unit++
	}
	bound := roundUp(at, f.pads[unit].bits)
	if at < bound && bound <= next {
		switch {
		case inBitfield || f.exact:
			out = append(out, field{member: -1, pad: unit, bits: bound - at})
		case bound == next && roundUp(at, 8*align) != bound,
			bound != next && next-bound <= bound-at: // the rest would fit before bound
			out = append(out, field{member: -1, pad: unit})
		}
		at = bound
	}
	for at < next {
		n := min(next-at, f.pads[unit].bits)
		use := unit
		if n < f.pads[unit].bits { // the narrowest type with enough bits
			use = len(f.pads) - 1
			for f.pads[use].bits < n {
				use--
			}
		}
		out = append(out, field{member: -1, pad: use, bits: n})
		at += n
	}
	return out
}

func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// layOut lays out the fields like gcc (start_record_layout, place_field) and clang
// (ItaniumRecordLayoutBuilder) on machines where the type of a bitfield affects the layout, such as
// x86, Arm and BPF. It returns the size and alignment in bytes, and whether all members are where
// the BTF has them.
// Rule: C header: layout that compilers give a struct. Source: gcc place_field; clang
// ItaniumRecordLayoutBuilder.
func (l *layouts) layOut(t *btf.Type, members []placed, s shape, fields []field, m int) (
	size uint64, align uint32, right bool) {
	isPacked := s.isPacked()
	align = max(s.aligned, 1)
	at, end := uint64(0), uint64(0) // in bits
	for _, f := range fields {
		unit, unitAlign := uint64(0), uint64(1) // size and alignment of the field's type
		switch {
		case f.member >= 0:
			unit, unitAlign = members[f.member].size, uint64(members[f.member].align[m])
		case f.bytes != 0:
			unit = 8 * f.bytes
		default:
			unit = l.pads[f.pad].bits
			unitAlign = min(unit/8, uint64(l.models[m].most))
		}
		if t.Kind == btf.KindUnion {
			at = 0
		}
		named := f.member >= 0
		bitfield := f.bits != 0 || !named && f.bytes == 0
		switch {
		case !bitfield:
			if isPacked {
				unitAlign = 1
			}
			at = roundUp(at, 8*unitAlign)
		case f.bits == 0:
			at = roundUp(at, 8*unitAlign)
		case f.bits > unit:
			return 0, 0, false
		case !isPacked && at%(8*unitAlign)+f.bits > unit:
			at = roundUp(at, 8*unitAlign)
		}
		if !isPacked && (named || bitfield && l.models[m].gaps) {
			align = max(align, uint32(unitAlign))
		}
		if named && members[f.member].offset != at {
			return 0, 0, false
		}
		if bitfield {
			at += f.bits
		} else {
			at += unit
		}
		end = max(end, at)
	}
	return roundUp(roundUp(end, 8)/8, uint64(align)), align, true
}
