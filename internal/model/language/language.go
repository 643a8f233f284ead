// Package language names the languages of compilation units.
package language

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// codes maps names of languages, as pahole's --lang_exclude spells them, to DW_LANG codes (DWARF 5,
// 7.12, and the list of codes assigned since).
var codes = map[string][]uint64{
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

// CPlusPlus is the name for all versions of C++: compilers write the DW_LANG code of the version
// that the user chose.
const CPlusPlus = "c++"

// Codes returns the DW_LANG codes for a name, or none if the name is unknown.
func Codes(name string) []uint64 {
	if name != CPlusPlus {
		return codes[name]
	}
	var all []uint64
	for version, of := range codes {
		if strings.HasPrefix(version, CPlusPlus) {
			all = append(all, of...)
		}
	}
	return all
}

// Names returns the names that Parse knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(codes)) }

// Parse reads a comma-separated list of language names. "c++" means all versions of C++. (In
// pahole's --lang_exclude, each name has one code, and "c++" means only the first version.)
// Rule: languages left out: names. None by default. Source: pahole pahole.c --lang_exclude.
func Parse(list string) (map[uint64]bool, error) {
	found := make(map[uint64]bool)
	for _, word := range strings.Split(list, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			continue
		}
		of := Codes(word)
		if of == nil {
			return nil, fmt.Errorf("unknown language %q; the known languages are %s", word,
				strings.Join(Names(), ", "))
		}
		for _, code := range of {
			found[code] = true
		}
	}
	return found, nil
}

// Of returns the --lang-exclude name of the language with this code, or "" if it is C or unknown.
func Of(code uint64) string {
	for name, of := range codes {
		isC := slices.Contains([]string{"c", "c89", "c99", "c11", "c17"}, name)
		switch {
		case isC || !slices.Contains(of, code):
		case strings.HasPrefix(name, CPlusPlus):
			return CPlusPlus
		default:
			return name
		}
	}
	return ""
}
