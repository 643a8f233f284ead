package dwarf

import (
	"errors"
	"math"
	"sync/atomic"
)

// Entries and tables may be referred to from any number of places, so a damaged or hostile file of
// modest size can ask for any amount of work, with overlapping lists of children, or abbreviation
// tables that begin inside others. What a compiler writes is read a few times. These bounds lie in
// between.
const (
	workPerByte = 64      // entries read for each byte of .debug_info
	workFloor   = 1 << 22 // entries read of the smallest file
	scanPerByte = 64      // bytes of abbreviation tables for each byte of .debug_info
	scanFloor   = 1 << 26
	// types of all units together, where those that import the same partial unit have its types each
	typesPerByte = 8
	typesFloor   = 3 << 22
)

// Budget is how much of its budget the reading of a file may use.
type Budget int64

const (
	// Whole is for readers that read one after the other, so that the work depends on the file alone.
	Whole Budget = 1
	// Part is for readers on several threads, which repeat some of the work. It is so small that a
	// file within it is also within Whole when it is read in order.
	Part Budget = 4
	// Unlimited is for a file that was read within Whole before.
	Unlimited Budget = -1
)

// Restart makes d forget what was read of it, and gives it a budget. A new Data has Whole.
func (d *Data) Restart(b Budget) {
	d.budget = b
	d.entries.Store(0)
	d.scanned.Store(0)
	d.types.Store(0)
}

// allows reports whether n is within the budget of a file, if most is that of Whole.
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

// Size is that of all units, in bytes, those of the supplementary file included.
func (d *Data) Size() uint64 { return d.size }

// Take counts the types of a unit that was read.
func (r *Reader) Take(n int) error {
	// this depends on the file alone, so no part of the budget is enough
	if r.D.budget == Unlimited || r.D.types.Add(int64(n)) <= typesFloor+typesPerByte*int64(r.D.size) {
		return nil
	}
	return r.Spent(r.Root.Off, "the units up to this one, with what they import of each other, "+
		"have more than %d types; undo what dwz has done", typesFloor+typesPerByte*r.D.size)
}

// Spent is an error at a DIE of the unit: that the budget of the file is spent.
func (r *Reader) Spent(off uint32, format string, args ...any) error {
	return &spentError{r.Errorf(off, format, args...)}
}

type spentError struct{ error }

func (e *spentError) Unwrap() error { return e.error }

// IsSpent reports whether an error is that the budget of the file is spent.
func IsSpent(err error) bool {
	var e *spentError
	return errors.As(err, &e)
}

// spending is what is spent of a file's budget.
type spending struct {
	entries atomic.Int64 // that may have been read
	scanned atomic.Int64 // bytes of abbreviation tables
	types   atomic.Int64 // of the units that have been read
	budget  Budget
}

// spend takes more of the file's budget for this Reader.
func (r *Reader) spend(off uint32) error {
	r.work = 64 + int64(len(r.buf))/8
	if r.D.allows(r.D.entries.Add(r.work), workFloor+workPerByte*int64(r.D.size)) {
		return nil
	}
	return r.Spent(off, "the unit's entries overlap or refer to each other in a way that no "+
		"compiler writes; the file is damaged")
}

// Tables are compiled abbreviation tables, for Readers that stay loaded with one unit each. It is
// for one goroutine.
type Tables map[tableKey]*abbrevTable

type tableKey struct {
	off uint64
	f   format
}

// Share makes r, which has not loaded a unit yet, use and extend t.
func (r *Reader) Share(t Tables) { r.tables = t }

// loadAbbrevs makes the abbreviation table of the unit available.
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
