package convert

import (
	std "debug/dwarf"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// sites finds the sites at which functions were inlined, and the locations of the parameters there.
type sites struct {
	machine inlines.Machine
	places  *inlines.Places
	all     inlines.Sites // of the units that this thread has converted

	// For the unit that is being converted:
	list []inlines.Site
	lost inlines.Lost // sites and parameters that aren't known
	// By abstract instance: its index in functions, or -reason. Those in the unit are in own.
	own       offsets
	origins   map[typeRef]int32
	functions []inlinedFunction // in the order in which sites refer to them
	params    []inlinedParam    // of all functions
	made      []candidate       // the functions that aren't in the graph yet
	ids       []types.ID        // by function: its node, once the unit has been read
	stack     []openSite        // the sites around the entry that is being read
	known     []knownParam      // of the sites in stack
	proto     []uint32          // scratch
	entry     dwarf.DIE         // scratch
	other     dwarf.DIE         // scratch
}

// openSite is a site whose children are being read.
type openSite struct {
	function int32
	site     inlines.Site
	at       dwarf.Place
	depth    int // of the children
	next     int // index of the parameter that probably comes next
	known    int // where the site's parameters begin in sites.known
}

type knownParam struct {
	index    int
	location uint32 // 1 + index of the location, or 0
	why      inlines.Reason
}

func newSites(in input) *sites {
	f := in.d.File
	return &sites{machine: inlines.Machine{Relocatable: f.Relocatable()},
		places: inlines.NewPlaces(f), origins: map[typeRef]int32{}}
}

// begin prepares s for the sites of another unit.
func (s *sites) begin() {
	s.list, s.lost, s.functions, s.params = s.list[:0], inlines.Lost{}, s.functions[:0], s.params[:0]
	s.made, s.ids = s.made[:0], s.ids[:0]
	s.own.clear()
	clear(s.origins)
}

// visitSites reads the sites in a function with code, and returns the same values as visit.
// Rule: sites of inlined functions: where they are. Source: pahole's branch next; resolve_btfids of
// Linux 7.4.
func (u *unit) visitSites(e *dwarf.DIE) (enter bool, next uint32, err error) {
	s := u.c.sites
	if !e.Children {
		return true, 0, nil
	}
	if dropped, err := u.isDropped(e); dropped || err != nil {
		return true, 0, err
	}
	s.machine.Operands, s.machine.Addrx = u.r.Operands(), u.r.AddrxAt
	frame := e.Value(dwarf.FrameBase)
	die := e.Off
	s.stack, s.known = s.stack[:0], s.known[:0]
	off := e.Next
	for depth := 1; depth > 0; {
		off, _ = u.r.Skip(off, dwarf.SkipToCall)
		h, err := u.r.Peek(off)
		if err != nil {
			return false, 0, err
		}
		if h.Abbrev == nil {
			off = h.Next
			depth--
			if n := len(s.stack); n > 0 && s.stack[n-1].depth > depth {
				s.close()
			}
			if uint64(off) >= u.r.Unit.Len {
				break
			}
			continue
		}
		e, a := &s.entry, h.Abbrev
		switch n := len(s.stack); {
		case a.Tag == std.TagInlinedSubroutine:
			if err := u.r.Read(off, e); err != nil {
				return false, 0, err
			}
			off = h.Next
			if err := u.openSite(e, depth+1); err != nil {
				return false, 0, err
			}
			if !a.Children {
				s.close()
				continue
			}
			depth++
			continue
		case a.Tag == std.TagLexDwarfBlock:
			if off = h.Next; a.Children {
				depth++
			}
			continue
		case a.Tag == std.TagFormalParameter && n > 0 && s.stack[n-1].depth == depth &&
			s.stack[n-1].function >= 0:
			if err := u.r.Read(off, e); err != nil {
				return false, 0, err
			}
			if err := u.locateSite(e, &s.stack[n-1], die, frame); err != nil {
				return false, 0, err
			}
		case n == 0 && (a.Encloses || a.Declares()):
			enter = true
		}
		if off, err = u.r.After(h); err != nil {
			return false, 0, err
		}
	}
	for len(s.stack) > 0 {
		s.close()
	}
	if enter {
		return true, 0, nil
	}
	return false, off, nil
}

// isDropped reports whether the linker has dropped the code of the function e. Then the addresses
// of its sites have no meaning.
func (u *unit) isDropped(e *dwarf.DIE) (bool, error) {
	addr, ok, err := u.r.FirstAddress(e)
	if !ok || !u.c.in.d.File.Tombstone(addr) || u.c.in.symbols.load() != nil {
		return false, err
	}
	for range u.c.in.symbols.at(addr) {
		return false, nil
	}
	return true, nil
}

// openSite pushes the site with the entry e.
func (u *unit) openSite(e *dwarf.DIE, depth int) error {
	s := u.c.sites
	o := openSite{function: -1, depth: depth, known: len(s.known)}
	why, err := u.placeSite(e, &o)
	if err != nil {
		return err
	}
	if why != inlines.Known {
		s.lost[why]++
		o.function = -1
	}
	s.stack = append(s.stack, o)
	return nil
}

func (u *unit) placeSite(e *dwarf.DIE, o *openSite) (inlines.Reason, error) {
	s := u.c.sites
	addr, ok, err := u.r.EntryAddress(e)
	if !ok {
		return inlines.NoAddress, err
	}
	sec, why := s.places.Find(addr)
	if why != inlines.Known {
		return why, nil
	}
	t, err := u.ref(e, dwarf.Origin)
	if err != nil || t.u == nil {
		return inlines.NoFunction, err
	}
	n, err := u.inlined(t)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return inlines.Reason(-n), nil
	}
	o.function, o.at = n, dwarf.Place{Addr: addr}
	if e.Constant(dwarf.EntryView) {
		o.at.View = e.Val[dwarf.EntryView]
	}
	o.site = inlines.Site{Function: uint32(n), Section: uint32(sec.Index),
		Offset: uint32(addr - sec.Addr)}
	return inlines.Known, nil
}

