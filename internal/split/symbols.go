package split

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
)

// The sections of a shard that have addresses, and these. The conversion asks which section a
// variable is in, and which symbols are at a function's entry.
const (
	percpuName  = ".data..percpu"
	percpuAddr  = 0x1000
	dataAddr    = 0x2000
	textAddr    = 0x10000
	textStep    = 4 // from function to function; arm's addresses are even
	textSection = 0 // the index of .text
)

// functions are the functions with code of a shard.
type functions struct {
	count   uint64
	symbols []elfwrite.Function
}

// add adds a function that is at an address of f, if it has one, and returns its new address.
func (t *functions) add(f *elf.File, addr uint64, known bool) (uint64, error) {
	at := textAddr + textStep*t.count
	t.count++
	if !known {
		return at, nil
	}
	all, err := f.Functions()
	if err != nil {
		return 0, err
	}
	first := len(t.symbols)
	for _, of := range all.At(addr) {
		s := &all.Symbols.List[of.Symbol]
		t.symbols = append(t.symbols, elfwrite.Function{Name: strings.Clone(all.Symbols.Name(s)),
			Bind: s.Bind, Section: textSection, Value: at})
	}
	here := t.symbols[first:]
	slices.SortFunc(here, func(a, b elfwrite.Function) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Bind, b.Bind))
	})
	t.symbols = t.symbols[:first+len(slices.Compact(here))]
	return at, nil
}

// sorted are the symbols in the order of a symbol table: local ones first.
func (t *functions) sorted() []elfwrite.Function {
	slices.SortStableFunc(t.symbols, func(a, b elfwrite.Function) int {
		return order(a.Bind) - order(b.Bind)
	})
	return t.symbols
}

func order(bind uint8) int {
	if bind == uint8(stdelf.STB_LOCAL) {
		return 0
	}
	return 1
}

// sections are the sections with addresses, .text first.
func (t *functions) sections() []elfwrite.Section {
	return []elfwrite.Section{
		{Name: ".text", Alloc: true, Exec: true, Addr: textAddr, Memory: textStep * (t.count + 1)},
		{Name: percpuName, Alloc: true, Addr: percpuAddr, Memory: 8},
		{Name: ".data", Alloc: true, Addr: dataAddr, Memory: 8},
	}
}

// variableAddress is the address that a variable at an address of f gets; ok is false if it is in
// no section. The rule is convert's (variable.go, sectionOf).
func variableAddress(f *elf.File, addr uint64) (at uint64, ok bool) {
	s := f.SectionAt(addr)
	switch {
	case s == nil:
		return dataAddr, addr == 0 && f.Relocatable() // a common symbol
	case s.Name == percpuName, f.Relocatable() && strings.HasPrefix(s.Name, percpuName):
		return percpuAddr, true
	}
	return dataAddr, true
}
