package cheader

import "github.com/rules-btf/rules_btf/internal/format/btf"

// field is a line of a struct or union.
type field struct {
	member int    // the index of the member; -1 and less for padding
	pad    int    // of padding: the index in layouts.pads
	bits   uint64 // of a bitfield: its width, else 0; as padding, 0 aligns what follows
	bytes  uint64 // of padding that is an array: its size
}

// longGap is the number of bits of the smallest gap that is filled with an array.
const longGap = 1 << 18

// fields returns the lines that spell a struct or union in a style.
func (l *layouts) fields(t *btf.Type, o *btf.Blob, s shape) []field {
	if s.style == bytes {
		return []field{{member: -1, bytes: uint64(t.SizeOrType)}}
	}
	members := o.MembersOf(t)
	out := make([]field, 0, len(members)+2)
	f := filler{layouts: l, exact: s.style == tight}
	if s.style == narrow {
		f.widest = l.widest(members)
	}
	at, inBitfield := uint64(0), false
	for i, m := range members {
		offset, width := l.place(t, m)
		align := uint64(1)
		if !s.isPacked() {
			align = uint64(l.align(m.Type, 0))
		}
		out = f.fill(out, at, offset, align, inBitfield && width != 0)
		out = append(out, field{member: i, bits: width})
		inBitfield = width != 0
		if width == 0 {
			size, _ := l.size(m.Type)
			width = 8 * size
		}
		at = offset + width
	}
	end := 8 * uint64(t.SizeOrType)
	switch {
	case t.Kind == btf.KindStruct:
		align := uint64(1)
		if !s.isPacked() {
			for _, m := range members {
				align = max(align, uint64(l.align(m.Type, 0)))
			}
		}
		out = f.fill(out, at, end, align, false)
	case s.style == spacer:
		out = append(out, field{member: -1, bytes: uint64(t.SizeOrType)})
	}
	return out
}

// widest returns the index of the widest padding whose alignment some member has.
func (l *layouts) widest(members []btf.Member) int {
	most := uint32(1)
	for _, m := range members {
		most = max(most, l.align(m.Type, 0))
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
	widest int  // the index of the widest type to use
	exact  bool // no padding of width 0
}

// fill adds the padding from the bit at to the bit next that alignment alone doesn't add. align is
// the alignment in bytes of what follows. inBitfield is set between two bitfields, where only bits
// count. This is the rule of libbpf's btf_dump_emit_bit_padding, except for long gaps, which get an
// array, and for filler's options.
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
		if n < f.pads[unit].bits { // the narrowest that has as many bits
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

// layOut lays out the fields as compilers do: gcc's start_record_layout and place_field, and
// clang's ItaniumRecordLayoutBuilder, on machines where the type of a bitfield matters, such as
// x86, Arm and BPF. It returns the size and alignment in bytes, and whether all members are where
// the BTF has them.
func (l *layouts) layOut(t *btf.Type, o *btf.Blob, s shape, fields []field, m int) (size uint64,
	align uint32, right bool) {
	members := o.MembersOf(t)
	isPacked := s.isPacked()
	align = max(s.aligned, 1)
	at, end := uint64(0), uint64(0) // in bits
	for _, f := range fields {
		unit, unitAlign := uint64(0), uint64(1) // the type's
		switch {
		case f.member >= 0:
			bytes, _ := l.size(members[f.member].Type)
			unit, unitAlign = 8*bytes, uint64(l.align(members[f.member].Type, m))
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
		if named {
			if offset, _ := l.place(t, members[f.member]); offset != at {
				return 0, 0, false
			}
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
