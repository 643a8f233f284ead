package convert

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/language"
)

// excluded reports whether a unit is of a language that is left out.
func (o *Options) excluded(root *dwarf.DIE) bool {
	return root.Has(dwarf.Language) && o.LangExclude[root.Val[dwarf.Language]]
}

// languageName is the name by which the language of a unit is left out, empty if that is C or
// unknown.
func languageName(root *dwarf.DIE) string {
	if !root.Has(dwarf.Language) {
		return ""
	}
	return language.Of(root.Val[dwarf.Language])
}

// isRust reports whether the unit says that it is of Rust.
func (u *unit) isRust() bool {
	return slices.Contains(language.Codes("rust"), u.r.Root.Value(dwarf.Language).Val)
}

// OnlyAssembler reports whether all of f's DWARF is from an assembler, which describes no types. It
// is false if the DWARF is damaged; File reports that.
func OnlyAssembler(f *elf.File) bool {
	d, err := dwarf.New(f)
	if err != nil || len(d.Units) == 0 {
		return false
	}
	var r dwarf.Reader
	for i := range d.Units {
		if err := r.Load(d, &d.Units[i]); err != nil ||
			!slices.Contains(language.Codes("asm"), r.Root.Value(dwarf.Language).Val) {
			return false
		}
	}
	return true
}
