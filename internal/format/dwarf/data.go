package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Data is the DWARF of one ELF file.
type Data struct {
	File  *elf.File
	Order binary.ByteOrder
	// Units are all units of .debug_info and .debug_types, in file order.
	Units []Unit
	// If Prefix is set, each string that begins with Prefix is cut to Prefix alone.
	Prefix []byte

	sections
	sup  *Data  // the supplementary file; nil if there is none
	size uint64 // bytes of all units, including those of the supplementary file
	spending
	sigs map[uint64]int // type signature → index in Units
	dwo  *splitUnits    // nil if the units are not in the sections .debug_*.dwo
}

// sections has the sections that units refer to, or the bytes of these sections. Each field is
// named like its section, without .debug_.
type sections struct {
	abbrev     []byte
	str        []byte
	lineStr    []byte
	strOffsets []byte
	addr       []byte
	rnglists   []byte
	ranges     []byte
	loclists   *elf.Section
	loc        *elf.Section
	info       *elf.Section   // the first .debug_info
	strs       *elf.Section   // .debug_str
	perUnit    []*elf.Section // in which each unit usually has a part that no other unit reads
}

// largeStrings is the smallest size at which .debug_str counts as unmerged (ld -r) and is not kept
// in memory.
const largeStrings = 32 << 20

// largeSymbols is the smallest size at which the names of symbols are not kept in memory.
const largeSymbols = 16 << 20

// DropPages frees memory after some units have been read: the memory of abbreviations and of lists
// of locations and ranges, which are needed only once, and of large string tables, in which each unit
// has its own strings: those of an unmerged .debug_str and of symbols.
func (d *Data) DropPages() {
	for _, sec := range d.perUnit {
		sec.DropPages()
	}
	d.File.DropSymbolPages(largeSymbols)
	if d.strs != nil && len(d.str) >= largeStrings {
		d.strs.DropPages()
	}
}

// UnitKind is the kind of a unit (DW_UT_…, 7.5.1).
type UnitKind uint8

const (
	UnitCompile UnitKind = 1
	UnitType    UnitKind = 2
	UnitPartial UnitKind = 3
	unitSkel    UnitKind = 4
	unitSplit   UnitKind = 5
	unitSplitT  UnitKind = 6
)

// Unit is a unit header (7.5.1).
type Unit struct {
	Section    *elf.Section
	Off        uint64 // offset of the header in Section
	Len        uint64 // bytes of the whole unit, header included
	HeaderLen  uint32
	Kind       UnitKind
	Dwarf64    bool
	Version    uint16
	AddrSize   uint8
	AbbrevOff  uint64
	Signature  uint64 // signature of a type unit; dwo id of a skeleton or split unit
	TypeOffset uint64 // offset of the type's DIE in a type unit

	sup  bool          // it is in the supplementary file
	from *contribution // the unit's part of a package of split units
}

// Error is a fault in DWARF data.
type Error struct {
	File, Section string
	Off           uint64
	Msg           string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s+%#x: %s", e.File, e.Section, e.Off, e.Msg)
}

const (
	compileAgain = "compile with -gdwarf-5"
	unknownForm  = "unknown form %#x; this producer's DWARF is not supported: compile with gcc " +
		"or clang"
)

// damaged makes an error about DWARF that no compiler writes.
func (d *Data) damaged(section string, off uint64, format string, args ...any) error {
	return d.errorf(section, off, format+message.Rebuild, args...)
}

func (d *Data) errorf(section string, off uint64, format string, args ...any) error {
	// section may point into the mapped file
	return &Error{d.File.Path, strings.Clone(section), off, fmt.Sprintf(format, args...)}
}

// New lists the units of the DWARF in f. For a file without DWARF it returns a Data without units.
func New(f *elf.File) (*Data, error) {
	d, err := newData(f)
	if err != nil {
		return nil, err
	}
	sup, err := f.Supplement()
	if err != nil || sup == nil {
		return d, err
	}
	if sup.Order != f.Order {
		return nil, fmt.Errorf("%s: the byte order of this supplementary file differs from the byte "+
			"order of %s; pass the supplementary file from the same run of dwz", sup.Path, f.Path)
	}
	if d.sup, err = newData(sup); err != nil {
		return nil, err
	}
	for i := range d.sup.Units {
		d.sup.Units[i].sup = true
	}
	d.size += d.sup.size
	return d, nil
}

