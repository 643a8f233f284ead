package dwarf

import (
	"errors"
	"math"
	"sync/atomic"
)

// Entries and tables may be referred to from any number of places. So a damaged or hostile file of
// modest size can cause any amount of work: it may have overlapping lists of children, or
// abbreviation tables that begin inside others. In the output of a compiler, each entry is read
// only a few times. The limits lie between these extremes. They bound memory as well, because a
// conversion keeps a bounded number of records for each entry that it reads, and typesPerByte
// limits what units import from each other.
const (
	workPerByte = 64      // entries that may be read for each byte of .debug_info
	workFloor   = 1 << 22 // entries that may be read even in the smallest file
	scanPerByte = 64      // bytes of abbreviation tables for each byte of .debug_info
	scanFloor   = 1 << 26
	// types in all units together; those in a partial unit count once for each unit that imports it
	typesPerByte = 8
	typesFloor   = 3 << 22
)

// Budget is the share of a file's work limits that its readers may use.
type Budget int64

const (
	// Whole is for readers that run one after another, so that the work depends only on the file.
	Whole Budget = 1
	// Part is a quarter of Whole. It is for readers on several threads, which repeat some of the work.
	// A file that stays within Part also stays within Whole when its units are read in order.
	Part Budget = 4
	// Unlimited is for a file that has already been read within the budget Whole.
	Unlimited Budget = -1
)

// Restart resets the work counted for d, and sets d's budget. A new Data has the budget Whole.
func (d *Data) Restart(b Budget) {
	d.budget = b
	d.entries.Store(0)
	d.scanned.Store(0)
	d.types.Store(0)
}

// allows reports whether n is within the budget of d. The parameter most is the limit for Whole.
// Rule: damaged or hostile DWARF: how much work and memory it may cost.
func (d *Data) allows(n, most int64) bool {
	return d.budget == Unlimited || n <= most/int64(max(d.budget, Whole))
}

// Share scales the limit n, which is for the budget Whole, to the budget of d.
func (d *Data) Share(n int) int {
	if d.budget == Unlimited {
		return math.MaxInt
	}
	return n / int(max(d.budget, Whole))
}

// Size is the size of all units in bytes, including those of the supplementary file.
func (d *Data) Size() uint64 { return d.size }

// Take counts n types of the loaded unit against the file's budget.
func (r *Reader) Take(n int) error {
	// the number of types depends only on the file, so Part has the same limit as Whole
	if r.D.budget == Unlimited || r.D.types.Add(int64(n)) <= typesFloor+typesPerByte*int64(r.D.size) {
		return nil
	}
	return r.Spent(r.Root.Off, "the units up to this one import more than %d types from each other; "+
		"convert the file before dwz processes it", typesFloor+typesPerByte*r.D.size)
}

// Spent returns an error at a DIE of the unit. For such an error, IsSpent returns true.
func (r *Reader) Spent(off uint32, format string, args ...any) error {
	return &spentError{r.Errorf(off, format, args...)}
}

type spentError struct{ error }

func (e *spentError) Unwrap() error { return e.error }

// IsSpent reports whether an error means that the budget of the file is spent.
func IsSpent(err error) bool {
	var e *spentError
	return errors.As(err, &e)
}

type spending struct {
	entries atomic.Int64 // at least the number of entries that have been read
	scanned atomic.Int64 // bytes of abbreviation tables
	types   atomic.Int64 // of the units that have been read
	budget  Budget
}

// spend reserves more of the file's budget for this Reader.
func (r *Reader) spend(off uint32) error {
	r.work = 64 + int64(len(r.buf))/8
	if r.D.allows(r.D.entries.Add(r.work), workFloor+workPerByte*int64(r.D.size)) {
		return nil
	}
	return r.Spent(off, "the unit's entries overlap or refer to each other in a way that no "+
		"compiler writes; the file is damaged")
}

// Repeat counts n entries against the file's budget: those whose references were read before, and
// are now followed again.
func (r *Reader) Repeat(n int) error {
	r.work -= int64(n)
	if r.work >= 0 {
		return nil
	}
	r.D.entries.Add(-r.work) // what is more than spend reserves
	return r.spend(r.Root.Off)
}

// Tables has compiled abbreviation tables for several Readers, each of which keeps one unit loaded.
// Only one goroutine may use it. The zero value is ready to use.
type Tables struct {
	byKey map[tableKey]*abbrevTable
	last  abbrevTable // the last one that was compiled
}

type tableKey struct {
	off uint64
	f   format
}

// Share makes r use the tables in t, and add its tables to t. r must not have loaded a unit yet.
func (r *Reader) Share(t *Tables) { r.tables = t }

func (r *Reader) loadAbbrevs() error {
	key := tableKey{r.Unit.AbbrevOff, r.f}
	if r.tables != nil {
		if t, ok := r.tables.byKey[key]; ok {
			r.abbrevs = *t
			return nil
		}
		// other Readers have the memory of the last table, but not of its map
		r.abbrevs = abbrevTable{f: r.tables.last.f, compiled: r.tables.last.compiled}
	}
	fresh := !r.abbrevs.valid || r.abbrevs.off != key.off || r.abbrevs.f != key.f
	if err := r.abbrevs.compile(r.in, key.off, r.f); err != nil {
		return err
	}
	if fresh {
		scanned := r.D.scanned.Add(int64(r.abbrevs.size))
		if !r.D.allows(scanned, scanFloor+scanPerByte*int64(r.D.size)) {
			return &spentError{r.in.damaged(".debug_abbrev", key.off, "the units' abbreviation tables "+
				"overlap in a way that no compiler writes")}
		}
	}
	if r.tables != nil {
		t := r.abbrevs
		if r.tables.byKey == nil {
			r.tables.byKey = make(map[tableKey]*abbrevTable)
		}
		r.tables.byKey[key], r.tables.last = &t, t
	}
	return nil
}

// RefersOut reports whether entries of the unit may refer to other units.
func (r *Reader) RefersOut() bool { return r.abbrevs.refersOut }
