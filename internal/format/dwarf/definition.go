package dwarf

import std "debug/dwarf"

// Definition is the definition of a struct, union, enum or typedef.
type Definition struct {
	Print Fingerprint
	Off   uint32
	End   uint32 // the offset after the definition
}

// definitions reads the entries at offs into list, which is at least as long. For an entry that is
// not a definition, or that can't be read with a plan, End is 0.
func (p *Prints) definitions(offs []uint32, list []Definition) (err error) {
	buf, plans, simple := p.r.buf, p.r.abbrevs.plans, printSimple
	if !p.Merged || !p.r.little {
		simple = 0
	}
	for i, off := range offs {
		d := &list[i]
		d.Off, d.End = off, 0
		if p.r.work--; p.r.work < 0 { // lists of children may overlap
			if err := p.r.spend(off); err != nil {
				return err
			}
		}
		if int(off) > len(buf)-planReach {
			continue
		}
		b := (*window)(buf[off:])
		pl := &plans.of[b[0]]
		p.EnclosedRoot = false
		switch end := off + uint32(pl.size); {
		case pl.prints&simple == 0:
			if pl.prints&printRoot != 0 || b[0] >= shortCodes {
				d.Print, d.End, err = p.Definition(off)
			}
		case std.Tag(pl.tag) == std.TagTypedef:
			d.End = end
			d.Print, err = p.reference(off, off, 0)
		default:
			word := pl.print ^ uint64(u32(b, pl.nameAt)&pl.nameMask) ^
				uint64(u32(b, pl.valueAt)&pl.valueMask)<<32
			d.Print, d.End = printStart.with(word, word), end
			if pl.walk&planChildren != 0 {
				d.Print, d.End, err = p.mixChildren(d.Print, end, 0)
			}
		}
		if err != nil {
			return err
		}
		if p.EnclosedRoot {
			d.End = 0
		}
	}
	return nil
}

// Definition returns the fingerprint of the struct, union, enum or typedef definition at offset
// off. end is the offset after the definition, or 0 if the definition can't be read with a plan.
func (p *Prints) Definition(off uint32) (fp Fingerprint, end uint32, err error) {
	b, pl, at := p.r.planned(off)
	if pl.prints&printRoot == 0 {
		return fp, 0, nil
	}
	if std.Tag(pl.tag) != std.TagTypedef {
		p.r.work--
		fp, end, err = p.mixAttributes(printStart, pl, b, at, 0)
		if end != 0 && pl.walk&planChildren != 0 && err == nil {
			fp, end, err = p.mixChildren(fp, end, 0)
		}
		return fp, end, err
	}
	if pl.walk&planChildren != 0 || pl.varying != 0 { // the plan lacks the typedef's full size
		return fp, 0, nil
	}
	lead := uint32(0)
	if pl.walk&planLead != 0 {
		if _, lead = inline8(b); lead == 0 {
			return fp, 0, nil
		}
	}
	fp, err = p.Type(off)
	return fp, at + lead + uint32(pl.size), err
}
