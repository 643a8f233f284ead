package inlines

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Site is a place where a function was inlined.
type Site struct {
	Function uint32 // index in UnitSites.Functions
	Proto    uint32 // number of a proto, see Sites.Proto
	Section  uint32 // index of the ELF section
	Offset   uint32 // in the section
}

// UnitSites are the sites in a unit.
type UnitSites struct {
	Unit      int        // index of the object's unit
	Functions []types.ID // the FUNC nodes of the functions, maybe with duplicates
	List      []Site
}

// Sites are the sites of a file. A proto is the list of the locations of all parameters at a site,
// as in a LOC_PROTO; many sites share one. The order of sites, locations and protos has no meaning.
type Sites struct {
	Units     []UnitSites
	Locations []Location
	Lost      Lost
	File

	words     []uint32 // the parameters of all protos: 1 + the index of a location, or 0
	ends      []uint32 // by proto: where its parameters end in words
	locations table
	short     pairs    // protos by up to two parameters, see shortProto
	long      []uint32 // the numbers of the other protos
	protos    table    // by the parameters of these: the index in long
	recent    []recent // by hash of an expression; nil: none yet
}

// File has what the sites need to know about their file.
type File struct {
	Sections []string // the names of the sections
	// Start is the address from which addresses in LOC_PARAMs are counted: that of _stext, or 0 if
	// there is no such symbol.
	Start    uint64
	AddrSize int // bytes of an address
}

// recent is a short expression that was located, and its location.
type recent struct {
	expr     uint64 // its bytes, and its length in the highest byte
	sizes    uint64 // of the parameter and of an address
	location uint32 // 1 + its index; 0: the slot is free
}

// Proto returns proto n: for each parameter, 1 + the index of its location, or 0 if the location
// isn't known.
func (s *Sites) Proto(n uint32) []uint32 {
	begin := uint32(0)
	if n > 0 {
		begin = s.ends[n-1]
	}
	return s.words[begin:s.ends[n]]
}

// Protos is the number of protos.
func (s *Sites) Protos() int { return len(s.ends) }

// Len is the number of sites.
func (s *Sites) Len() int {
	n := 0
	for i := range s.Units {
		n += len(s.Units[i].List)
	}
	return n
}

// AddLocation returns 1 + the index of a location.
func (s *Sites) AddLocation(l Location) uint32 {
	n, isNew := s.locations.find(l.hash(), func(n uint32) bool { return s.Locations[n] == l })
	if isNew {
		s.Locations = append(s.Locations, l)
	}
	return n + 1
}

// AddKnown is AddLocation for a location that may be unknown. In that case, it returns 0.
func (s *Sites) AddKnown(l Location, why Reason) (uint32, Reason) {
	if why != Known {
		return 0, why
	}
	return s.AddLocation(l), Known
}

const recentBits = 9

// Locate adds the location that m.Locate returns. It returns the same as AddKnown.
//
// A few short expressions give most locations, so Locate remembers the locations that depend only
// on the expression and on sizes.
func (s *Sites) Locate(m *Machine, expr []byte, p Parameter, frame Frame) (uint32, Reason) {
	if len(expr) >= 8 || NeedsFrame(expr) {
		return s.AddKnown(m.Locate(expr, p, frame))
	}
	r := recent{expr: uint64(len(expr)) << 56, sizes: uint64(p.Size)<<8 | uint64(m.AddrSize)}
	for i, b := range expr {
		r.expr |= uint64(b) << (8 * i)
	}
	if s.recent == nil {
		s.recent = make([]recent, 1<<recentBits)
	}
	slot := &s.recent[(r.expr^r.sizes<<40)*0x9e3779b97f4a7c15>>(64-recentBits)]
	if slot.expr == r.expr && slot.sizes == r.sizes && slot.location != 0 {
		return slot.location, Known
	}
	depends, signed := false, p.Signed
	p.Signed = func() bool { depends = true; return signed() }
	l, why := m.Locate(expr, p, frame)
	if r.location, why = s.AddKnown(l, why); why == Known && !depends && l.Flags&btf.LocAddr == 0 {
		*slot = r // an address may be that of an index, which differs between units
	}
	return r.location, why
}

// AddProto returns the number of the proto with these parameters, in the form that Proto returns.
func (s *Sites) AddProto(parameters []uint32) uint32 {
	next := uint32(len(s.ends))
	n, isNew := next, false
	if key, ok := shortProto(parameters); ok {
		p := s.short.find(key)
		if isNew = p.thing == 0; isNew {
			*p = pair{key, next + 1}
		}
		n = p.thing - 1
	} else {
		i := uint32(0)
		i, isNew = s.protos.find(hashWords(parameters), func(i uint32) bool {
			return slices.Equal(s.Proto(s.long[i]), parameters)
		})
		if isNew {
			s.long = append(s.long, next)
		}
		n = s.long[i]
	}
	if isNew {
		s.words = append(s.words, parameters...)
		s.ends = append(s.ends, uint32(len(s.words)))
	}
	return n
}

