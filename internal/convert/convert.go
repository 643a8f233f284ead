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
	// Input selects the kind of debugging information. This package ignores it, and reads DWARF.
	Input Input
	Jobs  int // number of threads (0: one per processor), which doesn't affect the result
	// Progress, when set, is called from time to time with the number of units done so far and the
	// number of all units. It must be safe to call from several threads.
	Progress func(done, all int)
	// SkipUnencodable leaves out units with types that BTF can't express, instead of failing. It is
	// the feature of that name, which isn't in Features: objects don't record it.
	SkipUnencodable bool
	// Warn, when set, is called before File returns, with one message for each unit that was left out
	// because of SkipUnencodable, and one for each unit whose type units may have been replaced with
	// another unit's (see noteSignatures), in the order of the units in the file. Up to two more
	// messages are about the whole file (see losses.go).
	Warn func(line string)
	// Units, if set, lists the indexes of the compilation units to convert, counted from 0 in the
	// order of the file. Type units to which none of these units refers are left out.
	Units []int
	// Each, when set, is called for each unit, with an object of this one unit. number is the unit's
	// index in the list Units if that list is set, otherwise its index among the compilation units of
	// the file. Several threads call Each, in any order. The function must not keep the object, which
	// shares memory with other objects.
	Each func(number int, o *object.Object) error
	// Split finds the units of split DWARF; nil means to search where compilers and dwp write them.
	Split *splitdwarf.Finder
	// Shared, when set, lets conversions of relocatable files reuse each other's results. Such a
	// conversion runs on one thread, and converts the whole file.
	Shared *Shared
	// Shapers, when set, lets conversions of BTF from compilers reuse each other's types.
	Shapers *object.Shapers
	// Sites, when set, gets the sites at which functions were inlined. The object then has these
	// functions: FUNC nodes with the flag types.FuncInlined.
	Sites *inlines.Sites
	// If OnlyInlined is set, no other functions and no variables are converted.
	OnlyInlined bool
	// If Unchecked is set, a type that contains itself by value is not an error. The link checks that,
	// too, but its error doesn't say where the type is in the file.
	Unchecked bool
	// Counts, when set, accumulates the counts of File's calls. Only one call at a time may use it.
	Counts *Counts
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
func File(f *elf.File, opt Options) (*object.Object, error) {
	d, err := dwarf.New(f)
	if err != nil {
		return nil, err
	}
	return DWARF(d, opt)
}

// DWARF is File for callers that have listed the file's units.
func DWARF(d *dwarf.Data, opt Options) (*object.Object, error) {
	f := d.File
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
		return nil, fmt.Errorf("%s: the DWARF has only partial units: this is a supplementary file of "+
			"dwz -m; pass the files that refer to it, and this file with --debug-file", f.Path)
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
		w.warnOfLosses(opt.Warn)
	}
	if opt.Sites == nil {
		return w.object() // from now on, another conversion may use the converters
	}
	var o *object.Object
	var file inlines.File
	var failed error
	parallel.All(opt.Jobs, func() {
		w.joinSites(opt.Sites)
		o, err = w.object()
	}, func() { file, failed = inlines.Describe(f) })
	opt.Sites.File = file
	return o, cmp.Or(failed, err)
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
