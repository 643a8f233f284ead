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

// Functions are the function symbols (STT_FUNC) in sections. Those that only mark the bytes before
// a function are none.
type Functions struct {
	Symbols *Symbols
	List    []Function // by address, then in order of the symbol table
	Table   []uint32   // their symbols in order of the symbol table, which is that of the names too

	// The functions at distances from base whose upper bits, those from shift on, are i begin at
	// List[first[i]].
	base  uint64
	shift uint
	first []uint32
}

// Functions returns the functions. They are read once; the caller must not modify them.
func (f *File) Functions() (*Functions, error) { return f.funcs() }

// At returns the functions at an address.
func (t *Functions) At(addr uint64) []Function {
	// Addresses below the base are far above it, for numbers wrap around.
	i := (addr - t.base) >> t.shift
	if i >= uint64(max(1, len(t.first))-1) {
		return nil
	}
	from, to := t.first[i], t.first[i+1]
	for from+8 < to { // functions far from others are in one bucket only by chance, or by malice
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
	n := 0
	for i := range symbols.List {
		if symbols.List[i].isFunction() {
			n++
		}
	}
	t := &Functions{Symbols: symbols, Table: make([]uint32, 0, n)}
	marks := make([]uint32, 0, n)
	for i := range symbols.List {
		if s := &symbols.List[i]; !s.isFunction() {
			continue
		} else if symbols.isMark(s) {
			marks = append(marks, uint32(i))
		} else {
			t.Table = append(t.Table, uint32(i))
		}
	}
	t.sort()
	if others := t.unmatched(marks); len(others) > 0 {
		t.Table = append(t.Table, others...)
		slices.Sort(t.Table)
		t.sort()
	}
	return t
}

// sort makes List of Table.
func (t *Functions) sort() {
	list := make([]Function, len(t.Table))
	for i, symbol := range t.Table {
		list[i] = Function{t.Symbols.List[symbol].Value, symbol}
	}
	t.List = sortByAddress(list)
	t.index()
}

func (s *Symbol) isFunction() bool {
	return s.Type == uint8(stdelf.STT_FUNC) &&
		s.Place == InSection
}

// index prepares At: about as many buckets as functions.
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

// sortByAddress sorts stably, some bits of the address at a time, and may use list's memory for the
// result.
func sortByAddress(list []Function) []Function {
	if len(list) < 1<<10 {
		slices.SortStableFunc(list, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
		return list
	}
	low, high := list[0].Addr, list[0].Addr
	for i := range list {
		low, high = min(low, list[i].Addr), max(high, list[i].Addr)
	}
	const digit = 1 << 13
	to := make([]Function, len(list))
	for shift := 0; shift < bits.Len64(high-low); shift += 13 {
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

// marks are what names of symbols begin with that mark the bytes before a function: call thunk
// padding (objtool --prefix) and clang's type hash (-fsanitize=kcfi).
var marks = []string{"__pfx_", "__cfi_"}

const markLen = 6 // of each mark

// isMark tells whether a symbol's name begins with a mark.
func (t *Symbols) isMark(s *Symbol) bool {
	return s.Size != 0 && slices.ContainsFunc(marks, func(mark string) bool {
		return t.HasPrefix(s,
			mark)
	})
}

// unmatched returns those of the symbols list, whose names begin with a mark, that are functions
// all the same. The others only mark the bytes before one: NAME with a mark, ending where NAME
// begins. They are as many as the functions, and no function of any source.
func (t *Functions) unmatched(list []uint32) []uint32 {
	symbols := t.Symbols.List
	var left []uint32
	for _, i := range list {
		s := &symbols[i]
		if !slices.ContainsFunc(t.At(s.Value+s.Size),
			func(f Function) bool { return t.Symbols.marks(s, &symbols[f.Symbol]) }) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	// A label may have the name, or another mark.
	ends := map[uint64][]uint32{}
	for _, i := range left {
		end := symbols[i].Value + symbols[i].Size
		ends[end] = append(ends[end], i)
	}
	matched := map[uint32]bool{}
	for i := range symbols {
		if s := &symbols[i]; s.Place == InSection {
			for _, j := range ends[s.Value] {
				if t.Symbols.marks(&symbols[j], s) {
					matched[j] = true
				}
			}
		}
	}
	return slices.DeleteFunc(left, func(i uint32) bool { return matched[i] })
}

// marks tells whether s, whose name begins with a mark, marks f at its end.
func (t *Symbols) marks(s, f *Symbol) bool {
	if s.Section != f.Section {
		return false
	}
	// Linkers let a name share the end of a longer one.
	return f.name == s.name+markLen || t.Name(s)[markLen:] == t.Name(f)
}
