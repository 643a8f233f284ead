package convert

import "github.com/rules-btf/rules_btf/internal/format/dwarf"

// A group is the units of one object file that clang made with link-time optimization. The file's
// unit and the units of the functions that clang imported from other files share an abbreviation
// table. These units refer to each other, and hardly ever to other units. So a thread converts them
// one after another, and keeps them loaded until it converts a unit of a different group.
type group struct {
	first *dwarf.Unit // a unit of the group; nil if the converted unit is in none
	units []*unit     // those that are loaded
	pins  *pinReader  // for those that define a tag in several ways; nil: none yet
}

// findGroups returns the units that are next to a unit of the same group.
// Rule: units that are converted together (LTO).
func findGroups(units []*dwarf.Unit) map[*dwarf.Unit]bool {
	grouped := make(map[*dwarf.Unit]bool)
	for i := 1; i < len(units); i++ {
		if sameGroup(units[i-1], units[i]) {
			grouped[units[i-1]], grouped[units[i]] = true, true
		}
	}
	return grouped
}

func sameGroup(a, b *dwarf.Unit) bool {
	return a.AbbrevOff == b.AbbrevOff && a.Section == b.Section
}

// chunksPerThread is the least number of chunks that each thread converts, if there are that many
// units. Then no thread waits long for the last one.
const chunksPerThread = 16

// chunks divides units into chunks, which threads convert one after another, and returns where each
// chunk ends. A chunk of several units has units of one group, and about size bytes or fewer.
func chunks(units []*dwarf.Unit, size uint64) (ends []int) {
	sum := uint64(0)
	for i, u := range units {
		if sum += u.Len; i+1 == len(units) || sum+units[i+1].Len > size || !sameGroup(u, units[i+1]) {
			ends, sum = append(ends, i+1), 0
		}
	}
	return ends
}

func (g *group) has(h *dwarf.Unit) bool { return g.first != nil && sameGroup(g.first, h) }

// note adds u, which was just loaded, if it belongs to the group.
func (g *group) note(u *unit) {
	if g.has(u.r.Unit) {
		g.units = append(g.units, u)
	}
}

// enterGroup prepares c for the conversion of unit h: it unloads the units of the last group,
// unless h belongs to it.
func (c *converter) enterGroup(h *dwarf.Unit) {
	g := &c.neighbours.group
	if g.has(h) {
		return
	}
	if g.pins != nil && len(g.pins.store.g.Nodes) > maxKeptNodes {
		g.pins = nil
	}
	if len(g.units) > 0 {
		for _, u := range g.units {
			delete(c.neighbours.others, u.r.Unit)
			u.r.Forget()
		}
		c.scratch.units = append(c.scratch.units, g.units...)
		g.units, c.neighbours.recent = g.units[:0], nil
		c.forgetReached()
	}
	g.first = nil
	if c.in.grouped[h] {
		g.first = h
	}
}

// newUnit returns memory for unit h.
func (c *converter) newUnit(h *dwarf.Unit) *unit {
	var u *unit
	if n := len(c.scratch.units); n > 0 && c.neighbours.group.has(h) {
		u, c.scratch.units = c.scratch.units[n-1], c.scratch.units[:n-1]
		u.declares = nil
	} else {
		u = &unit{c: c, origins: make(map[uint32]bool)}
	}
	u.number = c.neighbours.number(h)
	u.r.Share(c.neighbours.tables)
	u.prints.Merged, u.prints.File = c.own.prints.Merged, c.own.prints.File
	return u
}
