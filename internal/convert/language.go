package convert

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/language"
)

// excluded tells whether a unit is of a language that is left out.
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

// isRust tells whether the unit says that it is of Rust.
func (u *unit) isRust() bool {
	return slices.Contains(language.Codes("rust"), u.r.Root.Value(dwarf.Language).Val)
}