func newData(f *elf.File) (*Data, error) {
	d := &Data{File: f, Order: f.Order, sigs: make(map[uint64]int)}
	return d, d.read("")
}

// read lists the units in .debug_info and .debug_types. suffix is added to all section names.
func (d *Data) read(suffix string) error {
	f := d.File
	for _, s := range []struct {
		name    string
		sec     **elf.Section
		bytes   *[]byte
		perUnit bool
	}{
		{".debug_abbrev", nil, &d.abbrev, true},
		{".debug_str", &d.strs, &d.str, false},
		{".debug_line_str", nil, &d.lineStr, false},
		{".debug_str_offsets", nil, &d.strOffsets, true},
		{".debug_addr", nil, &d.addr, true},
		{".debug_rnglists", nil, &d.rnglists, true},
		{".debug_ranges", nil, &d.ranges, true},
		{".debug_loclists", &d.loclists, nil, true},
		{".debug_loc", &d.loc, nil, true},
	} {
		sec, err := oneSection(f, s.name+suffix)
		if err != nil {
			return err
		}
		if s.sec != nil {
			*s.sec = sec
		}
		if s.perUnit && sec != nil {
			d.perUnit = append(d.perUnit, sec)
		}
		if s.bytes != nil && sec != nil {
			if *s.bytes, err = sec.Data(); err != nil {
				return err
			}
		}
	}
	// SectionsNamed also finds .zdebug_info and .zdebug_types
	for _, name := range []string{".debug_info", ".debug_types"} {
		for _, sec := range f.SectionsNamed(name + suffix) {
			if d.info == nil && name == ".debug_info" {
				d.info = sec
			}
			if err := d.scan(sec, name == ".debug_types"); err != nil {
				return err
			}
		}
	}
	for i := len(d.Units) - 1; i >= 0; i-- { // so that the first unit with a signature wins
		if u := &d.Units[i]; u.Kind == UnitType {
			d.sigs[u.Signature] = i
		}
	}
	return nil
}

// oneSection returns the section with the given name, or nil if there is none. It fails if several
// have content, because an offset doesn't say which of these sections it refers to.
func oneSection(f *elf.File, name string) (*elf.Section, error) {
	var found *elf.Section
	for _, sec := range f.SectionsNamed(name) {
		switch {
		case found == nil || found.Size == 0:
			found = sec
		case sec.Size > 0:
			return nil, fmt.Errorf("%s: sections %d and %d are both %s, as after ld -r "+
				"--unique; link without --unique, or convert the objects one by one",
				f.Path, found.Index, sec.Index, name)
		}
	}
	return found, nil
}

func (d *Data) scan(sec *elf.Section, types bool) error {
	size, err := dataSize(sec)
	if err != nil {
		return err
	}
	var window [48]byte
	for off := uint64(0); off < size; {
		n, err := sec.ReadAt(window[:min(48, size-off)], int64(off))
		if n == 0 && err != nil {
			return d.errorf(sec.Name, off, "can't read: %v", err)
		}
		if off > 0 && isZero(window[:min(n, 4)]) && restIsZero(sec, off, size) {
			return nil // padding, which readelf and llvm-dwarfdump ignore too
		}
		u, err := d.header(sec, off, size-off, window[:n], types)
		if err != nil {
			return err
		}
		d.Units = append(d.Units, u)
		d.size += u.Len
		off += u.Len
	}
	return nil
}

