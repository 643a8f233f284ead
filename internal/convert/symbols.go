package convert

import (
	stdelf "debug/elf"
	"iter"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/elf"
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
	renamed bool // there are some, but none of the function's name
	// alias: renamed, and none of them is the function's name with a prefix. So it is an alias of a
	// weak definition whose name another has taken.
	alias bool
	clone bool // one of its name is a clone with a changed interface
}

// look asks the symbols at addr about the function of that name. One that is external in its unit
// and local here is a hidden one of a linked file.
func (s *symbols) look(addr uint64, name []byte) (m mark) {
	some, named, prefixed := false, false, false
	for f := range s.at(addr) {
		some = true
		base, suffix := s.split(f)
		prefixed = prefixed || strings.HasSuffix(base, string(name))
		if base == string(name) {
			named = true
			m.strong = m.strong || stdelf.SymBind(f.Bind) != stdelf.STB_WEAK
			m.clone = m.clone || strings.Contains(suffix, ".isra") || strings.Contains(suffix, ".constprop")
		}
	}
	m.renamed = some && !named
	m.alias = m.renamed && !prefixed
	return m
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

// suffixed returns the name of a symbol at addr that is the function base with a suffix, the first
// in order; "" if there is none, or if one of just that name is there too. Parts of other functions
// (.cold, .part) don't count.
func (s *symbols) suffixed(addr uint64, base []byte) string {
	found := ""
	for f := range s.at(addr) {
		name, suffix := s.split(f)
		switch {
		case name != string(base):
		case suffix == "":
			return ""
		case strings.Contains(suffix, ".cold"), strings.Contains(suffix, ".part"):
		default:
			if full := s.Symbols.Name(f); found == "" || full < found {
				found = full
			}
		}
	}
	return found
}
