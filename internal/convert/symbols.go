package convert

import (
	stdelf "debug/elf"
	"sort"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// clones finds suffixed function symbols (foo.isra.0) by address. It is filled when it is first asked.
type clones struct {
	file *elf.File
	once sync.Once
	list []clone
}

type clone struct {
	addr uint64
	name string
}

// at returns the names of the suffixed functions that start at addr.
func (c *clones) at(addr uint64) []string {
	c.once.Do(c.fill)
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].addr >= addr })
	var names []string
	for ; i < len(c.list) && c.list[i].addr == addr; i++ {
		names = append(names, c.list[i].name)
	}
	return names
}

func (c *clones) fill() {
	syms, err := c.file.Symbols()
	if err != nil {
		return // the caller has read them before: see File
	}
	for i := range syms {
		s := &syms[i]
		if stdelf.SymType(s.Type) == stdelf.STT_FUNC && s.Section >= 0 && strings.IndexByte(s.Name, '.') > 0 {
			c.list = append(c.list, clone{s.Value, s.Name})
		}
	}
	sort.Slice(c.list, func(i, j int) bool {
		if c.list[i].addr != c.list[j].addr {
			return c.list[i].addr < c.list[j].addr
		}
		return c.list[i].name < c.list[j].name
	})
}
