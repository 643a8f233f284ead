package stats

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// user is a sort of thing that has a name, as a set of one.
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

// eachName calls yield for each name of a type or an element that is not empty.
func eachName(b *btf.Blob, yield func(of user, off uint32)) {
	name := func(of user, off uint32) {
		if off != 0 {
			yield(of, off)
		}
	}
	for i := range b.Types {
		t := &b.Types[i]
		name(ofKind(t.Kind), t.NameOff)
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			for _, m := range b.MembersOf(t) {
				name(ofMembers, m.NameOff)
			}
		case btf.KindEnum, btf.KindEnum64:
			for _, e := range b.EnumsOf(t) {
				name(ofEnumerators, e.NameOff)
			}
		case btf.KindFuncProto:
			for _, p := range b.ParamsOf(t) {
				name(ofParameters, p.NameOff)
			}
		}
	}
}

func ofKind(k btf.Kind) user {
	switch k {
	case btf.KindFunc:
		return ofFunctions
	case btf.KindVar, btf.KindDatasec:
		return ofVariables
	case btf.KindDeclTag, btf.KindTypeTag:
		return ofTags
	}
	return ofTypes
}

// countStrings counts the strings of b itself. A name may begin inside of a string, which it uses
// then.
func countStrings(b *btf.Blob) Strings {
	users := make([]user, len(b.Strings)) // by the offset of a string's first byte
	eachName(b, func(of user, off uint32) {
		if off < b.BaseStrLen || off-b.BaseStrLen >= uint32(len(b.Strings)) {
			return
		}
		at := off - b.BaseStrLen
		users[strings.LastIndexByte(b.Strings[:at], 0)+1] |= of
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
		switch n := bits.OnesCount8(uint8(users[at])); {
		case n == 1:
			class = bits.TrailingZeros8(uint8(users[at]))
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
