// Package pipeline makes BTF of files, for whichever command asks: debugging information to a BTF
// object (Object, Objects), symbols to facts (Facts), and both to the BTF of a linked file (Linked).
package pipeline

import (
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Object converts the debugging information of f that the options select. By default that is DWARF
// if a compiler wrote some, else BTF that a compiler wrote: an assembler's DWARF has no types. The
// DWARF of BPF programs isn't read, because its relocations are for the loader; they have BTF too.
func Object(f *elf.File, options convert.Options) (*object.Object, error) {
	if f.Section(object.SectionUnits) != nil {
		return nil, fmt.Errorf("%s: it is a BTF object already (%s): btfdedup merge and link read it",
			f.Path, object.SectionUnits)
	}
	hasBTF := compilerbtf.Has(f)
	onlyBTF := hasBTF && (!f.HasDWARF() || convert.OnlyAssembler(f))
	switch {
	case options.Input == convert.InputDWARF && onlyBTF:
		return nil, fmt.Errorf("%s: no DWARF of a compiler (.debug_info), but BTF (.BTF): "+
			"--input=btf reads that", f.Path)
	case options.Input == convert.InputDWARF:
	case options.Input == convert.InputBTF && !hasBTF:
		if err := convert.CheckEmpty(f); err != nil {
			return nil, fmt.Errorf("%s: no BTF (.BTF); compile with -gbtf and don't strip", f.Path)
		}
	case options.Input == convert.InputBTF, onlyBTF, hasBTF && f.Machine == stdelf.EM_BPF:
		return compilerbtf.File(f, options)
	case hasBTF:
		warnOfMixed(f, options)
	}
	return convert.File(f, options)
}

// warnOfMixed warns of a linked file that was made of some objects with DWARF and others with BTF.
// The BTF of a file that has DWARF isn't read, for most objects with BTF have both.
func warnOfMixed(f *elf.File, options convert.Options) {
	if n := compilerbtf.Units(f); n > 1 && options.Warn != nil {
		options.Warn(fmt.Sprintf("%s: it has DWARF, and BTF that the compiler wrote for %d units; "+
			"only the DWARF is read (--input=btf reads the BTF; if some objects have only one of the "+
			"two, convert the object files)", f.Path, n))
	}
}
