package params

// Param is one formal parameter of a subprogram DIE.
type Param struct {
	// HasLocation reports whether the DIE has DW_AT_location.
	HasLocation bool
	// Locations holds the expression of an exprloc, or those of a location list in order (no base
	// addresses or views). If the first expression settles the location, the others may be missing.
	Locations [][]byte
	// ConstValue reports whether the DIE has DW_AT_const_value.
	ConstValue bool
	// Size is the size of the type in bytes, or 0 if that is unknown. The type may come from the
	// abstract origin.
	Size uint32
	// Struct reports whether the type, without typedefs and qualifiers, is a struct or class.
	Struct bool
	// PackedStruct reports whether that struct has a name and is packed.
	PackedStruct bool
	// OriginIndex says which parameter of the function's abstract origin this is, counted from 0;
	// NoOrigin if the parameter has no abstract origin.
	OriginIndex int
	// MemberAt reports whether the struct has a member at a byte offset. It is called only with
	// Options.TrueSignature and may be nil.
	MemberAt func(offset uint32) bool
}

// NoOrigin is the OriginIndex of a parameter without an abstract origin.
const NoOrigin = -1

// Options hold what the judgement depends on, besides the machine and the parameters.
type Options struct {
	Clang bool // DW_AT_producer names clang
	// clang changed the function: the DIE or its abstract origin has the DW_AT_calling_convention
	// DW_CC_nocall; false if the DIE has DW_AT_inline
	NoCall bool
	// gcc changed the function: the entry's symbol has .isra or .constprop; only for TrueSignature
	Clone         bool
	TrueSignature bool // the feature true_signature
}

// Flags is a set of findings about one function.
type Flags uint8

// The findings. The package comment says what follows from each of them.
const (
	// a parameter has no location, or its location has no register (on the stack: a known value)
	Optimized          Flags = 1 << iota
	Reordered                // the order of the parameters differs from the abstract origin's
	UnexpectedRegister       // a parameter is not in the ABI's register for its position
	UncertainLocation        // a packed struct by value may lie on the stack
)

// Has reports whether all of the given findings are in the set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// Verdict is the judgement of one function.
type Verdict struct {
	Flags Flags
	// Removed has the indexes of the parameters that a true signature leaves out, in ascending order.
	Removed []int
	// Members lists the structs that clang replaced with one of their members.
	Members []Member
}

// Member says that only the member at this offset of a struct parameter is passed. A true signature
// names it "parameter__member".
type Member struct {
	Param  int    // index of the parameter
	Offset uint32 // byte offset of the member in the struct
}

// Judge looks at the parameters of one subprogram DIE with code. It doesn't fail: invalid locations
// count as locations without a register.
// Rule: skipped: optimized parameters. Source: pahole btf_encoder_func_state__skip_optimized_parms;
// dwarf_loader.c function__signature_changed.
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
	// A struct that is passed by value may be anywhere, so no register is unexpected. But in a clone
	// with reordered parameters, members may have replaced the struct, so that others have moved.
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

// removed lists the parameters that are no longer passed. In clones, gcc writes the entries of
// removed parameters last. So the order changes, unless these parameters were already the last.
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
		inPlace := p.HasLocation && s.stack && m.inMemory(p.Size) // where the ABI passes a large value
		gone := !p.HasLocation || s.optimized && !inPlace
		switch {
		case flags.Has(Reordered) && gone, i >= last, o.TrueSignature && o.NoCall && s.optimized:
			list = append(list, i)
		}
	}
	return list
}

// uncertain reports whether, in a function with these parameters, a packed struct may be on the
// stack. It looks only at the number of the parameters and at the field PackedStruct of each.
// Rule: skipped: uncertain parameter location. Source: pahole ftype__has_uncertain_arg_loc.
func (m Machine) uncertain(ps []Param) bool {
	for i := m.registerCount(); i < len(ps); i++ {
		if ps[i].PackedStruct {
			return true
		}
	}
	return false
}

// state is the state of one parameter during judgement.
type state struct {
	location
	optimized  bool
	unexpected bool
	replaced   bool   // only one member is passed
	member     uint32 // that member's byte offset
}

// matchWindows judges a function whose interface clang did not change: the register of a parameter
// must be one of those that the parameter takes up according to the ABI.
// Rule: skipped: unexpected register. If clang left the function unchanged.
func (m Machine) matchWindows(ps []Param, states []state) {
	regs := m.registers()
	index := 0
	for i := range ps {
		p, s := &ps[i], &states[i]
		index = m.align(index, p)
		if index >= len(regs) {
			return // no registers are left, or they are unknown
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

// matchRegisters judges a function that gcc compiled, or whose interface clang changed: every
// parameter must be in the ABI's register for its position.
// Rule: skipped: reordered parameters. Source: pahole saved_functions_combine; dwarf_loader.c
// function__analyze_parameter_locations.
// Rule: skipped: unexpected register. Source: pahole dwarf_loader.c
// function__analyze_parameter_locations, parameter__reg_in_expected_window.
func (m Machine) matchRegisters(o Options, ps []Param, states []state) {
	regs := m.registers()
	changed := o.TrueSignature && o.NoCall // changed by clang, true signature wanted
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

// nextKeepsPlace reports whether the next parameter is in the register in which it would be if
// parameter i were passed in full.
func (m Machine) nextKeepsPlace(states []state, i, index int) bool {
	regs := m.registers()
	return i+1 < len(states) && index < len(regs) && states[i+1].register == int(regs[index])
}

// onlyMember reports whether p is a struct of several words, and only one of its members has a
// place. It notes that member's offset.
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
