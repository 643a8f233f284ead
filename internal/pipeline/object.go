// Package pipeline makes BTF from files, for all commands: it makes BTF objects from debugging
// information (Object, Objects), facts from symbols (Facts), and the BTF of a linked file from both
// (Linked). What only some commands make in addition is a Pass.
package pipeline

import (
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// Object converts the debugging information in f that input selects. By default, this is a
// compiler's DWARF or, if there is none, a compiler's BTF. DWARF from an assembler is ignored,
// because it has no types. For BPF programs, the default is BTF, because the relocations of their
// DWARF are for the loader. The sites of inlined functions are only in DWARF.
// Rule: DWARF or BTF: which is read.
func Object(f *elf.File, input Input, options convert.Options) (*convert.Result, error) {
	if options.Want == convert.OnlySites {
		return convert.File(f, options)
	}
	if f.Section(object.SectionUnits) != nil {
		return nil, fmt.Errorf("%s: it is already a BTF object (%s): pass it to btfdedup merge or link",
			f.Path, object.SectionUnits)
	}
	hasBTF := compilerbtf.Has(f)
	var units *dwarf.Data
	if hasBTF && f.HasDWARF() {
		units, _ = dwarf.New(f) // if the DWARF is damaged, convert.File reports it
	}
	onlyBTF := hasBTF && (!f.HasDWARF() || units != nil && convert.OnlyAssembler(units))
	switch {
	case input == InputDWARF && onlyBTF:
		return nil, fmt.Errorf("%s: no DWARF from a compiler (.debug_info), but BTF (.BTF): "+
			"pass --input=btf to read it", f.Path)
	case input == InputDWARF:
	case input == InputBTF && !hasBTF:
		if err := convert.CheckEmpty(f); err != nil {
			return nil, fmt.Errorf("%s: no BTF (.BTF); compile with -gbtf and don't strip", f.Path)
		}
	case input == InputBTF, onlyBTF, hasBTF && f.Machine == stdelf.EM_BPF:
		return compilerbtf.File(f, options)
	case hasBTF:
		warnOfMixed(f, options)
	}
	if units != nil {
		return convert.DWARF(units, options)
	}
	return convert.File(f, options)
}

// warnOfMixed warns if f may have been linked from objects with DWARF and objects with only BTF. If
// a file has DWARF, its BTF isn't read, because most objects with BTF also have DWARF.
func warnOfMixed(f *elf.File, options convert.Options) {
	if n := compilerbtf.Units(f); n > 1 && options.Warn != nil {
		options.Warn(fmt.Sprintf("%s: it has DWARF, and BTF that the compiler wrote for %d units; "+
			"only the DWARF is read (--input=btf reads the BTF; if some objects have only one of the "+
			"two, convert the object files)", f.Path, n))
	}
}
