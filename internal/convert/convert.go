package convert

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Options say what is converted and how.
type Options struct {
	Features    features.Set
	LangExclude map[uint64]bool // DW_LANG codes, see language.Parse
	// KABIPrefix, when set, replaces each name of which it is a prefix (pahole's --kabi_prefix).
	KABIPrefix string
	Want       Want
	Jobs       int // number of threads (0: one per processor), which doesn't affect the result
	// Progress, when set, is called from time to time with the number of units done so far and the
	// number of all units. It must be safe to call from several threads.
	Progress func(done, all int)
	// Warn, when set, is called before File returns, with one message for each unit that was left out
	// because of the feature skip_unencodable, and one for each unit whose type units may have been
	// replaced with another unit's (see noteSignatures), in the order of the units in the file. Up to
	// two more messages are about the whole file (see losses.go).
	Warn func(line string)
	// SplitDWARF finds the units of split DWARF; nil means to search where compilers and dwp write
	// them.
	SplitDWARF *splitdwarf.Finder
	// Shared, when set, lets conversions of relocatable files reuse each other's results. Such a
	// conversion runs on one thread, and converts the whole file.
	Shared *Shared
}

// Want says what is wanted of a file.
type Want uint8

// The choices. Only DWARF has the sites at which functions were inlined.
const (
	Types         Want = iota // the object
	TypesAndSites             // the object and the sites
	OnlySites                 // the sites, and an object without functions and variables
)

// Result is what was converted.
type Result struct {
	*object.Object
	Sites  *inlines.Sites // nil if only the object was wanted; the graph is that of the object
	Counts Counts
}

// Counts are the numbers of units in the converted files, by kind.
type Counts struct {
	Units       int    // compilation units that were converted
	Excluded    int    // units left out because of their language
	Unencodable int    // units left out because BTF can't express something in them
	Partial     int    // partial units, which other units import
	Types       int    // type units
	Bytes       uint64 // size of all units, uncompressed
}

// File converts the DWARF of f.
//
// If a relocatable file has code or data from a compiler, but no debugging information, File fails.
// For a file from an assembler or an empty file, it returns an object without units.
func File(f *elf.File, opt Options) (*Result, error) {
	d, err := dwarf.New(f)
	if err != nil {
		return nil, err
	}
	return DWARF(d, opt)
}

// DWARF is File for callers that have listed the file's units.
func DWARF(d *dwarf.Data, opt Options) (*Result, error) {
	w, err := convertData(d, opt, nil, nil)
	if err != nil {
		return nil, err
	}
	r := &Result{Counts: w.counts()}
	if opt.Want == Types {
		r.Object, err = w.object(nil) // from now on, another conversion may use the converters
		return r, err
	}
	var file inlines.File
	var failed error
	parallel.All(opt.Jobs, func() {
		r.Sites = w.joinSites()
		r.Object, err = w.object(r.Sites)
	}, func() { file, failed = inlines.Describe(d.File) })
	r.Sites.File = file
	return r, cmp.Or(failed, err)
}

// EachUnit converts the compilation units of f one by one. It calls do for each unit, with an
// object of this one unit. The list units has the indexes of the units to convert, counted from 0
// in the order of the file, and number is an index in this list; nil means all units, and number is
// then the index of the unit. Type units to which none of the listed units refers are left out.
//
// Several threads call do, in any order. It must not keep the object, which shares memory with
// other objects.
func EachUnit(f *elf.File, opt Options, units []int,
	do func(number int, o *object.Object) error) error {
	d, err := dwarf.New(f)
	if err != nil {
		return err
	}
	_, err = convertData(d, opt, units, do)
	return err
}

// convertData converts units, and calls opt.Warn with all messages. The parameters chosen and each
// are those of EachUnit; nil if all units become one object.
func convertData(d *dwarf.Data, opt Options, chosen []int,
	each func(number int, o *object.Object) error) (*work, error) {
	f := d.File
	d.Prefix = []byte(opt.KABIPrefix)
	if len(d.Units) == 0 {
		if err := CheckEmpty(f); err != nil {
			return nil, err
		}
	}
	files := opt.SplitDWARF.Of(f, opt.KABIPrefix)
	defer files.Close()
	w, err := convertUnits(input{d: d, opt: &opt, files: files, chosen: chosen, each: each})
	if err != nil {
		return nil, err
	}
	if !w.hasComplete() {
		return nil, fmt.Errorf("%s: the DWARF has only partial units: this is a supplementary file of "+
			"dwz -m; pass the files that refer to it, and this file with --debug-file", f.Path)
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
		w.warnOfLosses(opt.Warn)
	}
	return w, nil
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

// counts counts the file's units, which the converters have read.
func (w *work) counts() (c Counts) {
	for i := range w.d.Units {
		u := &w.d.Units[i]
		c.Bytes += u.Len
		switch u.Kind {
		case dwarf.UnitPartial:
			c.Partial++
		case dwarf.UnitType:
			c.Types++
		}
	}
	for _, by := range w.threads {
		c.Units += len(by.out.units)
		c.Excluded += by.out.excluded
		c.Partial += by.out.partial
		c.Bytes += by.out.split
	}
	c.Unencodable = len(w.skipped())
	return c
}
