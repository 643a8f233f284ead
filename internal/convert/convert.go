package convert

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/params"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Options say what is converted and how.
type Options struct {
	Features    features.Set
	LangExclude map[uint64]bool // DW_LANG codes, see ParseLanguages
	Jobs        int             // threads; the result doesn't depend on it
	// Progress, when set, is called now and then with the number of units done and of all. It must be safe to call
	// from several threads.
	Progress func(done, all int)
	// SkipUnencodable leaves out units with something that BTF has no word for. Without it that is an error.
	SkipUnencodable bool
	// Warn, when set, is called with a line for each unit that is left out for that reason, in the order of the file,
	// before File returns.
	Warn func(line string)
	// Shard is the part of the units to convert. Of a shard without units File gives an object without units.
	Shard Shard
	// Each, when set, is called with an object of each unit, and the unit's number among the compilation units of the
	// file, from 0. It is called from several threads, in any order, and must not keep the object, which shares memory with others.
	Each func(number int, o *object.Object) error
	// Counts, when set, is added to by File. It is for one call at a time.
	Counts *Counts
}

// Counts are how many units of which kind there are in the files that were converted.
type Counts struct {
	Units       int    // compilation units that were converted
	Excluded    int    // those left out for their language
	Unencodable int    // those left out because BTF has no word for something in them
	Partial     int    // partial units, which others import
	Types       int    // type units
	Bytes       uint64 // of all of them, uncompressed
}

// File converts the DWARF of f. Its parts, one a thread, are for object.Merge, in any order.
//
// A relocatable file without any debugging information is an error where it has code or data that the compiler made;
// an assembler file or an empty one gives an object without units.
func File(f *elf.File, opt Options) ([]*object.Object, error) {
	d, err := dwarf.New(f)
	if err != nil {
		return nil, err
	}
	if len(d.Units) == 0 {
		if err := checkEmpty(f); err != nil {
			return nil, err
		}
	}
	var queue []*dwarf.Unit
	for i := range d.Units {
		if d.Units[i].Kind == dwarf.UnitCompile {
			queue = append(queue, &d.Units[i])
		}
	}
	single := len(queue) == 1
	begin, end := opt.Shard.of(queue)
	others := slices.Concat(queue[:begin], queue[end:])
	queue = queue[begin:end]
	jobs := max(1, min(opt.Jobs, len(queue)))
	size := 0
	for _, h := range queue {
		size += int(h.Len)
	}
	symbols := &symbols{file: f}
	var next atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() { symbols.load() })
	parts := make([]*object.Object, jobs)
	converters := make([]*converter, jobs)
	failed := make([]failure, jobs)
	skipped := make([][]failure, jobs)
	for j := range jobs {
		c := newConverter(d, &opt, symbols, size/jobs)
		c.single = single
		parts[j], converters[j] = c.obj, c
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(queue) {
					return
				}
				err := c.convert(queue[i])
				if err == nil && opt.Each != nil {
					err = c.each(begin + i)
				}
				if opt.SkipUnencodable && isUnencodable(err) {
					skipped[j] = append(skipped[j], failure{i, err})
					c.others = nil // they may be half read
					err = nil
				}
				if err != nil {
					failed[j] = failure{i, err}
					next.Store(int64(len(queue)))
					return
				}
				if c.unreleased += queue[i].Len; c.unreleased >= releaseEvery {
					c.unreleased = 0
					d.Release()
				}
				if opt.Progress != nil {
					opt.Progress(i+1, len(queue))
				}
			}
		}()
	}
	wg.Wait()
	if symbols.err != nil {
		return nil, symbols.err
	}
	first := failure{at: len(queue)}
	for _, f := range failed {
		if f.err != nil && f.at < first.at {
			first = f
		}
	}
	if first.err == nil && d.HasTypeUnits() && !single && opt.Shard.Index <= 1 {
		for _, s := range slices.Concat(skipped...) {
			others = append(others, queue[s.at])
		}
		orphans, err := newConverter(d, &opt, symbols, 0).convertOrphans(converters, others)
		if err != nil {
			return nil, err
		}
		parts = append(parts, orphans)
	}
	if first.err == nil && len(d.Units) > 0 && !slices.ContainsFunc(converters, func(c *converter) bool { return c.whole }) &&
		!converters[0].findsWhole(others) {
		return nil, fmt.Errorf("%s: the DWARF has partial units only: a supplementary file of dwz -m, which is not read; run dwz without -m", f.Path)
	}
	if first.err == nil && opt.Counts != nil {
		opt.Counts.add(d, converters, skipped)
	}
	if first.err == nil && opt.Warn != nil {
		all := slices.Concat(skipped...)
		slices.SortFunc(all, func(a, b failure) int { return a.at - b.at })
		for _, s := range all {
			opt.Warn(s.err.Error() + "; the unit is left out")
		}
	}
	return parts, first.err
}

// add counts the units of d, which the converters have read.
func (c *Counts) add(d *dwarf.Data, converters []*converter, skipped [][]failure) {
	for i := range d.Units {
		u := &d.Units[i]
		c.Bytes += u.Len
		switch u.Kind {
		case dwarf.UnitPartial:
			c.Partial++
		case dwarf.UnitType:
			c.Types++
		}
	}
	for i, by := range converters {
		c.Units += len(by.obj.Units)
		c.Excluded += by.excluded
		c.Unencodable += len(skipped[i])
		c.Partial += by.partial
	}
}

// failure is the error of one unit. Of several, that of the first unit is told.
type failure struct {
	at  int
	err error
}

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
