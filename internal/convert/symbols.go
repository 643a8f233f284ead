package convert

import (
	stdelf "debug/elf"
	"slices"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// symbols are the file's function symbols by address. They are read while the first units are.
type symbols struct {
	file *elf.File
	once sync.Once
	err  error

	clones []clone
	strong addrSet // where a global function starts that is not weak
}

// clone is a function symbol with a suffix (foo.isra.0).
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
		s.strong = newAddrSet(len(list) / 4)
		for i := range list {
			f := &list[i]
			if stdelf.SymType(f.Type) != stdelf.STT_FUNC || f.Place != elf.InSection {
				continue
			}
			if strings.IndexByte(f.Name, '.') > 0 {
				s.clones = append(s.clones, clone{f.Value, f.Name})
			}
			if stdelf.SymBind(f.Bind) == stdelf.STB_GLOBAL {
				s.strong.add(f.Value)
			}
		}
		slices.SortFunc(s.clones, func(a, b clone) int {
			if a.addr != b.addr {
				if a.addr < b.addr {
					return -1
				}
				return 1
			}
			return strings.Compare(a.name, b.name)
		})
	})
	return s.err
}

// isClone tells whether a symbol at addr is a clone of the function base with a changed interface.
func (s *symbols) isClone(addr uint64, base func() string) bool {
	i, _ := slices.BinarySearchFunc(s.clones, addr, func(c clone, addr uint64) int {
		if c.addr < addr {
			return -1
		}
		return 1
	})
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
