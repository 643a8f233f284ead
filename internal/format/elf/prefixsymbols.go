package elf

import "slices"

// Prefix symbols are function symbols that mark the bytes before a function: call thunk padding
// (objtool --prefix) and clang's type hash (-fsanitize=kcfi). Their name is the function's after
// one of these prefixes, and they end where the function begins. There are as many as functions,
// and no source has a function of that name.
var prefixes = []string{"__pfx_", "__cfi_"}

const prefixLen = 6 // of each of the prefixes

// maybePrefix reports whether a symbol has the name of a prefix symbol.
func (t *Symbols) maybePrefix(s *Symbol) bool {
	return s.Size != 0 && slices.ContainsFunc(prefixes, func(prefix string) bool {
		return t.HasPrefix(s, prefix)
	})
}

// realFunctions returns those symbols of a list that are functions although they have the name of a
// prefix symbol: nothing of the rest of the name begins where they end.
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
	// A label or another prefix symbol may have the name, and these are not in List.
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

// isPrefixOf reports whether s, which ends where f begins, has f's name after a prefix.
func (t *Symbols) isPrefixOf(s, f *Symbol) bool {
	if s.Section != f.Section {
		return false
	}
	// Linkers let a name share the end of a longer one: then the offset alone tells.
	return f.name == s.name+prefixLen || t.Name(s)[prefixLen:] == t.Name(f)
}
