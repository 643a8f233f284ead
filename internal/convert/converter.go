package convert

import (
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// converter is the state of one thread.
type converter struct {
	store      *store       // the types that all threads have found
	in         input        // what is converted, and how
	current    unitContents // of the unit that is being converted
	out        outcome      // the result for the units that have been converted
	main       *unit        // the unit that is being converted: own, or a unit of neighbours.group
	own        unit         // reused for one unit after another
	neighbours neighbours   // the units to which main refers
	reached    reached      // what the units in neighbours refer to
	scratch    scratch

	single  bool // the file has one compilation unit
	pinned  bool // every reference to a tag names the entry that defines the tag, see pinReader
	repeats repeats
	sites   *sites // nil if nobody wants them
	// uncovered counts how often something was read that a type's fingerprint doesn't cover: a
	// declaration tag, which is a separate item, or a value (such as the size) of another struct,
	// union or enum, of which the fingerprint covers only the name. If the count changes while a type
	// is read, a different type may have the same fingerprint.
	uncovered int
}

type input struct {
	d       *dwarf.Data
	opt     *Options
	symbols *symbols
	files   *splitdwarf.Files // finds the split units of skeleton units
	pins    *pins
	grouped map[*dwarf.Unit]bool // the units that share an abbreviation table with a neighbour
	chosen  []int                // see EachUnit
	each    func(number int, o *object.Object) error
}

func (in *input) has(f features.Set) bool { return in.opt.Features.Has(f) }

// neighbours are the units of one file, which may refer to each other. That file is the one that is
// being converted, except that a split unit's file replaces it while the split unit is converted.
type neighbours struct {
	others   map[*dwarf.Unit]*unit // units to which other units referred, and those in group
	tables   *dwarf.Tables         // the tables of the units in others
	referred map[*dwarf.Unit]bool  // type units to which other units referred
	numbers  map[*dwarf.Unit]uint32
	recent   *unit // the one of others that was looked up last

	group group
}

func newNeighbours() neighbours {
	return neighbours{others: make(map[*dwarf.Unit]*unit), tables: &dwarf.Tables{},
		referred: make(map[*dwarf.Unit]bool), numbers: make(map[*dwarf.Unit]uint32)}
}

// number returns a unit's number: 1 for the first unit that is passed to number, and so on.
func (n *neighbours) number(h *dwarf.Unit) uint32 {
	if n.numbers[h] == 0 {
		n.numbers[h] = uint32(len(n.numbers) + 1)
	}
	return n.numbers[h]
}

type outcome struct {
	units     []numberedUnit
	complete  bool      // a unit that isn't partial was found
	excluded  int       // units in excluded languages
	partial   int       // partial units in DWARF 4, whose headers don't mark them
	failed    failure   // the error that ended the thread
	skipped   []failure // units that were left out
	doubtful  []failure // units whose type units may have been replaced, see noteSignatures
	losses    losses
	undropped uint64 // bytes in the units that were read since pages were last dropped
	split     uint64 // bytes of split units
}

type scratch struct {
	subprogram  dwarf.DIE    // the subprogram that is being visited
	function    function     // the function to which subprogram belongs
	elems       []elem       // the elements of descriptions
	built       []types.Elem // the elements of nodes that are being added
	parameters  parameters
	lastSection *elf.Section // the section in which the last variable was found
	parter      types.Parter
	units       []*unit // to be reused in groups
	inlined     []foundFunction
}

// dropEvery is how many bytes of units a thread reads before their pages are dropped.
const dropEvery = 8 << 20

func newConverter(in input, s *store) *converter {
	c := &converter{store: s}
	c.own = unit{c: c, origins: make(map[uint32]bool)}
	c.main = &c.own
	c.start(in)
	if s != nil {
		c.current.nodes = roomFor(s.size)
	}
	return c
}

func (c *converter) start(in input) {
	c.in, c.neighbours, c.reached, c.out = in, newNeighbours(), reached{}, outcome{}
	c.sites = nil
	c.own.prints.Merged = !in.d.File.Relocatable()
	if in.opt.Want != Types {
		c.sites = newSites(in)
	}
	c.current.imported, c.scratch.lastSection = make(map[*unit]bool), nil
}

// restart prepares c for the file with the given number.
func (c *converter) restart(in input, number uint64) {
	c.start(in)
	c.main = &c.own
	c.main.r.Forget()
	c.main.prints.Forget(number)
}

// foreign returns unit h of d, to which another unit refers.
func (c *converter) foreign(d *dwarf.Data, h *dwarf.Unit) (*unit, error) {
	if h == c.main.r.Unit {
		return c.main, nil
	}
	if u, ok := c.neighbours.others[h]; ok {
		return u, nil
	}
	u := c.newUnit(h)
	if err := u.load(d, h); err != nil {
		return nil, err
	}
	if h.Kind == dwarf.UnitType {
		c.neighbours.referred[h] = true
	}
	c.neighbours.others[h] = u
	c.neighbours.group.note(u)
	return u, nil
}

// forgetOthers drops the units to which a failed unit refers: some may have been read only in part.
func (c *converter) forgetOthers() {
	clear(c.neighbours.others)
	c.neighbours.group, c.neighbours.recent = group{}, nil
	c.forgetReached()
}
