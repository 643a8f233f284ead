package cheader

import (
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// names gives everything a unique name. The first user of a name keeps it; the others get a suffix
// (___2, ___3 and so on). BPF loaders ignore such suffixes when they search for a type in a kernel.
// Tags are one namespace; typedefs, enumerators and functions are the other.
type names struct {
	blob        *btf.Blob
	tags, words namespace
	chosen      []string // by type id, "" if not chosen yet
	typedefs    map[string]bool
	macros      map[string]bool // the predefined macros whose names are used
}

type namespace struct {
	count map[string]int // how many things use a name
	taken map[string]bool
	kinds map[string]btf.Kind // by tag: the kind of the type that has this tag without a suffix
	// given has the BTF's names that contain "___", like suffixed names; nil until names conflict.
	given map[string]bool
}

func newNames(b *btf.Blob) *names {
	space := func(size int) namespace {
		return namespace{count: make(map[string]int, size), taken: map[string]bool{}}
	}
	n := &names{blob: b, tags: space(len(b.Types) / 8), words: space(len(b.Enums)),
		chosen: make([]string, b.EndID()), macros: map[string]bool{}}
	n.tags.kinds = map[string]btf.Kind{}
	return n
}

// chooseName reserves a name and returns it. It adds a suffix if the name itself is taken.
// Rule: C header: names that occur several times. Source: libbpf btf_dump_resolve_name.
func (s *namespace) chooseName(name string, given func() map[string]bool) string {
	n := s.count[name] + 1
	s.count[name] = n
	if n == 1 && (len(s.taken) == 0 || !s.taken[name]) {
		if strings.Contains(name, "___") {
			s.taken[name] = true
		}
		return name
	}
	if s.given == nil {
		s.given = given()
	}
	for n = max(n, 2); ; n++ {
		with := name + "___" + strconv.Itoa(n)
		if !s.taken[with] && !s.given[with] {
			s.count[name] = n
			s.taken[with] = true
			return with
		}
	}
}

// tag returns the tag of a struct, union or enum, or of a declaration of one. For a declaration,
// this is the tag without a suffix, unless a type of a different kind has that tag.
func (n *names) tag(id uint32, t *btf.Type) string {
	if n.chosen[id] != "" {
		return n.chosen[id]
	}
	name, kind := n.ofType(t), t.TagKind()
	declaration := t.Kind == btf.KindFwd || t.Kind.IsEnum() && t.Vlen == 0
	known, ok := n.tags.kinds[name]
	switch {
	case !ok:
		n.tags.kinds[name] = kind
	case known != kind: // another kind of type has the tag
		n.tags.taken[name] = true
		declaration = false
	}
	if !declaration {
		name = n.tags.chooseName(name, n.givenTags)
	}
	n.chosen[id] = name
	return name
}

func (n *names) typedef(id uint32, t *btf.Type) string {
	if n.chosen[id] == "" {
		n.chosen[id] = n.words.chooseName(n.ofType(t), n.givenWords)
	}
	return n.chosen[id]
}

// ofType returns the C name of a tagged type or typedef, not yet made unique. Names that became
// keywords in C23 get a suffix. The exception is the typedef bool for _Bool: in C23, bool is the
// same type.
func (n *names) ofType(t *btf.Type) string {
	name := n.blob.TypeName(t)
	if !keywordsC23[name] || name == "bool" && n.isBool(t) {
		return n.identifier(name)
	}
	return name + "___2"
}

func (n *names) isBool(t *btf.Type) bool {
	if t.Kind != btf.KindTypedef {
		return false
	}
	t = unmodified(n.blob, t.SizeOrType)
	return t != nil && t.Kind == btf.KindInt && t.Extra>>24&btf.IntBool != 0 && t.SizeOrType == 1
}

// enumerator returns a name for an enumerator; each call returns a different name.
func (n *names) enumerator(name string) string {
	return n.words.chooseName(n.identifier(name), n.givenWords)
}

// claim reserves a name, and reports whether the name was free.
func (n *names) claim(name string) bool {
	if n.words.count[name] > 0 {
		return false
	}
	n.words.count[name]++
	return true
}

func (n *names) givenTags() map[string]bool {
	given := map[string]bool{}
	for _, t := range n.blob.All() {
		if t.Kind.IsComposite() || t.Kind.IsEnum() || t.Kind == btf.KindFwd {
			addSuffixed(given, n.blob.TypeName(t))
		}
	}
	return given
}

// addSuffixed adds a name to given if it contains "___", like names with chooseName's suffixes.
func addSuffixed(given map[string]bool, name string) {
	if name = identifier(name); strings.Contains(name, "___") {
		given[name] = true
	}
}

func (n *names) givenWords() map[string]bool {
	given := map[string]bool{}
	for o := n.blob; o != nil; o = o.Base {
		for i := range o.Types {
			switch t := &o.Types[i]; t.Kind {
			case btf.KindTypedef, btf.KindFunc:
				addSuffixed(given, n.blob.TypeName(t))
			case btf.KindEnum, btf.KindEnum64:
				for _, e := range o.EnumsOf(t) {
					name, _ := n.blob.Name(e.NameOff)
					addSuffixed(given, name)
				}
			}
		}
	}
	return given
}

func (n *names) isTypedef(name string) bool {
	if n.typedefs == nil {
		n.typedefs = map[string]bool{}
		for _, t := range n.blob.All() {
			if t.Kind == btf.KindTypedef {
				n.typedefs[n.blob.TypeName(t)] = true
			}
		}
	}
	return n.typedefs[name]
}

// keywords has C's keywords. Rust programs use some of them as names.
var keywords = map[string]bool{"auto": true, "break": true, "case": true, "char": true,
	"const": true, "continue": true, "default": true, "do": true, "double": true, "else": true,
	"enum": true, "extern": true, "float": true, "for": true, "goto": true, "if": true,
	"inline": true, "int": true, "long": true, "register": true, "restrict": true, "return": true,
	"short": true, "signed": true, "sizeof": true, "static": true, "struct": true, "switch": true,
	"typedef": true, "union": true, "unsigned": true, "void": true, "volatile": true,
	"while": true, "asm": true, "typeof": true}

// keywordsC23 has the keywords that C23 added. Older C programs, such as Linux, use some as names.
var keywordsC23 = map[string]bool{"bool": true, "true": true, "false": true, "nullptr": true,
	"constexpr": true, "alignas": true, "alignof": true, "static_assert": true,
	"thread_local": true, "typeof_unqual": true}

// predefined lists the macros without a leading underscore that gcc (builtin_define_std) or clang
// predefines in gnu modes, for machines that run Linux. A header undefines those that it uses.
var predefined = map[string]bool{"linux": true, "unix": true, "i386": true, "mips": true,
	"MIPSEB": true, "MIPSEL": true, "R3000": true, "R4000": true, "sparc": true, "PPC": true,
	"powerpc": true, "mc68000": true, "mc68020": true, "hppa": true}

// identifier returns the C form of a name, and records the name if it is a predefined macro.
// Rule: C header: keywords and macros as names.
func (n *names) identifier(name string) string {
	name = identifier(name)
	if len(name) <= 8 && predefined[name] {
		n.macros[name] = true
	}
	return name
}

// identifier turns a name into a C identifier: bytes other than letters, digits and underscores
// become underscores, and a keyword gets an underscore at its end.
func identifier(name string) string {
	if name == "" {
		return ""
	}
	good := name[0] < '0' || name[0] > '9'
	for i := 0; good && i < len(name); i++ {
		good = isWord(name[i])
	}
	if good {
		if len(name) <= 8 && keywords[name] {
			return name + "_"
		}
		return name
	}
	out := make([]byte, 0, len(name)+1)
	if name[0] >= '0' && name[0] <= '9' {
		out = append(out, '_')
	}
	for i := range len(name) {
		c := name[i]
		if !isWord(c) {
			c = '_'
		}
		out = append(out, c)
	}
	return string(out)
}

func isWord(c byte) bool {
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
