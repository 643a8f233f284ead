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

// symbols holds the file's function symbols by address. They are read along with the first units.
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

func (s *symbols) at(addr uint64) iter.Seq[*elf.Symbol] {
	return func(yield func(*elf.Symbol) bool) {
		for _, f := range s.At(addr) {
			if !yield(&s.Symbols.List[f.Symbol]) {
				return
			}
		}
	}
}

// mark describes the symbols at a function's entry.
type mark struct {
	strong  bool // some symbol with the function's name isn't weak
	global  bool // some symbol with exactly the function's name isn't local
	renamed bool // there are symbols, but none with the function's name
	// renamed is set, and the symbol's name isn't the function's name with a prefix. So the symbol
	// is an alias of a weak definition, and the function's name belongs to another definition
	alias bool
	// there is no symbol. In a linked file, that shows that the code was dropped, or that another
	// definition has the name
	nameless bool
	clone    bool // some symbol is that of a clone whose interface differs
	// suffixed is a symbol with the function's name and a suffix (foo.isra.0, foo.part.0), if no
	// symbol has just the function's name. Symbols that aren't parts are preferred, and among equals
	// the first in alphabetical order. Cold parts (.cold) don't count.
	suffixed string
}

// part reports whether suffixed is the symbol of a part that was split off the function.
func (m *mark) part() bool { return facts.IsPart(m.suffixed) }

// look describes the symbols at addr, where the function with that name begins. A function that is
// external in its unit but has a local symbol is a hidden function in a linked file.
//
// For code that isn't in the file, linkers write certain addresses (elf.File.Tombstone). A symbol
// with a different name at such an address is ignored, unless the file has code there.
// Rule: symbols at a function's address, clones' names.
func (s *symbols) look(addr uint64, name []byte) (m mark) {
	some, named, exact, prefixed := false, false, false, false
	plain := bytes.IndexByte(name, '.') < 0
	for f := range s.at(addr) {
		some = true
		if plain && s.Symbols.Named(f, name) { // as in most cases
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

// likelier returns which of two symbols becomes mark.suffixed; a may be "".
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

// split splits a symbol's name at the first dot into the base name and the suffix with the dot.
func (s *symbols) split(f *elf.Symbol) (base, suffix string) {
	name := s.Symbols.Name(f)
	if dot := strings.IndexByte(name, '.'); dot >= 0 {
		return name[:dot], name[dot:]
	}
	return name, ""
}

// nameAt returns the base name of the function that starts at addr, or of the first of several in
// alphabetical order; "" if there is none.
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
