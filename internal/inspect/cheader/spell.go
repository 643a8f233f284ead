package cheader

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// intWords are the words that C's integer types consist of.
var intWords = map[string]bool{"signed": true, "unsigned": true, "char": true, "short": true,
	"int": true, "long": true, "_Bool": true, "__int128": true}

// neonAliases are gcc's built-in types for polynomials in Arm vectors. The header defines them.
var neonAliases = map[string]string{"__Poly8_t": "unsigned char", "__Poly16_t": "unsigned short",
	"__Poly64_t": "unsigned long long", "__Poly128_t": "unsigned __int128"}

// lacking reports whether compilers for some machines have no number type of t's kind and size:
// only floats of 4 and 8 bytes exist everywhere, and 32-bit machines have no 16-byte integers. Such
// a number is written as a struct.
// Rule: C header: number types that not all compilers have.
func (l *layouts) lacking(t *btf.Type) bool {
	switch t.Kind {
	case btf.KindInt:
		return t.SizeOrType == 16 && l.pointer == 4
	case btf.KindFloat:
		return t.SizeOrType != 4 && t.SizeOrType != 8
	}
	return false
}

// alignOfLacking returns the alignment in bytes of a lacking number's struct: the alignment of the
// number on machines that have it, for example 4 for x87's 12-byte long double.
func alignOfLacking(t *btf.Type) uint32 { return max(min(t.SizeOrType&-t.SizeOrType, 16), 1) }

// emitNumber writes a definition for a number type that some compilers don't have.
func (g *generator) emitNumber(id uint32, t *btf.Type) {
	name := g.blob.TypeName(t)
	if g.layouts.lacking(t) {
		g.str("/* " + plain(name) + ": compilers for some machines don't have this type */\n")
		g.out = fmt.Appendf(g.out, "%s {\n\tunsigned char ___bytes[%d];\n} "+
			"__attribute__((aligned(%d)));\n\n", g.lackingName(id, name), t.SizeOrType,
			alignOfLacking(t))
		return
	}
	if alias := neonAliases[name]; alias != "" && g.names.claim(name) {
		g.str("typedef " + alias + " " + name + ";\n\n")
	}
}

// lackingName returns the name of a lacking number's struct: "struct ___Float16" for _Float16.
func (g *generator) lackingName(id uint32, name string) string {
	if g.names.chosen[id] == "" {
		tag := "___" + strings.TrimLeft(strings.ReplaceAll(plain(name), " ", "_"), "_")
		g.names.chosen[id] = g.names.tags.chooseName(tag, g.names.givenTags)
	}
	return "struct " + g.names.chosen[id]
}

// plain returns a number type's name, with an underscore for each character that C doesn't allow.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c < 0x80 && isWord(byte(c)) {
			return c
		}
		return '_'
	}, name)
}

// spelling returns the C type for an INT or FLOAT: the type with that name, or else with that size.
func (g *generator) spelling(id uint32, t *btf.Type) string {
	name := g.blob.TypeName(t)
	switch {
	case g.layouts.lacking(t):
		return g.lackingName(id, name)
	case t.Kind == btf.KindFloat && t.SizeOrType == 4:
		return "float"
	case t.Kind == btf.KindFloat:
		return "double"
	}
	known := name != ""
	for w := range strings.FieldsSeq(name) {
		known = known && intWords[w]
	}
	switch encoding := t.Extra >> 24; {
	case known || neonAliases[name] != "":
		return name
	case encoding&btf.IntBool != 0 && t.SizeOrType == 1:
		return "_Bool"
	case encoding&btf.IntSigned != 0:
		return signed[g.unsigned(id, t.SizeOrType)]
	}
	return g.unsigned(id, t.SizeOrType)
}

func (g *generator) unsigned(id, size uint32) string {
	switch size {
	case 1:
		return "unsigned char"
	case 2:
		return "unsigned short"
	case 4:
		return "unsigned int"
	case 8:
		return "unsigned long long"
	case 16:
		return "unsigned __int128"
	}
	g.fail(id, "C has no integer of %d bytes", size)
	return ""
}

var signed = map[string]string{"unsigned char": "signed char", "unsigned short": "short",
	"unsigned int": "int", "unsigned long long": "long long", "unsigned __int128": "__int128"}

// isPlainAttribute reports whether an attribute can be copied unchanged: it is a name, perhaps with
// arguments, and has no characters that would end the attribute early.
func isPlainAttribute(s string) bool {
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case !isWord(c) && !strings.ContainsRune(" ,\"=:.", rune(c)):
			return false
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0 && s != "" && strings.Count(s, `"`)%2 == 0
}

// escaped escapes a text for a C string literal, with octal escapes because their length is fixed.
func escaped(s string) string {
	var out []byte
	for i, c := range s {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', byte(c))
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c != utf8.RuneError && strconv.IsPrint(c):
			out = utf8.AppendRune(out, c)
		case c == utf8.RuneError:
			out = fmt.Appendf(out, `\%03o`, s[i])
		default:
			for _, b := range utf8.AppendRune(nil, c) {
				out = fmt.Appendf(out, `\%03o`, b)
			}
		}
	}
	return string(out)
}
