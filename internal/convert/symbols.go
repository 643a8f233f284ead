package convert

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
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

	clones []clone
	strong addrSet // where a function starts that is not weak
	starts addrSet // where a function starts
	named  addrSet // the same, mixed with its base name (nameKey)

	bySort sync.Once
	sorted []clone // all functions by address and name; renamed makes it
}

// clone is a function symbol; of clones one with a suffix (foo.isra.0).
type clone struct {
	addr uint64
	name string
}

func (s *symbols) load() error {
	s.once.Do(func() {
		list, err := s.file.Symbols()
		if err != nil {
			s.err = err
			return
		}
		s.strong, s.starts, s.named = newAddrSet(len(list)/4), newAddrSet(len(list)/4), newAddrSet(len(list)/4)
		for i := range list {
			f := &list[i]
			if stdelf.SymType(f.Type) != stdelf.STT_FUNC || f.Place != elf.InSection {
				continue
			}
			base, suffix, _ := strings.Cut(f.Name, ".")
			if suffix != "" && base != "" {
				s.clones = append(s.clones, clone{f.Value, f.Name})
			}
			// One that is external in its unit and local here is a hidden one of a linked file.
			if stdelf.SymBind(f.Bind) != stdelf.STB_WEAK {
				s.strong.add(f.Value)
			}
			s.starts.add(f.Value)
			s.named.add(nameKey(f.Value, types.HashString([]byte(base))))
		}
		slices.SortFunc(s.clones, compareClones)
	})
	return s.err
}

func compareClones(a, b clone) int {
	return cmp.Or(cmp.Compare(a.addr, b.addr), strings.Compare(a.name, b.name))
}

// nameKey is a function of an address and a base name; two are hardly ever the same.
func nameKey(addr uint64, name types.Hash) uint64 { return addr*0x9e3779b97f4a7c15 ^ name.A }

// isRenamed tells whether functions start at addr, but none of that base name.
func (s *symbols) isRenamed(addr uint64, name types.Hash) bool {
	return !s.named.has(nameKey(addr, name)) && s.starts.has(addr)
}

// nameAt is the base name of a function that starts at addr, the first one in order; "" if there is none.
func (s *symbols) nameAt(addr uint64) string {
	s.bySort.Do(func() {
		list, _ := s.file.Symbols() // load has returned the error
		for i := range list {
			if f := &list[i]; stdelf.SymType(f.Type) == stdelf.STT_FUNC && f.Place == elf.InSection {
				s.sorted = append(s.sorted, clone{f.Value, f.Name})
			}
		}
		slices.SortFunc(s.sorted, compareClones)
	})
	i, _ := slices.BinarySearchFunc(s.sorted, clone{addr: addr}, compareClones)
	if i == len(s.sorted) || s.sorted[i].addr != addr {
		return ""
	}
	base, _, _ := strings.Cut(s.sorted[i].name, ".")
	return base
}

// isClone tells whether a symbol at addr is a clone of the function base with a changed interface.
func (s *symbols) isClone(addr uint64, base func() string) bool {
	i, _ := slices.BinarySearchFunc(s.clones, clone{addr: addr}, compareClones)
	for ; i < len(s.clones) && s.clones[i].addr == addr; i++ {
		if suffix, ok := strings.CutPrefix(s.clones[i].name, base()); ok && strings.HasPrefix(suffix, ".") &&
			(strings.Contains(suffix, ".isra") || strings.Contains(suffix, ".constprop")) {
			return true
		}
	}
	return false
}

// addrSet is a set of addresses.
type addrSet struct {
	slots []uint64 // address + 1
	used  int
}

func newAddrSet(n int) addrSet {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return addrSet{slots: make([]uint64, size)}
}

// place is where addr is or belongs.
func (s *addrSet) place(addr uint64) *uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := addr * 0x9e3779b97f4a7c15 >> 20 & mask; ; i = (i + 1) & mask {
		if p := &s.slots[i]; *p == 0 || *p == addr+1 {
			return p
		}
	}
}

func (s *addrSet) add(addr uint64) {
	p := s.place(addr)
	if *p != 0 {
		return
	}
	*p = addr + 1
	if s.used++; s.used*2 <= len(s.slots) {
		return
	}
	old := s.slots
	s.slots = make([]uint64, 2*len(old))
	for _, v := range old {
		if v != 0 {
			*s.place(v - 1) = v
		}
	}
}

func (s *addrSet) has(addr uint64) bool { return *s.place(addr) != 0 }
