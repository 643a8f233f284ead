package convert

import (
	stdelf "debug/elf"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// symbols are the file's function symbols by address. They are read while the first units are.
type symbols struct {
	file *elf.File
	once sync.Once
	err  error

	all   []elf.Symbol
	list  []symbol // the functions in all; without pointers, for they are many
	slots []uint32 // by a hash of the address: the last symbol of it in list + 1
}

// symbol is a function symbol.
type symbol struct {
	addr   uint64
	base   uint64 // half of the hash of its name up to the first dot
	index  uint32 // in symbols.all
	next   uint32 // the one before of the same address + 1
	strong bool
	clone  bool // its suffix says that the interface has changed: .isra or .constprop
}

func (s *symbols) load() error {
	s.once.Do(func() {
		if s.all, s.err = s.file.Symbols(); s.err != nil {
			return
		}
		n := 0
		for i := range s.all {
			if isCode(&s.all[i]) {
				n++
			}
		}
		size := 16
		for size < 2*n {
			size *= 2
		}
		s.list, s.slots = make([]symbol, 0, n), make([]uint32, size)
		for i := range s.all {
			if isCode(&s.all[i]) {
				s.add(uint32(i))
			}
		}
	})
	return s.err
}

func isCode(f *elf.Symbol) bool {
	return stdelf.SymType(f.Type) == stdelf.STT_FUNC && f.Place == elf.InSection
}

func (s *symbols) add(index uint32) {
	f := &s.all[index]
	base, suffix := f.Name, ""
	if dot := strings.IndexByte(f.Name, '.'); dot >= 0 {
		base, suffix = f.Name[:dot], f.Name[dot:]
	}
	clone := strings.Contains(suffix, ".isra") || strings.Contains(suffix, ".constprop")
	slot := s.slot(f.Value)
	// One that is external in its unit and local here is a hidden one of a linked file.
	strong := stdelf.SymBind(f.Bind) != stdelf.STB_WEAK
	s.list = append(s.list, symbol{f.Value, types.HashString([]byte(base)).A, index, *slot, strong, clone})
	*slot = uint32(len(s.list))
}

// slot is where addr is or belongs.
func (s *symbols) slot(addr uint64) *uint32 {
	mask := uint64(len(s.slots) - 1)
	for i := addr * 0x9e3779b97f4a7c15 >> 20 & mask; ; i = (i + 1) & mask {
		if p := &s.slots[i]; *p == 0 || s.list[*p-1].addr == addr {
			return p
		}
	}
}

// mark is what the symbols at a function's entry say of it.
type mark struct {
	strong  bool // one is not weak
	renamed bool // there are some, but none of the function's name
	clone   bool // one of its name is a clone with a changed interface
}

// look asks the symbols at addr about the function of that name.
func (s *symbols) look(addr uint64, name types.Hash) (m mark) {
	named := false
	first := *s.slot(addr)
	for i := first; i != 0; i = s.list[i-1].next {
		f := &s.list[i-1]
		m.strong = m.strong || f.strong
		if f.base == name.A {
			named = true
			m.clone = m.clone || f.clone
		}
	}
	m.renamed = first != 0 && !named
	return m
}

// at calls f for the names at addr.
func (s *symbols) at(addr uint64, f func(name string, base uint64)) {
	for i := *s.slot(addr); i != 0; i = s.list[i-1].next {
		f(s.all[s.list[i-1].index].Name, s.list[i-1].base)
	}
}

// nameAt is the base name of a function that starts at addr, the first one in order; "" if there is none.
func (s *symbols) nameAt(addr uint64) string {
	first := ""
	s.at(addr, func(name string, _ uint64) {
		if first == "" || name < first {
			first = name
		}
	})
	base, _, _ := strings.Cut(first, ".")
	return base
}

// suffixed returns the name of a symbol at addr that is the function base with a suffix, the first in order; "" if there
// is none, or if one of just that name is there too. Parts of other functions (.cold, .part) don't count.
func (s *symbols) suffixed(addr uint64, base types.Hash) string {
	found, plain := "", false
	s.at(addr, func(name string, of uint64) {
		dot := strings.IndexByte(name, '.')
		switch {
		case of != base.A:
		case dot < 0:
			plain = true
		case strings.Contains(name[dot:], ".cold"), strings.Contains(name[dot:], ".part"):
		case found == "" || name < found:
			found = name
		}
	})
	if plain {
		return ""
	}
	return found
}
