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
	"ada83": {0x03}, "ada95": {0x0d}, "asm": {0x31, 0x8001}, "bliss": {0x25}, "c": {0x02},
	"c++": {0x04}, "c++03": {0x19}, "c++11": {0x1a}, "c++14": {0x21}, "c++17": {0x2a},
	"c++20": {0x2b}, "c++23": {0x3a}, "c89": {0x01}, "c99": {0x0c}, "c11": {0x1d}, "c17": {0x2c},
	"cobol74": {0x05}, "cobol85": {0x06}, "d": {0x13}, "dylan": {0x20}, "fortran77": {0x07},
	"fortran90": {0x08}, "fortran95": {0x0e}, "fortran03": {0x22}, "fortran08": {0x23}, "go": {0x16},
	"haskell": {0x18}, "java": {0x0b}, "julia": {0x1f}, "modula2": {0x0a}, "modula3": {0x17},
	"objc": {0x10}, "objc++": {0x11}, "ocaml": {0x1b}, "opencl": {0x15}, "pascal83": {0x09},
	"pli": {0x0f}, "python": {0x14}, "renderscript": {0x24}, "rust": {0x1c}, "swift": {0x1e},
	"upc": {0x12}, "zig": {0x27},
}

// cPlusPlus stands for each version of C++, of which compilers write the one that they were asked
// for.
const cPlusPlus = "c++"

// codesOf are the codes that a name stands for, none if it is unknown.
func codesOf(name string) []uint64 {
	if name != cPlusPlus {
		return languages[name]
	}
	var all []uint64
	for version, codes := range languages {
		if strings.HasPrefix(version, cPlusPlus) {
			all = append(all, codes...)
		}
	}
	return all
}

// Languages returns the names that ParseLanguages knows, in order.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// ParseLanguages reads a comma-separated list of language names. "c++" is each version of it; to
// pahole's --lang_exclude, which is of one code a name, it is the first alone.
func ParseLanguages(list string) (map[uint64]bool, error) {
	codes := make(map[uint64]bool)
	for _, word := range strings.Split(list, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		of := codesOf(word)
		if of == nil {
			return nil, fmt.Errorf("unknown language %q; known are %s", word,
				strings.Join(Languages(), ", "))
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

// languageName is the name by which the language of a unit is left out, empty if that is C or
// unknown.
func languageName(root *dwarf.DIE) string {
	for name, codes := range languages {
		isC := slices.Contains([]string{"c", "c89", "c99", "c11", "c17"}, name)
		switch {
		case isC || !root.Has(dwarf.Language) || !slices.Contains(codes, root.Val[dwarf.Language]):
		case strings.HasPrefix(name, cPlusPlus):
			return cPlusPlus
		default:
			return name
		}
	}
	return ""
}

// isRust tells whether the unit says that it is of Rust.
func (u *unit) isRust() bool {
	return slices.Contains(languages["rust"], u.r.Root.Value(dwarf.Language).Val)
}
