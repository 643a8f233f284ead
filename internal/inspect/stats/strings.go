package stats

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// user says what uses a name; a name that several sorts of things use has several bits.
type user uint8

const (
	ofTypes user = 1 << iota
	ofMembers
	ofEnumerators
	ofFunctions
	ofParameters
	ofVariables
	ofTags
)

var userNames = []string{"types", "members", "enumerators", "functions", "parameters",
	"variables and sections", "tags"}

// eachName calls yield for each name of a type or an element, except empty names.
func eachName(b *btf.Blob, yield func(of user, off uint32)) {
	for i := range b.Types {
		t := &b.Types[i]
		of, elements := users(t.Kind)
		for off := range b.Names(t) { // the type's own, then those of its elements
			if off != 0 {
				yield(of, off)
			}
			of = elements
		}
	}
}

// users returns what uses the name of a type of kind k, and what uses the names of its elements.
func users(k btf.Kind) (of, elements user) {
	switch k {
	case btf.KindStruct, btf.KindUnion:
		return ofTypes, ofMembers
	case btf.KindEnum, btf.KindEnum64:
		return ofTypes, ofEnumerators
	case btf.KindFuncProto:
		return ofTypes, ofParameters
	case btf.KindFunc:
		return ofFunctions, 0
	case btf.KindVar, btf.KindDatasec, btf.KindLocsec:
		return ofVariables, 0
	case btf.KindDeclTag, btf.KindTypeTag:
		return ofTags, 0
	}
	return ofTypes, 0
}

// countStrings counts b's own strings. A name that begins inside a string is a use of that string.
func countStrings(b *btf.Blob) Strings {
	has := make([]user, len(b.Strings)) // what each string names, by its offset
	eachName(b, func(of user, off uint32) {
		if off < b.BaseStrLen || off-b.BaseStrLen >= uint32(len(b.Strings)) {
			return
		}
		at := off - b.BaseStrLen
		has[strings.LastIndexByte(b.Strings[:at], 0)+1] |= of
	})
	const several, none = "several of these", "none"
	counts := make([]Users, len(userNames), len(userNames)+2)
	for i, name := range userNames {
		counts[i].Of = name
	}
	counts = append(counts, Users{Of: several}, Users{Of: none})
	s := Strings{Bytes: uint64(len(b.Strings))}
	for at := 0; at < len(b.Strings); s.Total++ {
		size := strings.IndexByte(b.Strings[at:], 0) + 1
		if size == 0 {
			size = len(b.Strings) - at
		}
		class := len(counts) - 1
		switch n := bits.OnesCount8(uint8(has[at])); {
		case n == 1:
			class = bits.TrailingZeros8(uint8(has[at]))
		case n > 1:
			class--
		}
		counts[class].Strings++
		counts[class].Bytes += uint64(size)
		at += size
	}
	s.Users = slices.DeleteFunc(counts, func(u Users) bool { return u.Strings == 0 })
	slices.SortStableFunc(s.Users, func(x, y Users) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return s
}
