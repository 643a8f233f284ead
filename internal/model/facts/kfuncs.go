package facts

import (
	stdelf "debug/elf"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// These are the flags of a kfunc that are visible in BTF (include/linux/btf.h in Linux 7.2). Only
// the kernel uses the other flags. Facts leave these out, so that facts change less often and most
// sets are uniform.
const (
	Fastcall = 1 << (iota + 12)
	ArenaRet
	ArenaArg1
	ArenaArg2

	kfuncFlags = Fastcall | ArenaRet | ArenaArg1 | ArenaArg2
)

// Rule: kfuncs: which functions are. Names of resolved ids are looked up in the BTF.
func (e *extractor) collectKfuncs(base *btf.Blob) error {
	e.facts.KfuncState = KfuncsAbsent
	for _, s := range e.file.SectionsNamed(idsSection) {
		if s.Type == stdelf.SHT_NOBITS {
			e.facts.KfuncState = KfuncsStripped
			return nil
		}
		e.facts.KfuncState = KfuncsListed
	}
	if e.facts.KfuncState == KfuncsAbsent {
		return nil
	}
	sets, err := e.findSets()
	if err != nil {
		return err
	}
	names := map[uint32]string{} // by type id: for the entries that symbols don't identify
	for i := range sets {
		if s := &sets[i]; s.filled && !s.isUniform() {
			for _, entry := range s.entries {
				names[entry.id] = ""
			}
		}
	}
	if len(names) > 0 {
		if err := e.nameTypes(names, base); err != nil {
			return err
		}
	}
	flags := map[string]uint32{}
	for i := range sets {
		s := &sets[i]
		if err := s.assign(names, flags); err != nil {
			return fmt.Errorf("%s: section %s: kfunc set %q: %w", e.file.Path, idsSection, s.name, err)
		}
	}
	for name, f := range flags {
		e.facts.Kfuncs = append(e.facts.Kfuncs, Kfunc{strings.Clone(name), f})
	}
	return nil
}

// nameTypes sets names[id] for each id in names that is the id of a function in the file's .BTF.
// That BTF is based on the file's .BTF.base or, if there is none, on base.
func (e *extractor) nameTypes(names map[uint32]string, base *btf.Blob) error {
	if data, err := btf.Section(e.file, btf.SectionBase); err != nil {
		return err
	} else if data != nil {
		if base, err = btf.Parse(data, nil); err != nil {
			return e.badTypes(btf.SectionBase, nil, err)
		}
	}
	data, err := btf.Section(e.file, btf.SectionTypes)
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("%s: section %s has resolved ids, but the file has no section .BTF "+
			"that they refer to; extract the facts before resolve_btfids runs, or from a file "+
			"with .BTF",
			e.file.Path, idsSection)
	}
	if err := btf.FunctionNames(data, base, names); err != nil {
		return e.badTypes(btf.SectionTypes, base, err)
	}
	return nil
}

func (e *extractor) badTypes(section string, base *btf.Blob, err error) error {
	if base == nil {
		return fmt.Errorf("%s: section %s, which is needed to find the flags of each kfunc: %w "+
			"(the .BTF of a module needs its base: pass --base)", e.file.Path, section, err)
	}
	return fmt.Errorf("%s: section %s: %w", e.file.Path, section, err)
}