// locateSite locates the parameter e, a child of a site. function is the offset of the function
// around the site, and frame its frame base.
func (u *unit) locateSite(e *dwarf.DIE, o *openSite, function uint32, frame dwarf.Value) error {
	s := u.c.sites
	t, err := u.ref(e, dwarf.Origin)
	if err != nil || t.u == nil {
		return err
	}
	f := &s.functions[o.function]
	list := s.params[f.first : f.first+f.count]
	i, err := o.find(list, t)
	if err != nil || i < 0 {
		return err
	}
	o.next = i + 1
	k := knownParam{index: i}
	p := inlines.Parameter{Size: list[i].size, Signed: list[i].typ.signed}
	switch location := e.Value(dwarf.Location); {
	case location.Class != dwarf.ClassNone:
		expr, covered, err := u.r.LocationAt(e.Off, location, e.Value(dwarf.Views), o.at)
		if err != nil {
			return err
		}
		if !covered {
			k.why = inlines.NoValue
			break
		}
		var base inlines.Frame
		if inlines.NeedsFrame(expr) {
			if base, err = u.frameAt(function, frame, o.at); err != nil {
				return err
			}
		}
		k.location, k.why = s.all.Locate(&s.machine, expr, p, base)
	case e.IsBlock(dwarf.ConstValue):
		k.location, k.why = s.all.AddKnown(s.machine.Block(u.r.Block(e.Val[dwarf.ConstValue]), p))
	case e.Constant(dwarf.ConstValue):
		k.location, k.why = s.all.AddKnown(s.machine.Constant(e.Val[dwarf.ConstValue], p))
	default:
		k.why = inlines.NotListed
	}
	s.known = append(s.known, k)
	return nil
}

func (u *unit) frameAt(function uint32, frame dwarf.Value, at dwarf.Place) (inlines.Frame, error) {
	expr, covered, err := u.r.LocationAt(function, frame, dwarf.Value{}, at)
	if err != nil || !covered {
		return inlines.Frame{}, err
	}
	return u.c.sites.machine.FrameOf(expr), nil
}

// find returns the index of the parameter to which a chain of DW_AT_abstract_origin that begins
// with t leads, or -1.
func (o *openSite) find(list []inlinedParam, t typeRef) (int, error) {
	for range maxChain {
		for i := range list {
			if n := (o.next + i) % len(list); list[n].typeRef == t {
				return n, nil
			}
		}
		var e dwarf.DIE
		if err := t.u.r.Read(t.off, &e); err != nil {
			return -1, err
		}
		next, err := t.u.ref(&e, dwarf.Origin)
		if err != nil || next.u == nil {
			return -1, err
		}
		t = next
	}
	return -1, nil
}

// signed reports whether a type is a signed number.
func (t typeRef) signed() bool {
	var e dwarf.DIE
	t, err := t.peel(&e)
	if err != nil || t.u == nil || e.Tag != std.TagBaseType {
		return false
	}
	const signed, signedChar = 5, 6 // DW_ATE_signed, DW_ATE_signed_char
	return e.Val[dwarf.Encoding] == signed || e.Val[dwarf.Encoding] == signedChar
}

// close moves the site at the top of the stack to s.list.
func (s *sites) close() {
	o := &s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	known := s.known[o.known:]
	s.known = s.known[:o.known]
	if o.function < 0 {
		return
	}
	f := &s.functions[o.function]
	s.proto = append(s.proto[:0], make([]uint32, f.entries)...)
	listed := 0
	for _, k := range known {
		if s.proto[k.index] != 0 { // a second entry for the parameter
			continue
		}
		if s.proto[k.index] = k.location; k.why != inlines.Known {
			s.lost[k.why]++
		}
		listed++
	}
	s.lost[inlines.NotListed] += uint64(max(0, f.count-listed))
	o.site.Proto = s.all.AddProto(s.proto)
	s.list = append(s.list, o.site)
}

// end adds the sites of a unit to s.all. The unit has the given number.
func (s *sites) end(number int) {
	if len(s.list) > 0 {
		s.all.Units = append(s.all.Units, inlines.UnitSites{Unit: number,
			Functions: slices.Clone(s.ids), List: slices.Clone(s.list)})
	}
	s.all.Lost.Add(&s.lost)
}

// takeSites takes the sites of the unit that p has read again.
func (c *converter) takeSites(p *pinReader) {
	s, of := c.sites, p.sites
	s.all, s.lost = of.all, of.lost
	s.list = append(s.list, of.list...)
	for _, id := range of.ids {
		s.ids = append(s.ids, p.importer.ID(id))
	}
}
