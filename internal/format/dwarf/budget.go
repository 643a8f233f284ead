package dwarf

import (
	"errors"
	"math"
	"sync/atomic"
)

// Entries and tables may be referred to from any number of places. So a damaged or hostile file of
// modest size can cause any amount of work: it may have overlapping lists of children, or
// abbreviation tables that begin inside others. In the output of a compiler, each entry is read
// only a few times. These limits are in between. They bound memory as well, because a conversion
// keeps a bounded number of records for each entry that it reads, and typesPerByte limits what
// units import from each other.
const (
	workPerByte = 64      // entries read for each byte of .debug_info
	workFloor   = 1 << 22 // entries read of even the smallest file
	scanPerByte = 64      // bytes of abbreviation tables for each byte of .debug_info
	scanFloor   = 1 << 26
	// types of all units together; the types of a partial unit count for each unit that imports it
	typesPerByte = 8
	typesFloor   = 3 << 22
)

// Budget is how much of the budget of a file its readers may use.
type Budget int64

const (
	// Whole is for readers that run one after the other, so that the work depends on the file alone.
	Whole Budget = 1
	// Part is for readers on several threads, which repeat some of the work. It is so small that a
	// file that stays within Part also stays within Whole when it is read in order.
	Part Budget = 4
	// Unlimited is for a file that has already been read within the budget Whole.
	Unlimited Budget = -1
)

// Restart resets what d has spent, and sets its budget. A new Data has the budget Whole.
func (d *Data) Restart(b Budget) {
	d.budget = b
	d.entries.Store(0)
	d.scanned.Store(0)
	d.types.Store(0)
}

// allows reports whether n is within the budget of d. The parameter most is the limit for Whole.
func (d *Data) allows(n, most int64) bool {
	return d.budget == Unlimited || n <= most/int64(max(d.budget, Whole))
}

// Share returns n, or less if d has only a part of the budget.
func (d *Data) Share(n int) int {
	if d.budget == Unlimited {
		return math.MaxInt
	}
	return n / int(max(d.budget, Whole))
}

// Size is the size of all units in bytes, including the supplementary file's.
func (d *Data) Size() uint64 { return d.size }

// Take counts n types of a unit that was read.
func (r *Reader) Take(n int) error {
	// the types depend on the file alone, so Part has the limit of Whole
	if r.D.budget == Unlimited || r.D.types.Add(int64(n)) <= typesFloor+typesPerByte*int64(r.D.size) {
		return nil
	}
	return r.Spent(r.Root.Off, "the units up to this one import more than %d types from each other; "+
		"convert the file as it was before dwz", typesFloor+typesPerByte*r.D.size)
}

// Spent returns the error that the budget of the file is spent, at a DIE of the unit.
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
	entries atomic.Int64 // no more entries than this have been read
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

// Tables are compiled abbreviation tables, for several Readers that each keep one unit loaded. It
// must be used by one goroutine only.
type Tables map[tableKey]*abbrevTable

type tableKey struct {
	off uint64
	f   format
}

// Share makes r use and extend t. r must not have loaded a unit yet.
func (r *Reader) Share(t Tables) { r.tables = t }

func (r *Reader) loadAbbrevs() error {
	key := tableKey{r.Unit.AbbrevOff, r.f}
	if t, ok := r.tables[key]; ok {
		r.abbrevs = *t
		return nil
	}
	fresh := !r.abbrevs.valid || r.abbrevs.off != key.off || r.abbrevs.f != key.f
	if err := r.abbrevs.compile(r.in, key.off, r.f); err != nil {
		return err
	}
	if fresh {
		scanned := r.D.scanned.Add(int64(r.abbrevs.size))
		if !r.D.allows(scanned, scanFloor+scanPerByte*int64(r.D.size)) {
			return &spentError{r.in.errorf(".debug_abbrev", key.off, "the units' abbreviation tables "+
				"overlap in a way that no compiler writes; the file is damaged")}
		}
	}
	if r.tables != nil {
		t := r.abbrevs
		r.tables[key] = &t
	}
	return nil
}

// RefersOut reports whether entries of the unit may refer to other units.
func (r *Reader) RefersOut() bool { return r.abbrevs.refersOut }