// shortProto packs up to two parameters into a number. ok is false if there are more, or if they
// don't fit.
func shortProto(parameters []uint32) (key uint64, ok bool) {
	const bits = 31
	key = uint64(len(parameters)) << (2 * bits)
	for i, p := range parameters {
		if i >= 2 || p>>bits != 0 {
			return 0, false
		}
		key |= uint64(p) << (i * bits)
	}
	return key, true
}

// At returns location n as it is written: addresses are relative to Start.
func (s *Sites) At(n uint32) Location {
	l := s.Locations[n]
	if l.Flags&btf.LocAddr != 0 {
		addr := (uint64(l.Values[1])<<32 | uint64(l.Values[0])) - s.Start
		if s.AddrSize == 4 {
			addr = uint64(uint32(addr))
		}
		l.set(uint32(addr), uint32(addr>>32))
	}
	return l
}

// Compare orders locations by content.
func (l *Location) Compare(o *Location) int {
	switch {
	case l.Flags != o.Flags:
		return cmp.Compare(l.Flags, o.Flags)
	case l.Size != o.Size:
		return cmp.Compare(l.Size, o.Size)
	case l.Count != o.Count:
		return cmp.Compare(l.Count, o.Count)
	}
	return slices.Compare(l.Values[:], o.Values[:])
}

// Describe returns the File for f.
func Describe(f *elf.File) (File, error) {
	d := File{AddrSize: f.AddrSize}
	for _, sec := range f.Sections {
		d.Sections = append(d.Sections, strings.Clone(sec.Name))
	}
	if f.Relocatable() {
		return d, nil
	}
	symbols, err := f.Symbols()
	if err != nil {
		return d, err
	}
	for i := range symbols.List {
		if sym := &symbols.List[i]; symbols.Named(sym, []byte("_stext")) {
			d.Start = sym.Value
			break
		}
	}
	return d, nil
}

// Join adds the sites of o, which the caller no longer uses.
func (s *Sites) Join(o *Sites) {
	if len(s.Units)+len(s.ends) == 0 {
		lost, file := s.Lost, s.File
		*s = *o
		s.Lost.Add(&lost)
		s.File = file
		return
	}
	s.Lost.Add(&o.Lost)
	locations := make([]uint32, 1+len(o.Locations))
	for i, l := range o.Locations {
		locations[1+i] = s.AddLocation(l)
	}
	protos := make([]uint32, len(o.ends))
	var buffer []uint32
	for i := range protos {
		buffer = buffer[:0]
		for _, p := range o.Proto(uint32(i)) {
			buffer = append(buffer, locations[p])
		}
		protos[i] = s.AddProto(buffer)
	}
	for _, u := range o.Units {
		for i := range u.List {
			u.List[i].Proto = protos[u.List[i].Proto]
		}
	}
	s.Units = append(s.Units, o.Units...)
}

// Places finds the sections of a file's code.
type Places struct {
	file *elf.File
	// usable is by section: it has code and a valid name, and no earlier such section has this name.
	usable []bool
	last   *elf.Section
}

// Find returns the section that has code at addr.
func (p *Places) Find(addr uint64) (*elf.Section, Reason) {
	if p.last == nil || !p.last.Contains(addr) {
		sec := p.file.SectionAt(addr)
		if sec == nil || !isCode(sec) || !sec.Contains(addr) || addr-sec.Addr > 1<<32-1 {
			return nil, NoCode
		}
		p.last = sec
	}
	if !p.usable[p.last.Index] {
		return nil, SameSection
	}
	return p.last, Known
}

// NewPlaces returns the Places of a file.
func NewPlaces(f *elf.File) *Places {
	p := &Places{file: f, usable: make([]bool, len(f.Sections))}
	names := map[string]bool{}
	for i, sec := range f.Sections {
		if isCode(sec) && !names[sec.Name] && btf.ValidSectionName([]byte(sec.Name)) {
			names[sec.Name] = true
			p.usable[i] = true
		}
	}
	return p
}

// isCode reports whether a section has code. The content may be missing (SHT_NOBITS), as in a
// separate debug file.
func isCode(s *elf.Section) bool {
	return s.Alloc() && s.Size > 0 && s.Flags&stdelf.SHF_EXECINSTR != 0
}
