package convert

import (
	"bytes"
	"slices"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// converter is one thread's work.
type converter struct {
	*store
	d       *dwarf.Data
	opt     *Options
	symbols *symbols
	units   []environment // that were converted
	names   nameCache
	main    unit

	others    map[*dwarf.Unit]*unit // units that were referred to
	tables    dwarf.Tables          // of the others
	imported  map[*unit]bool
	imports   []*unit       // of imported, those still to be taken
	recording *declarations // of the imported unit that is walked over; else nil
	reached   map[typeRef]bool
	clang     bool                 // the unit's producer is clang
	single    bool                 // there is one compilation unit
	met       map[*dwarf.Unit]bool // type units that were referred to
	whole     bool                 // a unit was met that is no partial one
	excluded  int                  // units of excluded languages
	partial   int                  // partial units of DWARF 4, whose headers don't tell
	failed    failure              // what ended the thread
	skipped   []failure            // units that were left out

	// the unit defines a tag in several ways; pinner then reads it again
	conflict bool
	pinner   *converter
	pinned   bool // this is a pinner: every reference to a tag says which entry defines it

	// byName is set when a type's shape takes a value, such as a size, from a struct, union or enum
	// that its fingerprint holds by name only. Then equal fingerprints don't mean equal shapes.
	byName bool

	serial uint32 // of the unit that is read
	file   string
	seen   []stamp
	items  []types.ID

	candidates []candidate // functions to be added

	unreleased uint64 // bytes of units read since memory was let go

	// scratch space
	top, die, child, note dwarf.DIE
	function              function
	elems                 []elem
	built                 []types.Elem // the elements of nodes that are being built
	params                []params.Param
	places                []*dwarf.Parameter // of params
	origins               []typeRef          // of params
	refs                  []typeRef          // the types of params
	locations             [][]byte           // of params, in expressions
	expressions           []byte
	lastSection           *elf.Section
}

// environment is what the compilation unit of a number declares.
type environment struct {
	number int
	object.Unit
}

// stamp says in which unit a node was last an item; for a stub, in which unit its tag was last
// defined, and as what.
type stamp struct {
	serial uint32
	id     types.ID
}

// releaseEvery is how many bytes of units a thread reads before memory behind them is let go.
const releaseEvery = 8 << 20

func newConverter(d *dwarf.Data, opt *Options, symbols *symbols, s *store) *converter {
	c := &converter{store: s, d: d, opt: opt, symbols: symbols}
	c.main.c = c
	if s != nil {
		c.names = newNameCache(s.size)
	}
	return c
}

// foreign returns unit h for references from another unit.
func (c *converter) foreign(h *dwarf.Unit) (*unit, error) {
	if h == c.main.r.Unit {
		return &c.main, nil
	}
	if u, ok := c.others[h]; ok {
		return u, nil
	}
	u := &unit{c: c, number: uint32(len(c.others) + 1)}
	u.r.Share(&c.tables)
	u.prints.Share(&c.main.prints)
	if err := u.load(h); err != nil {
		return nil, err
	}
	if c.others == nil {
		c.others = make(map[*dwarf.Unit]*unit)
	}
	if h.Kind == dwarf.UnitType {
		if c.met == nil {
			c.met = make(map[*dwarf.Unit]bool)
		}
		c.met[h] = true
	}
	c.others[h] = u
	return u, nil
}

// begin starts the environment of a unit.
func (c *converter) begin(file string) {
	c.serial++
	c.items, c.elems = c.items[:0], c.elems[:0]
	c.conflict = false
	c.imported, c.imports = nil, c.imports[:0]
	clear(c.reached)
	producer, _ := c.main.r.String(&c.main.r.Root, dwarf.Producer)
	c.clang = bytes.Contains(producer, []byte("clang"))
	c.file, c.candidates = file, c.candidates[:0]
}

// end adds the environment, of the unit of that number.
func (c *converter) end(number int) {
	c.lock()
	file := c.g.Strs.Intern([]byte(c.file))
	c.mu.Unlock()
	c.units = append(c.units, environment{number, object.Unit{File: file, Count: 1,
		Items: slices.Clone(c.items)}})
}

// item adds a root to the unit's environment. For the definition of a tag, stub is that tag's; item
// then tells whether the unit has defined it otherwise before.
func (c *converter) item(id, stub types.ID) (conflict bool) {
	if c.recording != nil {
		c.recording.roots = append(c.recording.roots, root{id, stub})
	}
	if stub != 0 {
		s := c.stamp(stub)
		if s.serial != c.serial {
			*s = stamp{c.serial, id}
			c.items = append(c.items, id)
			return false
		}
		if s.id == id {
			return false
		}
		conflict = true
	}
	s := c.stamp(id)
	if s.serial != c.serial {
		*s = stamp{c.serial, id}
		c.items = append(c.items, id)
	}
	return conflict
}

func (c *converter) stamp(id types.ID) *stamp {
	if int(id) >= len(c.seen) {
		c.seen = append(c.seen, make([]stamp, int(id)+int(id)/2-len(c.seen)+64)...)
	}
	return &c.seen[id]
}