// restIsZero reports whether all bytes of a section from off to size are 0.
func restIsZero(sec *elf.Section, off, size uint64) bool {
	var b [1 << 12]byte
	for off < size {
		n, _ := sec.ReadAt(b[:min(uint64(len(b)), size-off)], int64(off))
		if n == 0 || !isZero(b[:n]) {
			return false
		}
		off += uint64(n)
	}
	return true
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// dataSize is the size of a section's uncompressed content.
func dataSize(sec *elf.Section) (uint64, error) {
	if sec.Plain() {
		return sec.Size, nil
	}
	data, err := sec.Data()
	return uint64(len(data)), err
}

func (d *Data) header(sec *elf.Section, off, left uint64, b []byte, types bool) (Unit, error) {
	c := cursor{buf: b}
	u := Unit{Section: sec, Off: off, Kind: UnitCompile}
	offSize := 4
	u.Len = c.uint(d.Order, 4)
	switch {
	case u.Len == 0xffffffff:
		u.Dwarf64, offSize = true, 8
		u.Len = c.uint(d.Order, 8)
	case u.Len >= 0xfffffff0:
		return u, d.damaged(sec.Name, off, "unit length %#x is reserved", u.Len)
	}
	if u.Len > left-uint64(c.pos) {
		return u, d.damaged(sec.Name, off, "the unit's length %#x goes beyond the section", u.Len)
	}
	u.Len += uint64(c.pos)
	u.Version = uint16(c.uint(d.Order, 2))
	if u.Version < 2 || u.Version > 5 {
		return u, d.errorf(sec.Name, off, "DWARF version %d is not supported, only 2 to 5; "+
			compileAgain, u.Version)
	}
	if u.Version >= 5 {
		u.Kind = UnitKind(c.u8())
		u.AddrSize = c.u8()
		u.AbbrevOff = c.uint(d.Order, offSize)
	} else {
		u.AbbrevOff = c.uint(d.Order, offSize)
		u.AddrSize = c.u8()
		if types {
			u.Kind = UnitType
		}
	}
	if kind := u.Kind; d.dwo != nil && (kind == unitSplit || kind == unitSplitT) ||
		d.dwo == nil && kind == unitSkel {
		u.Kind = UnitCompile
		if kind == unitSplitT {
			u.Kind = UnitType
		} else {
			u.Signature = c.uint(d.Order, 8)
		}
	}
	switch u.Kind {
	case UnitCompile, UnitPartial:
	case UnitType:
		u.Signature = c.uint(d.Order, 8)
		u.TypeOffset = c.uint(d.Order, offSize)
	case unitSkel, unitSplit, unitSplitT:
		return u, d.damaged(sec.Name, off, "unit type %#x is not allowed in this section",
			uint8(u.Kind))
	default:
		return u, d.damaged(sec.Name, off, "unknown unit type %#x", uint8(u.Kind))
	}
	if c.bad || uint64(c.pos) > u.Len {
		return u, d.damaged(sec.Name, off, "the unit header is cut off")
	}
	if u.AddrSize != 4 && u.AddrSize != 8 && u.AddrSize != 2 {
		return u, d.errorf(sec.Name, off, "address size %d is not supported; "+
			compileAgain, u.AddrSize)
	}
	u.HeaderLen = uint32(c.pos)
	return u, nil
}

// UnitAt returns the unit that contains offset off of .debug_info, or nil if there is none. sec is
// the section with the reference to that offset. In an object file with several .debug_info
// sections (in section groups), off is an offset in sec itself.
func (d *Data) UnitAt(sec *elf.Section, off uint64) *Unit {
	if strings.HasSuffix(strings.TrimSuffix(sec.Name, ".dwo"), "debug_types") {
		sec = d.info
	}
	first := slices.IndexFunc(d.Units, func(u Unit) bool { return u.Section == sec })
	if first < 0 {
		return nil
	}
	units := d.Units[first:]
	i := sort.Search(len(units), func(i int) bool {
		return units[i].Section != sec || off < units[i].Off+units[i].Len
	})
	if i == len(units) || units[i].Section != sec || off < units[i].Off {
		return nil
	}
	return &units[i]
}

// UnitAtSup returns the unit at an offset in the supplementary file's .debug_info, or nil.
// Rule: supplementary files of dwz: units and strings at an offset. Reader.StringAt has the
// strings.
func (d *Data) UnitAtSup(off uint64) *Unit {
	if d.sup == nil || d.sup.info == nil {
		return nil
	}
	return d.sup.UnitAt(d.sup.info, off)
}

// TypeUnit returns the type unit with the given signature, or nil if there is none.
func (d *Data) TypeUnit(sig uint64) *Unit {
	if i, ok := d.sigs[sig]; ok {
		return &d.Units[i]
	}
	return nil
}

// TypeUnits returns, in file order, the type units for which the function want returns true: one
// for each signature.
func (d *Data) TypeUnits(want func(*Unit) bool) []*Unit {
	var list []*Unit
	for i := range d.Units {
		if u := &d.Units[i]; u.Kind == UnitType && d.sigs[u.Signature] == i && want(u) {
			list = append(list, u)
		}
	}
	return list
}

// HasTypeUnits reports whether there are type units.
func (d *Data) HasTypeUnits() bool { return len(d.sigs) > 0 }
