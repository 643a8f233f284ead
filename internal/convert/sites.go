package convert

import (
	std "debug/dwarf"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// sites finds the sites at which functions were inlined, and the locations of the parameters there.
type sites struct {
	machine inlines.Machine
	places  *inlines.Places
	all     inlines.Sites // of the units that this thread has converted

	// For the unit that is being converted:
	list      []inlines.Site      // Item is an index in functions
	lost      inlines.Lost        // sites and parameters that aren't known
	origins   map[typeRef]int32   // by abstract instance: its index in functions, or -reason
	functions []inlinedFunction   // in the order in which sites refer to them
	params    []inlinedParam      // of all functions
	made      []candidate         // by function
	ids       []types.ID          // by function: its node, once the unit has been read
	items     map[types.ID]uint32 // scratch of end
	stack     []openSite          // the sites around the entry that is being read
	known     []knownParam        // of the sites in stack
	proto     []uint32            // scratch
	entry     dwarf.DIE           // scratch
	other     dwarf.DIE           // scratch
}

// inlinedFunction is a function that was inlined in the unit.
type inlinedFunction struct {
	first, count int // in sites.params
	entries      int // count and, if the function is variadic, 1 for "..."
}

type inlinedParam struct {
	typeRef // the entry of the parameter
	typ     typeRef
	size    uint32
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
		places: inlines.NewPlaces(f), origins: map[typeRef]int32{}, items: map[types.ID]uint32{}}
}

// begin prepares s for the sites of another unit.
func (s *sites) begin() {
	s.list, s.lost, s.functions, s.params = s.list[:0], inlines.Lost{}, s.functions[:0], s.params[:0]
	s.made, s.ids = s.made[:0], s.ids[:0]
	clear(s.origins)
}

// visitSites reads the sites in a function with code.
func (u *unit) visitSites(e *dwarf.DIE) error {
	s := u.c.sites
	if !e.Children || u.isDropped(e) {
		return nil
	}
	s.machine.Operands, s.machine.Addrx = u.r.Operands(), u.r.AddrxAt
	frame := e.Value(dwarf.FrameBase)
	die := e.Off
	s.stack, s.known = s.stack[:0], s.known[:0]
	for off, depth := e.Next, 1; depth > 0; {
		a, next, err := u.r.Declaration(off)
		if err != nil {
			return err
		}
		if a == nil {
			off = next
			depth--
			if n := len(s.stack); n > 0 && s.stack[n-1].depth > depth {
				s.close()
			}
			if uint64(off) >= u.r.Unit.Len {
				break
			}
			continue
		}
		e := &s.entry
		switch n := len(s.stack); {
		case a.Tag == std.TagInlinedSubroutine:
			if err := u.r.Read(off, e); err != nil {
				return err
			}
			off = e.Next
			if err := u.openSite(e, depth+1); err != nil {
				return err
			}
			if !a.Children {
				s.close()
				continue
			}
			depth++
			continue
		case a.Tag == std.TagFormalParameter && n > 0 && s.stack[n-1].depth == depth &&
			s.stack[n-1].function >= 0:
			if err := u.r.Read(off, e); err != nil {
				return err
			}
			if err := u.locateSite(e, &s.stack[n-1], die, frame); err != nil {
				return err
			}
			if off, err = u.r.AfterChildren(e); err != nil {
				return err
			}
			continue
		}
		h, err := u.r.Peek(off)
		if err != nil {
			return err
		}
		if a.Tag == std.TagLexDwarfBlock {
			if off = h.Next; a.Children {
				depth++
			}
			continue
		}
		if off, err = u.r.After(h); err != nil {
			return err
		}
	}
	for len(s.stack) > 0 {
		s.close()
	}
	return nil
}

// isDropped reports whether the linker has dropped the code of the function e. Then the addresses
// of its sites have no meaning.
func (u *unit) isDropped(e *dwarf.DIE) bool {
	addr, ok := u.r.FirstAddress(e)
	if !ok || !u.c.in.d.File.Tombstone(addr) || u.c.in.symbols.load() != nil {
		return false
	}
	for range u.c.in.symbols.at(addr) {
		return false
	}
	return true
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
	addr, ok := u.r.EntryAddress(e)
	if !ok {
		return inlines.NoAddress, nil
	}
	sec, why := s.places.Find(addr)
	if why != inlines.Known {
		return why, nil
	}
	t, err := u.ref(e, dwarf.Origin)
	if err != nil || t.u == nil {
		return inlines.NoFunction, err
	}
	n, seen := s.origins[t]
	if !seen {
		if n, err = u.addInlined(t); err != nil {
			return 0, err
		}
		s.origins[t] = n
	}
	if n < 0 {
		return inlines.Reason(-n), nil
	}
	o.function, o.at = n, dwarf.Place{Addr: addr}
	if e.Constant(dwarf.EntryView) {
		o.at.View = e.Val[dwarf.EntryView]
	}
	o.site = inlines.Site{Item: uint32(n), Section: uint32(sec.Index),
		Offset: uint32(addr - sec.Addr)}
	return inlines.Known, nil
}

