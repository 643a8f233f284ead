package dwarf

// A skeleton unit refers to a split unit, which the compiler has written to another file
// (-gsplit-dwarf). Addresses stay in the skeleton's file, where the linker relocates them; the
// split unit has only the indices of addresses. Source: DWARF 5, 3.1.2, 3.1.3 and 7.3.2; for
// version 4, the common extension of GCC, LLVM and GDB (DebugFission).

// addressing says where a unit's addresses are: in the unit's file, or in its skeleton unit's file.
type addressing struct {
	addr, ranges []byte // .debug_addr and .debug_ranges
	base         uint64 // offset of the unit's part of .debug_addr
	rangesBase   uint64 // offset of a split unit's part of .debug_ranges (version 4)
	low          uint64 // base address of ranges, if the unit itself has none
}

// Skeleton is a skeleton unit's reference to its split unit.
type Skeleton struct {
	ID   uint64 // the dwo id, which the skeleton unit and the split unit share
	Name string // path of the .dwo file, absolute or relative to Dir
	Dir  string // where the compiler ran (DW_AT_comp_dir)

	addressing
	data    *Data
	version uint16
}

// DW_AT codes of attributes that only the first entry of a unit has.
const (
	codeCompDir       = 0x1b
	codeGNUDwoID      = 0x2131
	codeGNURangesBase = 0x2132
)

// Skeleton returns the loaded unit's reference to its split unit, or nil if the unit has none.
// Rule: split DWARF (-gsplit-dwarf): skeleton units.
func (r *Reader) Skeleton() (*Skeleton, error) {
	if !r.Root.Has(DwoName) {
		return nil, nil
	}
	s := &Skeleton{ID: r.Unit.Signature, addressing: r.addressing, data: r.D,
		version: r.Unit.Version}
	s.low = r.unitBase()
	name, err := r.String(&r.Root, DwoName)
	if err != nil {
		return nil, err
	}
	s.Name = string(name)
	hasID := r.Unit.Version >= 5 && r.Unit.Signature != 0
	err = r.rootAttributes(func(code uint64, v Value) error {
		switch code {
		case codeCompDir:
			dir, err := r.StringAt(r.Root.Off, v.Class, v.Val)
			s.Dir = string(dir)
			return err
		case codeGNUDwoID:
			s.ID, hasID = v.Val, true
		case codeGNURangesBase:
			s.rangesBase = v.Val
		}
		return nil
	})
	if err == nil && !hasID {
		err = r.Errorf(r.Root.Off, "split DWARF: the unit has no dwo id, so its .dwo file can't "+
			"be identified; compile again")
	}
	return s, err
}

// LoadSplit is like Load for u, the split unit to which s refers.
func (r *Reader) LoadSplit(d *Data, u *Unit, s *Skeleton) error {
	if d.Order != s.data.Order || u.AddrSize != uint8(s.data.File.AddrSize) {
		return d.errorf(u.Section.Name, u.Off, "the unit is for a different machine than %s; "+
			"compile again", s.data.File.Path)
	}
	if (u.Version < 5) != (s.version < 5) {
		return d.errorf(u.Section.Name, u.Off, "the unit has DWARF %d, but its skeleton in %s has DWARF "+
			"%d: they are from different compilations; compile again", u.Version, s.data.File.Path,
			s.version)
	}
	if err := r.Load(d, u); err != nil {
		return err
	}
	r.addressing = s.addressing
	return nil
}

// rootAttributes calls f for each attribute of the loaded unit's first entry, including attributes
// that a DIE doesn't keep. code is the DW_AT code.
func (r *Reader) rootAttributes(f func(code uint64, v Value) error) error {
	c := cursor{buf: r.buf, pos: int(r.Unit.HeaderLen)}
	code := c.uleb()
	decl := cursorAt(r.in.abbrev, r.Unit.AbbrevOff) // this table was compiled, so it is complete
	for n := decl.uleb(); n != 0 && !decl.bad; n = decl.uleb() {
		decl.uleb()
		decl.u8()
		for {
			attr, o := decl.uleb(), attribute{attr: numAttrs}
			form := decl.uleb()
			if form == formImplicit {
				o.imm = decl.sleb()
			}
			if attr|form == 0 || decl.bad {
				break
			}
			if n != code {
				continue
			}
			if o.form = uint16(form); uint64(o.form) != form {
				return r.Errorf(r.Root.Off, unknownForm, form)
			}
			v, err := r.readAttribute(&c, r.Root.Off, &o)
			if err == nil {
				err = f(attr, v)
			}
			if err != nil {
				return err
			}
		}
		if n == code {
			break
		}
	}
	return nil
}

// splitEntry is entry for .debug_loc.dwo (version 4), which has indices instead of addresses.
func (l *list) splitEntry(s *span) (n uint64, more bool, err error) {
	for {
		switch kind := l.u8(); kind {
		case 0: // end of list
			return 0, false, nil
		case 1: // base address
			l.base, _ = l.r.AddrxAt(l.uleb())
			continue
		case 2: // start and end
			low := l.uleb()
			l.setIndexed(s, low, l.uleb())
		case 3: // start and length
			low := l.uleb()
			l.setIndexed(s, low, low)
			s.high += l.uint(l.r.D.Order, 4)
		case 4: // offsets
			s.low = l.base + l.uint(l.r.D.Order, 4)
			s.high = l.base + l.uint(l.r.D.Order, 4)
		default:
			return 0, false, l.r.Damaged(l.die, "location list entry of unknown kind %#x", kind)
		}
		return l.uint(l.r.D.Order, 2), true, nil
	}
}
