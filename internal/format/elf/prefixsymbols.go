package elf

import "slices"

// Prefix symbols are function symbols that mark the bytes before a function: call thunk padding
// (objtool --prefix), or clang's type hash (-fsanitize=kcfi). The name of such a symbol is one of
// these prefixes, followed by the name of the function. The symbol ends where the function begins.
// Every function may have one, but none is a function of the source.
var prefixes = []string{"__pfx_", "__cfi_"}

const prefixLen = 6 // of each of the prefixes

// maybePrefix reports whether a symbol has the name of a prefix symbol.
func (t *Symbols) maybePrefix(s *Symbol) bool {
	return s.Size != 0 && slices.ContainsFunc(prefixes, func(prefix string) bool {
		return t.HasPrefix(s, prefix)
	})
}

// realFunctions returns those symbols of a list that are functions although their names have such a
// prefix. At the end of such a function, no symbol with the rest of its name begins.
func (t *Functions) realFunctions(list []uint32) []uint32 {
	symbols := t.Symbols.List
	var left []uint32
	for _, i := range list {
		s := &symbols[i]
		if !slices.ContainsFunc(t.At(s.Value+s.Size), func(f Function) bool {
			return t.Symbols.isPrefixOf(s, &symbols[f.Symbol])
		}) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	// A label or another prefix symbol may have that rest as its name; List contains neither.
	ends := map[uint64][]uint32{}
	for _, i := range left {
		end := symbols[i].Value + symbols[i].Size
		ends[end] = append(ends[end], i)
	}
	matched := map[uint32]bool{}
	for i := range symbols {
		if s := &symbols[i]; s.Place == InSection {
			for _, j := range ends[s.Value] {
				if t.Symbols.isPrefixOf(&symbols[j], s) {
					matched[j] = true
				}
			}
		}
	}
	return slices.DeleteFunc(left, func(i uint32) bool { return matched[i] })
}

// isPrefixOf reports whether the name of s, which ends where f begins, is a prefix plus f's name.
func (t *Symbols) isPrefixOf(s, f *Symbol) bool {
	if s.Section != f.Section {
		return false
	}
	// Linkers may store a name as the end of a longer one; then comparing the offsets is enough.
	return f.name == s.name+prefixLen || t.Name(s)[prefixLen:] == t.Name(f)
}
