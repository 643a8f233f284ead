package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// languages are the names of DW_LANG codes (DWARF 5, 7.12, and the list of codes assigned since),
// as pahole's --lang_exclude spells them.
var languages = map[string][]uint64{
	"ada83": {0x03}, "ada95": {0x0d}, "asm": {0x31,
		0x8001}, "bliss": {0x25}, "c": {0x02}, "c++": {0x04},
	"c++03": {0x19}, "c++11": {0x1a}, "c++14": {0x21}, "c++17": {0x2a}, "c++20": {0x2b}, "c89": {0x01},
	"c99": {0x0c}, "c11": {0x1d}, "c17": {0x2c}, "cobol74": {0x05}, "cobol85": {0x06}, "d": {0x13},
	"dylan": {0x20}, "fortran77": {0x07}, "fortran90": {0x08}, "fortran95": {0x0e}, "fortran03": {0x22},
	"fortran08": {0x23}, "go": {0x16}, "haskell": {0x18}, "java": {0x0b}, "julia": {0x1f}, "modula2": {0x0a},
	"modula3": {0x17}, "objc": {0x10}, "objc++": {0x11}, "ocaml": {0x1b}, "opencl": {0x15}, "pascal83": {0x09},
	"pli": {0x0f}, "python": {0x14}, "renderscript": {0x24}, "rust": {0x1c}, "swift": {0x1e}, "upc": {0x12},
	"zig": {0x27},
}

// ParseLanguages reads a comma-separated list of language names.
func ParseLanguages(list string) (map[uint64]bool, error) {
	codes := make(map[uint64]bool)
	for _, word := range strings.Split(list, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		of, ok := languages[word]
		if !ok {
			known := slices.Sorted(maps.Keys(languages))
			return nil, fmt.Errorf("unknown language %q; known are %s", word, strings.Join(known, ", "))
		}
		for _, code := range of {
			codes[code] = true
		}
	}
	return codes, nil
}

// excluded tells whether a unit is of a language that is left out.
func (o *Options) excluded(root *dwarf.DIE) bool {
	return root.Has(dwarf.Language) && o.LangExclude[root.Val[dwarf.Language]]
}

// languageName is the name of the language in which a unit is written, empty if that is C or
// unknown.
func languageName(root *dwarf.DIE) string {
	for name, codes := range languages {
		isC := slices.Contains([]string{"c", "c89", "c99", "c11", "c17"}, name)
		if root.Has(dwarf.Language) && slices.Contains(codes, root.Val[dwarf.Language]) && !isC {
			return name
		}
	}
	return ""
}

// isRust tells whether the unit says that it is of Rust.
func (u *unit) isRust() bool {
	return slices.Contains(languages["rust"], u.r.Root.Value(dwarf.Language).Val)
}
