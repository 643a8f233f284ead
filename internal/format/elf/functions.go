package elf

import (
	"cmp"
	stdelf "debug/elf"
	"math/bits"
	"slices"
)

// Function is a function symbol in a section.
type Function struct {
	Addr   uint64
	Symbol uint32 // its index in Symbols.List
}

// Functions are the function symbols (STT_FUNC) in sections, except prefix symbols.
type Functions struct {
	Symbols *Symbols
	List    []Function // by address; at the same address, in the order of the symbol table
	Table   []uint32   // the indexes of the functions' symbols, in the order of the symbol table

	// These fields index List by address, with about as many buckets as functions. Bucket i
	// has the functions with (address - base) >> shift == i, the first of which is List[first[i]].
	base  uint64
	shift uint
	first []uint32
}

// Functions returns the file's functions. They are read once; the caller must not modify them.
func (f *File) Functions() (*Functions, error) { return f.funcs() }

// At returns the functions that start at an address.
func (t *Functions) At(addr uint64) []Function {
	// For an address below the base, the difference wraps around, so i is too large.
	i := (addr - t.base) >> t.shift
	if i >= uint64(max(1, len(t.first))-1) {
		return nil
	}
	from, to := t.first[i], t.first[i+1]
	for from+8 < to { // buckets are small, unless addresses are spread very unevenly
		if mid := from + (to-from)/2; t.List[mid].Addr < addr {
			from = mid + 1
		} else {
			to = mid + 1
		}
	}
	for ; from < to && t.List[from].Addr < addr; from++ {
	}
	end := from
	for ; int(end) < len(t.List) && t.List[end].Addr == addr; end++ {
	}
	return t.List[from:end]
}

func (f *File) readFunctions() (*Functions, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	return newFunctions(symbols), nil
}

func newFunctions(symbols *Symbols) *Functions {
	half := len(symbols.List) / 2 // usually enough
	t := &Functions{Symbols: symbols, Table: make([]uint32, 0, half)}
	prefixed := make([]uint32, 0, half)
	for i := range symbols.List {
		if s := &symbols.List[i]; !s.isFunction() {
			continue
		} else if symbols.maybePrefix(s) {
			prefixed = append(prefixed, uint32(i))
		} else {
			t.Table = append(t.Table, uint32(i))
		}
	}
	t.sort()
	if others := t.realFunctions(prefixed); len(others) > 0 {
		t.Table = append(t.Table, others...)
		slices.Sort(t.Table)
		t.sort()
	}
	return t
}

// sort makes List, and the index of List, from Table.
func (t *Functions) sort() {
	list := make([]Function, len(t.Table))
	for i, symbol := range t.Table {
		list[i] = Function{t.Symbols.List[symbol].Value, symbol}
	}
	t.List = sortByAddress(list)
	t.index()
}

func (s *Symbol) isFunction() bool {
	return s.Type == uint8(stdelf.STT_FUNC) && s.Place == InSection
}

func (t *Functions) index() {
	if len(t.List) == 0 {
		return
	}
	t.base = t.List[0].Addr
	span := t.List[len(t.List)-1].Addr - t.base
	t.shift = uint(max(0, bits.Len64(span)-bits.Len(uint(len(t.List)))))
	t.first = make([]uint32, 0, span>>t.shift+2)
	for i := range t.List {
		for b := (t.List[i].Addr - t.base) >> t.shift; uint64(len(t.first)) <= b; {
			t.first = append(t.first, uint32(i))
		}
	}
	t.first = append(t.first, uint32(len(t.List)))
}

// sortByAddress is a stable radix sort, which sorts by 13 bits of the address at a time. The result
// may be in the memory of list or in new memory.
func sortByAddress(list []Function) []Function {
	if len(list) < 1<<10 {
		slices.SortStableFunc(list, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
		return list
	}
	low, high := list[0].Addr, list[0].Addr
	for i := range list {
		low, high = min(low, list[i].Addr), max(high, list[i].Addr)
	}
	const bitsPerPass, digit = 13, 1 << 13
	to := make([]Function, len(list))
	for shift := 0; shift < bits.Len64(high-low); shift += bitsPerPass {
		var at [digit]uint32
		for i := range list {
			at[(list[i].Addr-low)>>shift%digit]++
		}
		sum := uint32(0)
		for i := range at {
			at[i], sum = sum, sum+at[i]
		}
		for i := range list {
			p := &at[(list[i].Addr-low)>>shift%digit]
			to[*p] = list[i]
			*p++
		}
		list, to = to, list
	}
	return list
}
