package facts

import (
	stdelf "debug/elf"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// kfuncFlags are the flags that show in BTF: KF_FASTCALL, KF_ARENA_RET, KF_ARENA_ARG1 and
// KF_ARENA_ARG2 (include/linux/btf.h). Without the others, which are for the kernel alone, the
// facts don't change when those do, and most sets are uniform.
const kfuncFlags = 1<<12 | 1<<13 | 1<<14 | 1<<15

// collectKfuncs lists the functions of all kfunc sets.
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
	names := map[uint32]string{} // by type id: of the entries that symbols don't tell
	for i := range sets {
		if s := &sets[i]; s.filled && !s.uniform() {
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

// nameTypes fills in the names of the ids that are functions in the file's .BTF, which is based on
// its own .BTF.base, else on base.
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
		return fmt.Errorf("%s: section %s is resolved, but there is no .BTF section that tells "+
			"whose the ids are; take the facts before resolve_btfids has run, or from a file that has .BTF",
			e.file.Path, idsSection)
	}
	if err := btf.FunctionNames(data, base, names); err != nil {
		return e.badTypes(btf.SectionTypes, base, err)
	}
	return nil
}

// badTypes is the error of a section whose BTF can't be read.
func (e *extractor) badTypes(section string, base *btf.Blob, err error) error {
	if base == nil {
		return fmt.Errorf("%s: section %s, needed to tell which kfunc has which flags: %w "+
			"(a module's .BTF needs its base: --base)", e.file.Path, section, err)
	}
	return fmt.Errorf("%s: section %s: %w", e.file.Path, section, err)
}
