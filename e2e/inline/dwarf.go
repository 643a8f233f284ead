package inline

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Site is a place where a function was inlined.
type Site struct {
	Section  string
	Offset   uint64 // from the start of the section
	Address  uint64 // in a relocatable file, an address that openELF has chosen
	Function string
	Params   []Param
	Line     int64       // of the call
	Entry    bool        // whether the DWARF says that execution begins at Address
	Rust     bool        // whether the unit was compiled from Rust
	Ranges   [][2]uint64 // of the function's code here; with gcc, they needn't contain Address
}

// Param says where a parameter is.
type Param struct {
	Text  string // as package inline describes it
	Cause string // if the parameter is unknown: absent, or why its location has no form
	Views bool   // if views were ignored, the location would be different
	Name  string
	Size  uint64
}

// absent is the cause if nothing is known about a parameter at the address of the site.
const absent = "no location"

// String returns the site as a line.
func (s *Site) String() string {
	var params []string
	for _, p := range s.Params {
		params = append(params, p.Text)
	}
	return fmt.Sprintf("%s+0x%x %s(%s)", s.Section, s.Offset, s.Function,
		strings.Join(params, ", "))
}

// reader finds the sites in an ELF file.
type reader struct {
	file      *elfFile
	data      *dwarf.Data
	next      *dwarf.Reader
	units     []*unit // in the order of their offsets
	functions map[dwarf.Offset]*function
	params    map[dwarf.Offset]*param // the parameters of functions
	sites     []*rawSite
	sizes     map[dwarf.Offset]uint64
}

type unit struct {
	first, end   dwarf.Offset // of the first DIE, and after the last one
	version      int
	offsetSize   int // 4 or 8
	addressSize  int
	order        binary.ByteOrder
	base         uint64 // DW_AT_low_pc
	loclistsBase uint64
	addrBase     uint64
	rust         bool
}

type function struct {
	name   string
	origin dwarf.Offset
	params []dwarf.Offset
}

type param struct {
	name         string
	origin, kind dwarf.Offset // kind is the type's offset; 0 for none
}

// rawSite is a site whose references aren't resolved yet.
type rawSite struct {
	unit    *unit
	address uint64
	view    uint64
	line    int64
	entry   bool
	ranges  [][2]uint64
	origin  dwarf.Offset
	params  []rawParam
}

type rawParam struct {
	origin dwarf.Offset
	place
}

// Sites returns the sites in an ELF file, sorted.
func Sites(path string) ([]*Site, error) {
	f, err := openELF(path)
	if err != nil {
		return nil, err
	}
	r := &reader{file: f, functions: map[dwarf.Offset]*function{},
		params: map[dwarf.Offset]*param{}, sizes: map[dwarf.Offset]uint64{}}
	if r.data, err = f.dwarf(); err != nil {
		return nil, err
	}
	if err := r.headers(); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	var sites []*Site
	for _, s := range r.sites {
		site, err := r.resolve(s)
		if err != nil {
			return nil, err
		}
		if site != nil {
			sites = append(sites, site)
		}
	}
	return sorted(sites), nil
}

// sorted sorts sites as lines, and removes repetitions.
func sorted(sites []*Site) []*Site {
	slices.SortFunc(sites, func(a, b *Site) int {
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.Offset, b.Offset),
			cmp.Compare(a.String(), b.String()))
	})
	return slices.CompactFunc(sites, func(a, b *Site) bool { return a.String() == b.String() })
}

// headers reads the headers of the units, which debug/dwarf doesn't show.
func (r *reader) headers() error {
	info := r.file.debug[".debug_info"]
	for at := 0; at < len(info); {
		d := &numbers{r.file.ByteOrder, info[at:], nil}
		u := &unit{offsetSize: 4, order: r.file.ByteOrder}
		length := d.uint(4)
		if length == 0xffffffff {
			u.offsetSize, length = 8, d.uint(8)
		}
		end := len(info) - len(d.rest) + int(length)
		u.version = int(d.uint(2))
		var kind uint64
		if u.version >= 5 {
			kind, u.addressSize = d.uint(1), int(d.uint(1))
			d.uint(u.offsetSize) // the offset of the abbreviations
		} else {
			d.uint(u.offsetSize)
			u.addressSize = int(d.uint(1))
		}
		switch kind {
		case 2, 6: // DW_UT_type, DW_UT_split_type
			d.uint(8)
			d.uint(u.offsetSize)
		case 4, 5: // DW_UT_skeleton, DW_UT_split_compile
			d.uint(8)
		}
		u.first = dwarf.Offset(len(info) - len(d.rest))
		if d.err != nil || end > len(info) || end <= at {
			return fmt.Errorf("the unit at 0x%x is cut off", at)
		}
		u.end = dwarf.Offset(end)
		r.units = append(r.units, u)
		at = end
	}
	return nil
}

