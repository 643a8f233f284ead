package params

// Param is one formal parameter of a subprogram DIE.
type Param struct {
	// HasLocation reports whether the DIE has DW_AT_location.
	HasLocation bool
	// Locations holds the location's expressions: one for an exprloc, all of a location list in its
	// order (base addresses and views are no entries), or the first one if that settles them.
	Locations [][]byte
	// ConstValue reports whether the DIE has DW_AT_const_value.
	ConstValue bool
	// Size is the byte size of the type, typedefs and qualifiers followed, as
	// found through the abstract origin; 0 when not known.
	Size uint32
	// Struct reports whether the type is a struct or class, seen through
	// typedefs and qualifiers. False for a union.
	Struct bool
	// PackedStruct reports whether that struct has a name and is packed.
	PackedStruct bool
	// OriginIndex is the position of the abstract origin among the formal
	// parameters of its subprogram, or NoOrigin.
	OriginIndex int
	// MemberAt reports whether the struct has a member at a byte offset. It is
	// asked only with Options.TrueSignature and may be nil.
	MemberAt func(offset uint32) bool
}

// NoOrigin is the OriginIndex of a parameter without an abstract origin.
const NoOrigin = -1

// Options is what the judgement depends on besides machine and parameters.
type Options struct {
	Clang bool // DW_AT_producer names clang
	// clang: DW_AT_calling_convention is DW_CC_nocall, on the DIE or its abstract origin; false on
	// DIEs with DW_AT_inline
	NoCall bool
	// gcc: the symbol at the entry has .isra or .constprop in its name; says only which parameters
	// are Removed
	Clone         bool
	TrueSignature bool // the feature true_signature
}

// Flags is a set of findings about one function.
type Flags uint8

// The findings; see the package comment for what follows from each.
const (
	// a parameter has no location, or is not in the register that the ABI assigns
	Optimized Flags = 1 << iota
	// the parameters stand in another order than the abstract origin's
	Reordered
	UnexpectedRegister // a parameter's register is not the ABI's for its position
	UncertainLocation  // a packed struct by value may lie on the stack
)

// Has reports whether all of the given findings are in the set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// Verdict is the judgement of one function.
type Verdict struct {
	Flags Flags
	// Removed lists the parameters that a true signature leaves out, by index,
	// ascending; none without the feature true_signature.
	Removed []int
	// Members lists the structs that clang replaced by one of their members.
	Members []Member
}

// Member says that of a struct parameter only the member at the offset is
// passed. A true signature names it "parameter__member".
type Member struct {
	Param  int    // index of the parameter
	Offset uint32 // byte offset of the member in the struct
}

// Judge looks at the parameters of one subprogram DIE with code. It does not
// fail: locations that are not valid count as locations without a register.
func Judge(m Machine, o Options, ps []Param) Verdict {
	var v Verdict
	var few [12]state // more parameters are rare
	states := few[:min(len(ps), len(few))]
	if len(ps) > len(few) {
		states = make([]state, len(ps))
	}
	for i := range ps {
		states[i].location = m.locate(&ps[i])
	}
	if o.Clang && !o.NoCall {
		m.matchWindows(ps, states)
	} else {
		m.matchRegisters(o, ps, states)
	}
	hasStruct, unexpected := false, false
	for i := range ps {
		p, s := &ps[i], &states[i]
		if p.OriginIndex != NoOrigin && p.OriginIndex != i {
			v.Flags |= Reordered
		}
		if s.optimized || !p.HasLocation {
			v.Flags |= Optimized
		}
		hasStruct = hasStruct || p.Struct
		unexpected = unexpected || s.unexpected
		if s.replaced {
			v.Members = append(v.Members, Member{i, s.member})
		}
	}
	// A struct by value may lie anywhere. But in a clone with another order of parameters its
	// members may have come in its place, and then the other parameters have moved.
	moved := o.TrueSignature && o.Clone && v.Flags.Has(Reordered)
	if unexpected && (!hasStruct || moved) {
		v.Flags |= UnexpectedRegister
	}
	if m.uncertain(ps) {
		v.Flags |= UncertainLocation
	}
	if o.TrueSignature {
		v.Removed = m.removed(o, v.Flags, ps, states)
	}
	return v
}

