package convert

import (
	"bytes"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// converter is one thread's work: a part of the units, in an object of its own.
type converter struct {
	d       *dwarf.Data
	opt     *Options
	obj     *object.Object
	g       *types.Graph
	symbols *symbols
	names   nameCache
	roots   byPrint[root]
	known   byPrint[types.ID] // what references mean
	main    unit

	others   map[*dwarf.Unit]*unit // units that were referred to
	tables   dwarf.Tables          // of the others
	imported map[*unit]bool
	imports  []*unit // of imported, those still to be walked
	reached  map[typeRef]bool
	clang    bool                 // the unit's producer is clang
	single   bool                 // there is one compilation unit
	orphans  []*dwarf.Unit        // of that
	met      map[*dwarf.Unit]bool // type units that were referred to
	whole    bool                 // a unit was met that is no partial one
	excluded int                  // units of excluded languages
	partial  int                  // partial units of DWARF 4, whose headers don't tell
	told     int                  // units of obj that opt.Each was called with
	failed   failure              // what ended the thread
	skipped  []failure            // units that were left out

	// defs are the entries of tagged definitions, and conflict tells that two of them define one tag differently. Then
	// the unit is read again, pinned.
	defs     []typeRef
	conflict bool
	pinned   bool

	serial uint32 // of the unit that is read
	file   types.Str
	seen   []stamp
	items  []types.ID

	unreleased uint64 // bytes of units read since memory was let go

	// scratch space
	top, die, child, note dwarf.DIE
	elems                 []elem
	params                []params.Param
	origins               []typeRef
	refs                  []typeRef
	locations             [][]byte
	lastSection           *elf.Section
}

// stamp says in which unit a node was last an item; for a stub, in which unit its tag was last defined, and as what.
type stamp struct {
	serial uint32
	id     types.ID
}

// releaseEvery is how many bytes of units a thread reads before memory behind them is let go.
const releaseEvery = 8 << 20

// bytesPerNode is how many bytes of units add a node to the graph, in a large file: 1,600 in a Linux kernel by one thread, 1,400 by two.
const bytesPerNode = 1400

// newConverter returns one for about size bytes of units.
func newConverter(d *dwarf.Data, opt *Options, symbols *symbols, size int) *converter {
	target := object.Target{AddrSize: d.File.AddrSize, Order: d.File.Order, Machine: uint16(d.File.Machine)}
	obj := object.New(target, opt.Features)
	obj.Graph = types.NewSized(size / bytesPerNode)
	c := &converter{d: d, opt: opt, obj: obj, g: obj.Graph, symbols: symbols, names: newNameCache(), roots: newByPrint[root](), known: newByPrint[types.ID]()}
	c.main.c = c
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
	u := &unit{c: c}
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
	c.defs, c.conflict = c.defs[:0], false
	c.imported, c.imports = nil, c.imports[:0]
	clear(c.reached)
	producer, _ := c.main.r.String(&c.main.r.Root, dwarf.Producer)
	c.clang = bytes.Contains(producer, []byte("clang"))
	c.file = c.g.Strs.Intern([]byte(file))
}

// end adds the environment to the object.
func (c *converter) end() {
	c.obj.Units = append(c.obj.Units, object.Unit{File: c.file, Count: 1, Items: append([]types.ID(nil), c.items...)})
}

// item adds a root to the unit's environment. For the definition of a tag, stub is that tag's; item then tells whether
// the unit has defined it otherwise before.
func (c *converter) item(id, stub types.ID) (conflict bool) {
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
		c.seen = append(c.seen, make([]stamp, len(c.g.Nodes)+len(c.g.Nodes)/2-len(c.seen)+1)...)
	}
	return &c.seen[id]
}
