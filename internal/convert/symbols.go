package convert

import (
	"bytes"
	stdelf "debug/elf"
	"iter"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// symbols are the file's function symbols by address. They are read while the first units are.
type symbols struct {
	file *elf.File
	once sync.Once
	err  error
	*elf.Functions
}

func (s *symbols) load() error {
	s.once.Do(func() { s.Functions, s.err = s.file.Functions() })
	return s.err
}

// at returns the symbols at addr.
func (s *symbols) at(addr uint64) iter.Seq[*elf.Symbol] {
	return func(yield func(*elf.Symbol) bool) {
		for _, f := range s.At(addr) {
			if !yield(&s.Symbols.List[f.Symbol]) {
				return
			}
		}
	}
}

// mark is what the symbols at a function's entry say of it.
type mark struct {
	strong  bool // one of the function's name is not weak
	global  bool // one of just the function's name is not local
	renamed bool // there are some, but none of the function's name
	// alias: renamed, and the symbol is not the function's name with a prefix. So it is an alias of a
	// weak definition, and the function's name belongs to another definition.
	alias bool
	// nameless: there is no symbol. In a linked file the code has been dropped, or another definition
	// has the name.
	nameless bool
	clone    bool // one of its name is a clone with a changed interface
	// suffixed is the symbol's name if that is the function's with a suffix (foo.isra.0, foo.part.0),
	// and there is none of just the function's name. If there are several, it is the first one, and
	// one that is not a part if possible. The cold part (.cold) does not count.
	suffixed string
}

// part reports whether the symbol stands for a part of the function that was split off.
func (m *mark) part() bool { return facts.IsPart(m.suffixed) }

// look returns what the symbols at addr say of the function with that name. A function that is
// external in its unit and local here is a hidden one of a linked file.
//
// Linkers write certain addresses for code that is not in the file. Unless the file has code there,
// a symbol of another name at such an address means nothing.
func (s *symbols) look(addr uint64, name []byte) (m mark) {
	some, named, exact, prefixed := false, false, false, false
	plain := bytes.IndexByte(name, '.') < 0
	for f := range s.at(addr) {
		some = true
		if plain && s.Symbols.Named(f, name) { // as most
			named, exact = true, true
			m.strong = m.strong || stdelf.SymBind(f.Bind) != stdelf.STB_WEAK
			m.global = m.global || stdelf.SymBind(f.Bind) != stdelf.STB_LOCAL
			continue
		}
		base, suffix := s.split(f)
		prefixed = prefixed || strings.HasSuffix(base, string(name))
		if base == string(name) {
			named = true
			m.strong = m.strong || stdelf.SymBind(f.Bind) != stdelf.STB_WEAK
			m.clone = m.clone || strings.Contains(suffix, ".isra") || strings.Contains(suffix, ".constprop")
			m.suffixed = likelier(m.suffixed, s.Symbols.Name(f))
		}
	}
	if exact {
		m.suffixed = ""
	}
	m.renamed = some && !named && !s.file.Tombstone(addr)
	m.nameless = !named && !m.renamed
	m.alias = m.renamed && !prefixed
	return m
}

// likelier is the one of two symbols that mark.suffixed is; a may be "".
func likelier(a, b string) string {
	switch {
	case strings.Contains(b, ".cold"):
		return a
	case a == "", facts.IsPart(a) && !facts.IsPart(b):
		return b
	case facts.IsPart(b) && !facts.IsPart(a):
		return a
	}
	return min(a, b)
}

// split cuts a symbol's name into the base name and the suffix, which begins with a dot.
func (s *symbols) split(f *elf.Symbol) (base, suffix string) {
	name := s.Symbols.Name(f)
	if dot := strings.IndexByte(name, '.'); dot >= 0 {
		return name[:dot], name[dot:]
	}
	return name, ""
}

// nameAt is the base name of a function that starts at addr, the first one in order; "" if there is
// none.
func (s *symbols) nameAt(addr uint64) string {
	first := ""
	for f := range s.at(addr) {
		if name := s.Symbols.Name(f); first == "" || name < first {
			first = name
		}
	}
	base, _, _ := strings.Cut(first, ".")
	return base
}
