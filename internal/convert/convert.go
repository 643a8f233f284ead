package convert

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Options say what is converted and how.
type Options struct {
	Features    features.Set
	LangExclude map[uint64]bool // DW_LANG codes, see language.Parse
	// KABIPrefix, when set, replaces all names that begin with it (pahole's --kabi_prefix).
	KABIPrefix string
	// Input says which debugging information is wanted. File reads DWARF whatever it says.
	Input Input
	Jobs  int // threads, 0: one a processor; the result doesn't depend on it
	// Progress, when set, is called now and then with the number of units done and of all. It must
	// be safe to call from several threads.
	Progress func(done, all int)
	// SkipUnencodable leaves out units with types that BTF can't express. Without it they are an
	// error.
	SkipUnencodable bool
	// Warn, when set, is called before File returns, in the order of the file, with a line for each
	// unit that is left out for that reason, and for each that may have the type units of another
	// unit.
	Warn func(line string)
	// Units, when set, are the compilation units to convert, by their place among those of the
	// file, from 0. Type units that none of them refers to are left out.
	Units []int
	// Each, when set, is called with an object of each unit, and the unit's number among the
	// compilation units of the file, from 0, or its place in Units. It is called from several
	// threads, in any order, and must not keep the object, which shares memory with others.
	Each func(number int, o *object.Object) error
	// Split finds the units of split DWARF; nil looks in the usual places.
	Split *splitdwarf.Finder
	// Shared, when set, reuses the results of other conversions of relocatable files. The conversion
	// then runs on one thread, and converts the whole file.
	Shared *Shared
	// Shapers, when set, is the same for BTF from a compiler.
	Shapers *object.Shapers
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

// File converts the DWARF of f.
//
// A relocatable file without any debugging information is an error where it has code or data that
// the compiler made; an assembler file or an empty one gives an object without units.
func File(f *elf.File, opt Options) (*object.Object, error) {
	d, err := dwarf.New(f)
	if err != nil {
		return nil, err
	}
	d.Prefix = []byte(opt.KABIPrefix)
	if len(d.Units) == 0 {
		if err := CheckEmpty(f); err != nil {
			return nil, err
		}
	}
	files := opt.Split.Of(f, opt.KABIPrefix)
	defer files.Close()
	w, err := convertUnits(input{d: d, opt: &opt, files: files})
	if err != nil {
		return nil, err
	}
	if !w.hasComplete() {
		return nil, fmt.Errorf("%s: the DWARF has partial units only: a supplementary file of dwz "+
			"-m; give the files that refer to it, and this one with --alt", f.Path)
	}
	if opt.Counts != nil {
		opt.Counts.add(d, w.threads, w.skipped())
	}
	if opt.Warn != nil {
		for _, line := range w.warnings {
			opt.Warn(line)
		}
		for _, s := range w.skipped() {
			opt.Warn(s.err.Error() + "; the unit is left out")
		}
		for _, s := range w.collect(func(c *converter) []failure { return c.out.doubtful }) {
			opt.Warn(s.err.Error())
		}
	}
	return w.object()
}

// Add adds the counts of other files.
func (c *Counts) Add(o *Counts) {
	c.Units += o.Units
	c.Excluded += o.Excluded
	c.Unencodable += o.Unencodable
	c.Partial += o.Partial
	c.Types += o.Types
	c.Bytes += o.Bytes
}

// add counts the units of d, which the converters have read.
func (c *Counts) add(d *dwarf.Data, converters []*converter, skipped []failure) {
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
	for _, by := range converters {
		c.Units += len(by.out.units)
		c.Excluded += by.out.excluded
		c.Partial += by.out.partial
		c.Bytes += by.out.split
	}
	c.Unencodable += len(skipped)
}