// read reads all DIEs.
func (r *reader) read() error {
	r.next = r.data.Reader()
	for _, u := range r.units {
		r.next.Seek(u.first)
		e, err := r.next.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Offset >= u.end {
			continue // a unit without DIEs
		}
		if e.Val(dwarf.AttrDwoName) != nil || e.Val(0x2130) != nil { // DW_AT_GNU_dwo_name
			return fmt.Errorf("the unit at 0x%x is a skeleton; this reader reads no split DWARF",
				u.first)
		}
		u.base, _ = e.Val(dwarf.AttrLowpc).(uint64)
		u.loclistsBase = number(e, dwarf.AttrLoclistsBase)
		u.addrBase = number(e, dwarf.AttrAddrBase)
		language, _ := e.Val(dwarf.AttrLanguage).(int64)
		u.rust = language == 0x1c
		if e.Children {
			if err := r.children(u, scope{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func number(e *dwarf.Entry, a dwarf.Attr) uint64 {
	v, _ := e.Val(a).(int64)
	return uint64(v)
}

// scope is where a DIE is.
type scope struct {
	function  *function // the parent, if it is a function
	site      *rawSite  // the parent, if it is a site
	frameBase *dwarf.Field
}

// children reads the DIEs up to the end of a list of children.
func (r *reader) children(u *unit, in scope) error {
	for {
		e, err := r.next.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Tag == 0 {
			return nil
		}
		inner := scope{frameBase: in.frameBase}
		switch e.Tag {
		case dwarf.TagSubprogram:
			inner.frameBase = e.AttrField(dwarf.AttrFrameBase)
			inner.function = &function{origin: origin(e)}
			inner.function.name, _ = e.Val(dwarf.AttrName).(string)
			r.functions[e.Offset] = inner.function
		case dwarf.TagInlinedSubroutine:
			address, ok, err := r.address(e, u)
			if err != nil {
				return err
			}
			if ok && r.file.code(address) != nil {
				ranges, err := r.data.Ranges(e)
				if err != nil {
					return fmt.Errorf("DIE 0x%x: %w", e.Offset, err)
				}
				inner.site = &rawSite{unit: u, address: address, origin: origin(e), ranges: ranges}
				view, _ := e.Val(0x2138).(int64) // DW_AT_GNU_entry_view
				inner.site.view = uint64(view)
				inner.site.line, _ = e.Val(dwarf.AttrCallLine).(int64)
				inner.site.entry = e.Val(dwarf.AttrEntrypc) != nil
				r.sites = append(r.sites, inner.site)
			}
		case dwarf.TagFormalParameter:
			switch {
			case in.function != nil:
				p := &param{origin: origin(e)}
				p.kind, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
				p.name, _ = e.Val(dwarf.AttrName).(string)
				r.params[e.Offset] = p
				in.function.params = append(in.function.params, e.Offset)
			case in.site != nil:
				place, err := r.place(e, u, in)
				if err != nil {
					return fmt.Errorf("DIE 0x%x: %w", e.Offset, err)
				}
				in.site.params = append(in.site.params, rawParam{origin(e), place})
			}
		}
		if e.Children {
			if err := r.children(u, inner); err != nil {
				return err
			}
		}
	}
}

// origin returns the DIE that a DIE completes, or 0.
func origin(e *dwarf.Entry) dwarf.Offset {
	for _, a := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		if to, ok := e.Val(a).(dwarf.Offset); ok {
			return to
		}
	}
	return 0
}

// address returns the address of a site.
func (r *reader) address(e *dwarf.Entry, u *unit) (address uint64, ok bool, err error) {
	low, hasLow := e.Val(dwarf.AttrLowpc).(uint64)
	switch entry := e.Val(dwarf.AttrEntrypc).(type) {
	case uint64:
		return entry, true, nil
	case int64: // an offset from the start
		if hasLow {
			return low + uint64(entry), true, nil
		}
		return 0, false, fmt.Errorf("DIE 0x%x: DW_AT_entry_pc is an offset, but no start is known",
			e.Offset)
	}
	if hasLow {
		return low, true, nil
	}
	ranges, err := r.data.Ranges(e)
	for _, x := range ranges {
		if x[0] < x[1] {
			return x[0], true, err
		}
	}
	return 0, false, err
}

// resolve turns a site into its final form. It returns nil if the function has no name.
func (r *reader) resolve(raw *rawSite) (*Site, error) {
	section := r.file.code(raw.address)
	s := &Site{Section: section.Name, Offset: raw.address - section.Addr, Address: raw.address,
		Line: raw.line, Entry: raw.entry, Rust: raw.unit.rust, Ranges: raw.ranges}
	var params []dwarf.Offset
	for at, steps := raw.origin, 0; at != 0 && steps < 100; steps++ {
		f := r.functions[at]
		if f == nil {
			return nil, fmt.Errorf("DIE 0x%x, which a site refers to, is no function", at)
		}
		s.Function = cmp.Or(s.Function, f.name)
		if len(params) == 0 {
			params = f.params
		}
		at = f.origin
	}
	if s.Function == "" {
		return nil, nil
	}
	for _, at := range params {
		p := Param{Text: "?", Cause: absent, Name: r.params[at].name}
		size, err := r.size(r.params[at].kind)
		if err != nil {
			return nil, err
		}
		p.Size = size
		for _, have := range raw.params {
			if r.leads(have.origin, at) {
				p.Text, p.Cause = r.text(raw.unit, have.place, size)
				p.Views = have.views
			}
		}
		s.Params = append(s.Params, p)
	}
	return s, nil
}

// leads reports whether the chain of parameters that starts at one leads to another.
func (r *reader) leads(from, to dwarf.Offset) bool {
	for steps := 0; from != 0 && from != to && steps < 100; steps++ {
		if r.params[from] == nil {
			return false
		}
		from = r.params[from].origin
	}
	return from == to
}

// size returns the size of a type, or 0 if it has none.
func (r *reader) size(at dwarf.Offset) (uint64, error) {
	if at == 0 {
		return 0, nil
	}
	if size, ok := r.sizes[at]; ok {
		return size, nil
	}
	r.sizes[at] = 0 // ends a loop of types
	r.next.Seek(at)
	e, err := r.next.Next()
	if err != nil || e == nil {
		return 0, fmt.Errorf("the type at 0x%x: %v", at, err)
	}
	size := number(e, dwarf.AttrByteSize)
	to, _ := e.Val(dwarf.AttrType).(dwarf.Offset)
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		size = cmp.Or(size, uint64(r.next.AddressSize()))
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType,
		dwarf.TagAtomicType, dwarf.TagEnumerationType:
		if size == 0 {
			if size, err = r.size(to); err != nil {
				return 0, err
			}
		}
	}
	if e.Tag == dwarf.TagArrayType && size == 0 && e.Children { // a vector
		if size, err = r.elements(); err != nil {
			return 0, err
		}
		element, err := r.size(to)
		if err != nil {
			return 0, err
		}
		size *= element
	}
	r.sizes[at] = size
	return size, nil
}

// elements returns the number of elements of an array whose DIE was read last.
func (r *reader) elements() (uint64, error) {
	n := uint64(1)
	for {
		e, err := r.next.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return n, err
		}
		if e.Tag == dwarf.TagSubrangeType {
			if last, ok := e.Val(dwarf.AttrUpperBound).(int64); ok {
				n *= uint64(last + 1)
			} else {
				n *= number(e, dwarf.AttrCount)
			}
		}
	}
}

func (u *unit) littleEndian() bool { return u.order == binary.LittleEndian }

// indexed returns an address in .debug_addr.
func (r *reader) indexed(u *unit, index uint64) (uint64, error) {
	all := r.file.debug[".debug_addr"]
	at := u.addrBase + index*uint64(u.addressSize)
	if at > uint64(len(all)) {
		return 0, fmt.Errorf("address %d is outside of .debug_addr", index)
	}
	d := &numbers{u.order, all[at:], nil}
	v := d.uint(u.addressSize)
	return v, d.err
}
