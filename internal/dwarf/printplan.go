package dwarf

import "encoding/binary"

// printPlan is where the attributes of an entry lie that has at most a name, a reference within the unit and a small
// constant: nearly all members, parameters, enumerators, pointers and typedefs.
type printPlan struct {
	usual    bool
	name     int16 // distance of a .debug_str offset of 4 bytes; -1: none, -2: the leading inline string
	ref      int16 // distance of a reference of 4 bytes; -1: none
	value    int16 // distance of a constant; -1: none, or imm
	size     uint8 // of the constant: 1, 2 or 4 bytes
	constant uint32
}

func planPrint(a *Abbrev) printPlan {
	plan := printPlan{name: -1, ref: -1, value: -1}
	constants := 0
	for i := range a.ops {
		o := &a.ops[i]
		if o.off > 1<<14 {
			return printPlan{}
		}
		switch {
		case o.slot == Sibling:
		case o.slot == Name && o.load == loadLead:
			plan.name = -2
		case o.slot == Name && o.class == ClassStrp && o.load == load4:
			plan.name = int16(o.off)
		case o.class == ClassRef && o.load == load4 && plan.ref < 0:
			plan.ref = int16(o.off)
		case o.class == ClassConst && o.load == loadImm && uint64(o.imm) < 1<<32:
			plan.constant = uint32(o.imm)
			constants++
		case o.class == ClassConst && (o.load == load1 || o.load == load2 || o.load == load4):
			plan.value, plan.size = int16(o.off), uint8(o.load.size())
			constants++
		default:
			return printPlan{}
		}
	}
	plan.usual = constants <= 1
	return plan
}

// usual mixes the attributes of an entry that follows its plan. b is its body, lead the place of its leading string.
func (p *Prints) usual(fp *Fingerprint, a *Abbrev, off, lead uint32, b []byte, depth int) error {
	plan := &a.plan
	word := a.print ^ uint64(plan.constant)<<32
	switch {
	case plan.name >= 0:
		v := uint64(binary.LittleEndian.Uint32(b[plan.name:]))
		if p.Merged {
			word ^= v
			break
		}
		n, err := p.strp(off, v)
		if err != nil {
			return err
		}
		fp.mix2(n.A, n.B)
	case plan.name == -2:
		s, err := p.inline(off, uint64(lead))
		if err != nil {
			return err
		}
		if s.B == 0 && s.A < 1<<32 {
			word ^= s.A
		} else {
			fp.mix2(s.A, s.B)
		}
	}
	if plan.value >= 0 {
		switch plan.size {
		case 1:
			word ^= uint64(b[plan.value]) << 32
		case 2:
			word ^= uint64(binary.LittleEndian.Uint16(b[plan.value:])) << 32
		default:
			word ^= uint64(binary.LittleEndian.Uint32(b[plan.value:])) << 32
		}
	}
	if plan.ref < 0 {
		fp.mix(word)
		return nil
	}
	v := binary.LittleEndian.Uint32(b[plan.ref:])
	if uint64(v) >= p.r.Unit.Len {
		return p.r.Errorf(off, "a reference to %#x leaves the unit", v)
	}
	var t Fingerprint
	if at, known := p.types.at(v); known {
		t = p.types.prints[at]
	} else {
		var err error
		if t, err = p.Type(v, depth+1); err != nil {
			return err
		}
	}
	fp.mix2(t.A^word, t.B^(word<<29|word>>35))
	return nil
}

// strp is the fingerprint of a string in .debug_str, by content.
func (p *Prints) strp(die uint32, v uint64) (Fingerprint, error) {
	n := &p.names[v*printSeedA>>(64-nameBits)]
	if n.off != v+1 {
		s, err := p.r.StringAt(die, ClassStrp, v)
		if err != nil {
			return Fingerprint{}, err
		}
		*n = nameSlot{v + 1, printBytes(s)}
	}
	return n.fp, nil
}

// inline is the fingerprint of an inline string: of up to 7 bytes, the bytes themselves.
func (p *Prints) inline(die uint32, v uint64) (Fingerprint, error) {
	if b := p.r.buf[v:]; len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if zero := (w - 0x0101010101010101) & ^w & 0x8080808080808080; zero != 0 {
			return Fingerprint{A: w & (zero&-zero>>7 - 1)}, nil
		}
	}
	s, err := p.r.StringAt(die, ClassInline, v)
	if err != nil {
		return Fingerprint{}, err
	}
	return printBytes(s), nil
}
