package cheader

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// intWords are the words of which C's names of integers are made.
var intWords = map[string]bool{"signed": true, "unsigned": true, "char": true, "short": true,
	"int": true, "long": true, "_Bool": true, "__int128": true}

// neonAliases are the types of gcc for the polynomials of Arm's vectors, in which no header is
// needed: they get typedefs.
var neonAliases = map[string]string{"__Poly8_t": "unsigned char", "__Poly16_t": "unsigned short",
	"__Poly64_t": "unsigned long long", "__Poly128_t": "unsigned __int128"}

// emitAlias writes the typedef of an integer that is none of C's.
func (g *generator) emitAlias(t *btf.Type) {
	name := g.blob.TypeName(t)
	if alias := neonAliases[name]; alias != "" && g.names.claim(name) {
		g.str("typedef " + alias + " " + name + ";\n\n")
	}
}

// spelling is an INT in C: its name, if it is one of C's, or else a type of its size.
func (g *generator) spelling(id uint32, t *btf.Type) string {
	name := g.blob.TypeName(t)
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

// unsigned is the unsigned integer with a size in bytes.
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

// floatWords are the words of which C's names of floating-point numbers are made.
var floatWords = map[string]bool{"float": true, "double": true, "long": true, "_Float16": true,
	"_Float32": true, "_Float64": true, "_Float128": true, "__float128": true, "__bf16": true,
	"__fp16": true, "__ibm128": true, "_Float32x": true, "_Float64x": true}

// floatSpelling is a FLOAT in C, in the manner of spelling.
func (g *generator) floatSpelling(id uint32, t *btf.Type) string {
	name := g.blob.TypeName(t)
	known := name != ""
	for w := range strings.FieldsSeq(name) {
		known = known && floatWords[w]
	}
	switch {
	case known:
		return name
	case t.SizeOrType == 2:
		return "_Float16"
	case t.SizeOrType == 4:
		return "float"
	case t.SizeOrType == 8:
		return "double"
	}
	if t.SizeOrType != 12 && t.SizeOrType != 16 {
		g.fail(id, "C has no floating-point number of %d bytes", t.SizeOrType)
	}
	return "long double"
}

// isPlainAttribute reports whether an attribute can be written as it is: a name, perhaps with
// arguments, and nothing that would end it.
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

// escaped is a text as it is in a string literal of C.
func escaped(s string) string {
	if !strings.ContainsAny(s, "\"\\\n\r") {
		return s
	}
	return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(s)
}
