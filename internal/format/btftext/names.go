package btftext

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// class is a namespace of types: those of C's tags, and ordinary names.
type class uint8

const (
	structs class = iota
	unions
	enums
	ordinary
)

// prefixes are the words with which references begin.
var prefixes = [...]string{structs: "struct ", unions: "union ", enums: "enum ", ordinary: ""}

// key is what a reference consists of. Types with equal class and name differ in the number.
type key struct {
	class  class
	name   string
	number uint32 // from 1
}

// classOf returns the namespace of a type that other types refer to by name. For other types, ok is
// false.
func classOf(t *btf.Type) (of class, ok bool) {
	switch t.Kind {
	case btf.KindStruct:
		return structs, true
	case btf.KindUnion:
		return unions, true
	case btf.KindEnum, btf.KindEnum64:
		return enums, true
	case btf.KindFwd:
		if t.KFlag {
			return unions, true
		}
		return structs, true
	case btf.KindTypedef, btf.KindInt, btf.KindFloat:
		return ordinary, true
	}
	return 0, false
}

// isBaseWord reports whether C's base types consist of such words. A type's name may consist of
// several.
func isBaseWord(s string) bool {
	switch s {
	case "signed", "unsigned", "char", "short", "int", "long", "__int128", "float", "double":
		return true
	}
	return false
}

// isReserved reports whether a word has another meaning in a declaration.
func isReserved(s string) bool {
	switch s {
	case "const", "volatile", "restrict", "struct", "union", "enum", "enum64", "void", "static",
		"extern", typeTag, typeAttr, declTag, declAttr:
		return true
	}
	return false
}

// These words precede the text of a tag or attribute, in parentheses.
const (
	typeTag  = "type_tag"
	typeAttr = "type_attr"
	declTag  = "decl_tag"
	declAttr = "decl_attr"
)

// tagWord returns the word for a TYPE_TAG or DECL_TAG.
func tagWord(t *btf.Type) string {
	switch {
	case t.Kind == btf.KindTypeTag && t.KFlag:
		return typeAttr
	case t.Kind == btf.KindTypeTag:
		return typeTag
	case t.KFlag:
		return declAttr
	}
	return declTag
}

var qualifiers = [btf.NumKinds]string{btf.KindConst: "const", btf.KindVolatile: "volatile",
	btf.KindRestrict: "restrict"}

// encodings are the words for the bits of an INT's encoding, from the lowest.
var encodings = [...]string{"signed", "char", "bool"}

// linkages are the words for the linkage of a FUNC or VAR.
var linkages = [...]string{btf.LinkageStatic: "static ", btf.LinkageGlobal: "",
	btf.LinkageExtern: "extern "}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// isWord reports whether s needs no quotes where one word is expected. Dots are in the
// names of functions that the compiler has cloned.
func isWord(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '.' {
			return false
		}
	}
	return !isBaseWord(s) && !isReserved(s)
}

// isBaseType reports whether s consists of words of C's base types, as in "unsigned int".
func isBaseType(s string) bool {
	for w := range strings.SplitSeq(s, " ") {
		if !isBaseWord(w) {
			return false
		}
	}
	return true
}

// appendName writes a name where one word is expected.
func appendName(out []byte, name string) []byte {
	if isWord(name) {
		return append(out, name...)
	}
	out = append(out, '\'')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '\'' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c > '~':
			out = fmt.Appendf(out, `\x%02x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '\'')
}

// quoted returns what appendName writes.
func quoted(name string) string {
	if isWord(name) {
		return name
	}
	return string(appendName(nil, name))
}

// appendKey writes a reference to a type.
func appendKey(out []byte, k key) []byte {
	out = append(out, prefixes[k.class]...)
	if k.class == ordinary && isBaseType(k.name) {
		out = append(out, k.name...)
	} else {
		out = appendName(out, k.name)
	}
	return appendNumber(out, k.number)
}

func appendNumber(out []byte, n uint32) []byte {
	if n > 1 {
		out = fmt.Appendf(out, "#%d", n)
	}
	return out
}

// tag is a DECL_TAG, without the type that it tags.
type tag struct {
	component uint32 // the index of a member or parameter, or btf.DeclTagWhole
	word      string // declTag or declAttr
	text      string
}

func (t tag) compare(u tag) int {
	return cmp.Or(cmp.Compare(t.component, u.component), cmp.Compare(t.word, u.word),
		cmp.Compare(t.text, u.text))
}