// removed lists the parameters that are no longer passed. In clones gcc writes their entries after
// the others, so they are out of order unless they were the last ones.
func (m Machine) removed(o Options, flags Flags, ps []Param, states []state) (list []int) {
	last := len(ps) // the first of the trailing parameters that have no place
	for o.Clone && last > 0 {
		if s := &states[last-1]; ps[last-1].HasLocation && !s.caller && !s.constant {
			break
		}
		last--
	}
	for i := range ps {
		p, s := &ps[i], &states[i]
		inPlace := p.HasLocation && s.stack && m.inMemory(p.Size) // a large value by the ABI
		gone := !p.HasLocation || s.optimized && !inPlace
		switch {
		case flags.Has(Reordered) && gone, i >= last, o.TrueSignature && o.NoCall && s.optimized:
			list = append(list, i)
		}
	}
	return list
}

// uncertain reports whether a function with such parameters may take a packed
// struct from the stack. Only the number of parameters and PackedStruct count.
func (m Machine) uncertain(ps []Param) bool {
	for i := m.registerCount(); i < len(ps); i++ {
		if ps[i].PackedStruct {
			return true
		}
	}
	return false
}

// state is what is known of one parameter while judging.
type state struct {
	location
	optimized  bool
	unexpected bool
	replaced   bool   // by its member
	member     uint32 // byte offset
}

// matchWindows treats functions that clang left as they were: a register must
// be one of those that the parameter takes up.
func (m Machine) matchWindows(ps []Param, states []state) {
	regs := m.registers()
	index := 0
	for i := range ps {
		p, s := &ps[i], &states[i]
		index = m.align(index, p)
		if index >= len(regs) {
			return // no registers left, or no map of them
		}
		slots := m.slots(p)
		if !m.inMemory(p.Size) && s.register != noRegister {
			s.unexpected = true
			for _, r := range regs[index:min(index+slots, len(regs))] {
				if int(r) == s.register {
					s.unexpected = false
				}
			}
		}
		index += slots
	}
}

// matchRegisters treats gcc's functions and those whose interface clang
// changed: every parameter must lie in the register of its position.
func (m Machine) matchRegisters(o Options, ps []Param, states []state) {
	regs := m.registers()
	changed := o.TrueSignature && o.NoCall // the true signature is wanted
	index := 0
	for i := range ps {
		p, s := &ps[i], &states[i]
		index = m.align(index, p)
		slots := m.slots(p)
		switch {
		case !p.HasLocation && p.ConstValue && !o.Clang:
			s.optimized = true
		case !p.HasLocation:
			if changed {
				if !m.nextKeepsPlace(states, i, index+slots) {
					s.optimized = true
					slots = 0
				}
			}
		case changed && s.constant:
			s.optimized = true
			slots = 0
		case index >= m.registerCount():
			slots = 0 // on the stack
			s.optimized = s.known
		case changed && s.stack:
			if m.inMemory(p.Size) {
				slots = 0
			} else {
				s.unexpected = true
			}
		case s.register == noRegister:
			if changed {
				s.unexpected = true
			} else {
				s.optimized = true
			}
		case index < len(regs) && int(regs[index]) != s.register:
			s.unexpected = true
		case changed && m.onlyMember(p, s) && !m.nextKeepsPlace(states, i, index+slots):
			s.replaced = true
			slots = 1
		}
		index += slots
	}
}

// nextKeepsPlace reports whether the following parameter is where it would be if this one were
// passed in full.
func (m Machine) nextKeepsPlace(states []state, i, index int) bool {
	regs := m.registers()
	return i+1 < len(states) && index < len(regs) && states[i+1].register == int(regs[index])
}

// onlyMember reports whether a single member of a struct of several words is
// all that has a place, and notes its offset.
func (m Machine) onlyMember(p *Param, s *state) bool {
	if p.MemberAt == nil || s.low != 0 && s.high != 0 {
		return false
	}
	bits, base := s.low, uint32(0)
	if bits == 0 {
		bits, base = s.high, uint32(m.AddrSize)
	}
	if bits == 0 || bits&(bits-1) != 0 {
		return false
	}
	for bits >>= 1; bits != 0; bits >>= 1 {
		base++
	}
	s.member = base
	return p.MemberAt(base)
}