// addInlined adds the function with the abstract instance t to s.functions. It returns the index
// or, if the function can't be encoded, the negative reason.
func (u *unit) addInlined(t typeRef) (int32, error) {
	s := u.c.sites
	e := &s.other
	if err := t.u.r.Read(t.off, e); err != nil {
		return 0, err
	}
	if e.Tag != std.TagSubprogram {
		return -int32(inlines.NoFunction), nil
	}
	f := &u.c.scratch.function
	if err := t.u.resolveFunction(e, f); err != nil {
		return 0, err
	}
	switch {
	case len(f.name) == 0:
		return -int32(inlines.NoName), nil
	case !btf.ValidIdentifier(f.name):
		return -int32(inlines.NotIdentifier), nil
	}
	own, err := f.proto.u.r.Function(f.protoDIE)
	if err != nil {
		return 0, err
	}
	if len(own.Parameters) > maxParameters {
		return -int32(inlines.ManyParameters), nil
	}
	n := inlinedFunction{first: len(s.params), entries: len(own.Parameters)}
	for i := range own.Parameters {
		p := &own.Parameters[i]
		if p.Varying {
			continue
		}
		if p.Name.Class == dwarf.ClassNone {
			s.params = s.params[:n.first]
			return -int32(inlines.UnnamedParameter), nil
		}
		typ, err := f.proto.u.refTo(p.Off, p.Type)
		if err != nil {
			return 0, err
		}
		s.params = append(s.params, inlinedParam{typeRef: typeRef{f.proto.u, p.Off}, typ: typ})
		n.count++
	}
	for i := range s.params[n.first:] {
		p := &s.params[n.first+i]
		var known params.Param
		if err := p.typ.classify(&known); err != nil {
			return 0, err
		}
		p.size = known.Size
	}
	proto, h, err := t.u.prototype(e, f)
	if err != nil {
		return 0, err
	}
	node := types.Node{Kind: types.KindFunc, Ref: proto, Aux: types.LinkageStatic,
		Size: uint32(types.FuncInlined)}
	s.functions = append(s.functions, n)
	s.made = append(s.made, newCandidate(f.name, node, h))
	return int32(len(s.functions) - 1), nil
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
	var l inlines.Location
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
		l, k.why = s.machine.Locate(expr, p, base)
	case e.IsBlock(dwarf.ConstValue):
		l, k.why = s.machine.Block(u.r.Block(e.Val[dwarf.ConstValue]), p)
	case e.Constant(dwarf.ConstValue):
		l, k.why = s.machine.Constant(e.Val[dwarf.ConstValue], p)
	default:
		k.why = inlines.NotListed
	}
	if k.why == inlines.Known {
		k.location = s.all.AddLocation(l)
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

// addInlined adds the unit's inlined functions to the graph and to the unit's environment.
func (c *converter) addInlined() {
	if c.sites == nil || len(c.sites.made) == 0 {
		return
	}
	c.store.lock()
	defer c.store.mu.Unlock()
	for i := range c.sites.made {
		c.sites.ids = append(c.sites.ids, c.addCandidate(&c.sites.made[i]))
	}
}

// end adds the sites of a unit to s.all. The unit has the given number and items. It looks for the
// functions from the end of the items, because functions come last.
func (s *sites) end(number int, items []types.ID) {
	clear(s.items)
	for _, id := range s.ids {
		s.items[id] = 0
	}
	left := len(s.items)
	for i, id := range slices.Backward(items) {
		if left == 0 {
			break
		}
		if _, ok := s.items[id]; ok {
			s.items[id] = uint32(i)
			left--
		}
	}
	for _, site := range s.list {
		site.Unit, site.Item = uint32(number), s.items[s.ids[site.Item]]
		s.all.List = append(s.all.List, site)
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
