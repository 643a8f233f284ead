package dwarf

// Entries and tables may be referred to from any number of places, so a damaged or hostile file of
// modest size can ask for any amount of work: lists of children that overlap, abbreviation tables
// that begin inside others. What a compiler writes is read a few times over. These are the bounds
// between the two.
const (
	workPerByte = 64      // entries read for each byte of .debug_info
	workFloor   = 1 << 22 // entries read of the smallest file
	scanPerByte = 64      // bytes of abbreviation tables for each byte of .debug_info
	scanFloor   = 1 << 26
)

// spending is what a Reader takes of the file's budget.
type spending struct {
	work    int64  // entries that may still be read before spend is asked
	scanned uint64 // bytes of abbreviation tables read so far
}

// spend takes more of the file's budget for this Reader.
func (r *Reader) spend(off uint32) error {
	r.work = 64 + int64(len(r.buf))/8
	if r.D.spent.Add(r.work) <= workFloor+workPerByte*int64(r.D.size) {
		return nil
	}
	return r.Errorf(off, "the unit's entries overlap or refer to each other in a way that no "+
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
		if r.scanned += r.abbrevs.size; r.scanned > scanFloor+scanPerByte*r.D.size {
			return r.in.errorf(".debug_abbrev", key.off,
				"the units' abbreviation tables overlap in a way that no compiler writes; the file is damaged")
		}
	}
	if r.tables != nil {
		t := r.abbrevs
		r.tables[key] = &t
	}
	return nil
}

// RefersOut tells whether entries of the unit may refer to other units.
func (r *Reader) RefersOut() bool { return r.abbrevs.refersOut }
