package reach

import "maps"

const (
	numRegisters = 11
	framePointer = 10
)

// state is what is known before an instruction. For outcomes of guards for which the instruction
// isn't reached, all values are none.
type state struct {
	reach ref
	regs  [numRegisters]ref
	slots map[slot]ref // never changed, only replaced; slots not in the map are unknown
	// low is the lowest address in the frame that was ever in a register other than r10. Other code
	// may use such an address to change the frame from there upwards.
	low int32
}

// slot is a part of the stack frame.
type slot struct{ at, size int32 }

// entryState is the state at the first instruction of a function.
func (d *diagram) entryState(reach ref, args [numRegisters]ref) state {
	s := state{reach: reach}
	for i := range s.regs {
		s.regs[i] = reach
		if i >= 1 && i <= 5 {
			s.regs[i] = d.apply(foreign, args[i], args[i])
		}
	}
	s.regs[framePointer] = d.apply(within, d.constant(term{kind: isFrame}), reach)
	return s
}

// set sets a register, and low if the value is a lower address.
func (s *state) set(d *diagram, reg uint8, value ref) {
	s.regs[reg] = value
	s.low = min(s.low, d.traits[value].low)
}

// forget sets registers to unknown values.
func (s *state) forget(regs ...uint8) {
	for _, i := range regs {
		s.regs[i] = s.reach
	}
}

// restrict returns the state limited to those outcomes for which the condition holds.
func (s state) restrict(d *diagram, condition ref) state {
	reach := d.apply(within, s.reach, condition)
	if reach == s.reach {
		return s
	}
	s.reach = reach
	for i, v := range s.regs {
		s.regs[i] = d.apply(within, v, reach)
	}
	d.spend(len(s.slots))
	slots := make(map[slot]ref, len(s.slots))
	for k, v := range s.slots {
		slots[k] = d.apply(within, v, reach)
	}
	s.slots = slots
	return s
}

// join adds the state in which another path reaches the instruction. It reports whether s changed.
func (s *state) join(d *diagram, o state) bool {
	if o.reach == none {
		return false
	}
	if s.reach == none {
		*s = o
		return true
	}
	j := state{reach: d.apply(join, s.reach, o.reach), low: min(s.low, o.low)}
	for i := range j.regs {
		j.regs[i] = d.apply(join, s.regs[i], o.regs[i])
	}
	changed := j.reach != s.reach || j.regs != s.regs || j.low != s.low
	d.spend(numRegisters + len(s.slots) + len(o.slots))
	j.slots = make(map[slot]ref, len(s.slots))
	merge := func(k slot, a, b ref) {
		if v := d.apply(join, a, b); v != j.reach {
			j.slots[k] = v
		}
	}
	for k, v := range s.slots {
		other, ok := o.slots[k]
		if !ok {
			other = o.reach
		}
		merge(k, v, other)
	}
	for k, v := range o.slots {
		if _, ok := s.slots[k]; !ok {
			merge(k, s.reach, v)
		}
	}
	changed = changed || !maps.Equal(s.slots, j.slots)
	*s = j
	return changed
}

// clobber forgets the slots that end above an address. If one of these slots contains an address in
// the frame, we no longer know what code does with that address, so the whole frame may change.
func (s *state) clobber(d *diagram, at int32) {
	if len(s.slots) == 0 {
		return
	}
	d.spend(len(s.slots))
	slots := make(map[slot]ref, len(s.slots))
	lost := false
	for k, v := range s.slots {
		if k.at+k.size <= at {
			slots[k] = v
		} else if d.traits[v].frame {
			lost = true
		}
	}
	if s.slots = slots; lost {
		s.escape()
	}
}

// escape records that other code may change the whole frame from now on.
func (s *state) escape() {
	s.low = -maxFrame
	s.slots = nil
}

// address returns the address in the frame that an access through this register and offset has.
func (s *state) address(d *diagram, reg uint8, offset int16) (at int32, ok bool) {
	t := d.nodes[d.traits[s.regs[reg]].one].term
	at = int32(int64(t.value)) + int32(offset)
	return at, t.kind == isFrame && at >= -maxFrame && at < 0
}

// store stores a value of the given size.
func (s *state) store(d *diagram, reg uint8, offset int16, size int32, value ref) {
	at, ok := s.address(d, reg, offset)
	if !ok {
		s.clobber(d, s.low+min(0, int32(offset)))
		return
	}
	d.spend(len(s.slots))
	slots := make(map[slot]ref, len(s.slots)+1)
	for k, v := range s.slots {
		if k.at+k.size <= at || k.at >= at+size {
			slots[k] = v
		}
	}
	s.slots = slots
	switch {
	case d.traits[value].frame && (size < 8 || at%8 != 0):
		s.escape()
		return
	case size < 8:
		value = d.apply(zeros, value, value)
	case at%8 != 0:
		return
	}
	if value != s.reach {
		slots[slot{at, size}] = value
	}
}

// load returns the value of the given size at an address.
func (s *state) load(d *diagram, reg uint8, offset int16, size int32) ref {
	if at, ok := s.address(d, reg, offset); ok {
		if v, ok := s.slots[slot{at, size}]; ok {
			return v
		}
	}
	return s.reach
}
