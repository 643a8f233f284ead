package convert

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/language"
)

// excluded reports whether the unit with this root entry is left out because of its language.
// Rule: languages left out: which units.
func (o *Options) excluded(root *dwarf.DIE) bool {
	return root.Has(dwarf.Language) && o.LangExclude[root.Val[dwarf.Language]]
}

// languageName returns the --lang-exclude name of a unit's language, or "" if it is C or unknown.
func languageName(root *dwarf.DIE) string {
	if !root.Has(dwarf.Language) {
		return ""
	}
	return language.Of(root.Val[dwarf.Language])
}

// isRust reports whether the DWARF gives Rust as the unit's language.
func (u *unit) isRust() bool {
	return slices.Contains(language.Codes("rust"), u.r.Root.Value(dwarf.Language).Val)
}

// OnlyAssembler reports whether there is DWARF, and all of it is from an assembler, so that it has
// no types. It returns false if the DWARF is too damaged to tell, so that DWARF reports it.
func OnlyAssembler(d *dwarf.Data) bool {
	if len(d.Units) == 0 {
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
