package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// converter is one thread's work.
type converter struct {
	store      *store      // what all threads have understood
	in         input       // what is converted, and how
	env        environment // of the unit that is converted
	out        outcome     // of the units before
	main       unit        // the unit that is converted
	neighbours neighbours  // the units that it refers to
	names      nameCache
	scratch    scratch

	single  bool // there is one compilation unit
	pinned  bool // every reference to a tag says which entry defines it, see pinReader
	repeats repeats
	// uncovered counts what was read that fingerprints don't cover: values, such as a size, that a
	// type's shape takes from a struct, union or enum, which a fingerprint holds by its name only;
	// and declaration tags, which are items besides the type. If it changes while a type is read,
	// types with an equal fingerprint need not be equal.
	uncovered int
}

// input is what is converted, and how.
type input struct {
	d       *dwarf.Data
	opt     *Options
	symbols *symbols
	files   *splitdwarf.Files // with the units that skeleton units stand for
	pins    *pins
}

// has reports whether a feature is asked for.
func (in *input) has(f features.Set) bool { return in.opt.Features.Has(f) }

// neighbours are the units that may refer to each other: those of a file, or of a file with its
// split units.
type neighbours struct {
	others   map[*dwarf.Unit]*unit // units that were referred to
	tables   dwarf.Tables          // of the others
	referred map[*dwarf.Unit]bool  // type units that were referred to
	numbers  map[*dwarf.Unit]uint32
}

func newNeighbours() neighbours {
	return neighbours{make(map[*dwarf.Unit]*unit), dwarf.Tables{}, make(map[*dwarf.Unit]bool),
		make(map[*dwarf.Unit]uint32)}
}

// number returns the number of a unit among those that were asked for, from 1.
func (n *neighbours) number(h *dwarf.Unit) uint32 {
	if n.numbers[h] == 0 {
		n.numbers[h] = uint32(len(n.numbers) + 1)
	}
	return n.numbers[h]
}

// outcome is what a thread has converted so far.
type outcome struct {
	units      []numberedUnit
	complete   bool      // a unit was found that is no partial one
	excluded   int       // units of excluded languages
	partial    int       // partial units of DWARF 4, whose headers don't tell
	failed     failure   // what ended the thread
	skipped    []failure // units that were left out
	doubtful   []failure // units whose type units may be those of others
	unreleased uint64    // bytes of units read since memory was let go
	split      uint64    // bytes of split units
}

// scratch is memory that is used again and again.
type scratch struct {
	subprogram  dwarf.DIE    // that is visited
	function    function     // that it is a part of
	elems       []elem       // of descriptions
	built       []types.Elem // of nodes that are being added
	parameters  parameters
	lastSection *elf.Section // in which a variable was found
	parter      types.Parter
	splitNames  nameCache // of the split unit that was converted last
}

// releaseEvery is how many bytes of units a thread reads before their memory is let go.
const releaseEvery = 8 << 20

func newConverter(in input, s *store) *converter {
	c := &converter{store: s}
	c.main = unit{c: c, origins: make(map[uint32]bool)}
	c.start(in)
	if s != nil && !s.shared {
		c.names.reset(s.size)
	}
	return c
}

// start makes c ready for a file.
func (c *converter) start(in input) {
	c.in, c.neighbours, c.out = in, newNeighbours(), outcome{}
	c.env.imported, c.scratch.lastSection = make(map[*unit]bool), nil
}

// restart is start for a converter of a shared store, which may have converted another file before.
// The units of the file, which has a number, have about size bytes.
func (c *converter) restart(in input, file uint64, size int) {
	c.start(in)
	c.names.reset(size)
	c.main.r.Forget()
	c.main.prints.Forget(file)
}

// foreign returns unit h of d for references from another unit.
func (c *converter) foreign(d *dwarf.Data, h *dwarf.Unit) (*unit, error) {
	if h == c.main.r.Unit {
		return &c.main, nil
	}
	if u, ok := c.neighbours.others[h]; ok {
		return u, nil
	}
	u := &unit{c: c, number: c.neighbours.number(h), origins: make(map[uint32]bool)}
	u.r.Share(c.neighbours.tables)
	u.prints.Share(&c.main.prints)
	if err := u.load(d, h); err != nil {
		return nil, err
	}
	if h.Kind == dwarf.UnitType {
		c.neighbours.referred[h] = true
	}
	c.neighbours.others[h] = u
	return u, nil
}
