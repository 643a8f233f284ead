package elf

import "slices"

// Prefix symbols are function symbols that mark the bytes before a function: call thunk padding
// (objtool --prefix), or clang's type hash (-fsanitize=kcfi). The name of such a symbol is one of
// these prefixes, followed by the name of the function. The symbol ends where the function begins.
// Any function may have a prefix symbol, but no prefix symbol is a function in the source.
const (
	paddingPrefix  = "__pfx_"
	typeHashPrefix = "__cfi_"
	prefixLen      = len(paddingPrefix) // of both
)

// maybePrefix reports whether a symbol has the name of a prefix symbol.
func (t *Symbols) maybePrefix(s *Symbol) bool {
	return s.Size != 0 && (t.HasPrefix(s, paddingPrefix) || t.HasPrefix(s, typeHashPrefix))
}

// realFunctions returns the symbols in list that are functions, not prefix symbols. Where a prefix
// symbol ends, another symbol begins, whose name is the rest of the prefix symbol's name.
// Rule: prefix symbols (__pfx_, __cfi_) are not functions.
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
	// The symbol that begins there may be a label or another prefix symbol; List contains neither.
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
	// Linkers may store a name as the end of a longer name; then comparing the offsets is enough.
	return f.name == s.name+uint32(prefixLen) || t.Name(s)[prefixLen:] == t.Name(f)
}
