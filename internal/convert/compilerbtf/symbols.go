package compilerbtf

import (
	stdelf "debug/elf"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// symbols are the symbols of a file's functions and variables, by name. Local symbols are grouped
// by the STT_FILE that precedes them.
type symbols struct {
	sources   []string // by STT_FILE: the base name of the source
	groups    bool     // local symbols are grouped by STT_FILE; otherwise all are in group 0
	functions map[symbol]function
	variables map[symbol]variable
}

type symbol struct {
	group int // one of the constants below, or the group of a local symbol
	name  string
}

const (
	global        = -1 // global symbols, and hidden symbols, which linkers make local
	sourceUnknown = -2 // the local symbols of all sources
)

// function describes all symbols that have the same base name, whether they have a suffix or not.
type function struct {
	exact  bool // some symbol has exactly this name
	strong bool // some symbol has exactly this name and isn't weak
	clone  bool // some symbol is that of a clone with a changed interface
}

// variable describes the symbols of all variables with the same name.
type variable struct {
	perCPU, other bool // some symbol is in a per-CPU section; some symbol is elsewhere
}

// readSymbols reads the symbols of f. Local symbols are grouped if they come from more than one
// source, or if the parameter several is set.
func readSymbols(f *elf.File, several bool) (*symbols, error) {
	all, err := f.Functions()
	if err != nil {
		return nil, err
	}
	list := all.Symbols.List
	s := &symbols{functions: map[symbol]function{}, variables: map[symbol]variable{}}
	named := 0
	for i := range list {
		if list[i].Type == uint8(stdelf.STT_FILE) {
			name := all.Symbols.Name(&list[i])
			s.sources = append(s.sources, name[strings.LastIndexByte(name, '/')+1:])
			if name != "" {
				named++
			}
		}
	}
	s.groups = several || named > 1
	for _, i := range all.Table {
		s.addFunction(all, &list[i])
	}
	for i := range list {
		if list[i].Type == uint8(stdelf.STT_OBJECT) {
			s.addVariable(f, all.Symbols, &list[i])
		}
	}
	return s, nil
}

func (s *symbols) places(at *elf.Symbol) []int {
	visibility := stdelf.ST_VISIBILITY(at.Other)
	switch {
	case at.Bind != uint8(stdelf.STB_LOCAL), visibility == stdelf.STV_HIDDEN,
		visibility == stdelf.STV_INTERNAL:
		return []int{global}
	case !s.groups:
		return []int{0}
	}
	return []int{int(at.FileIndex), sourceUnknown}
}

func (s *symbols) addFunction(all *elf.Functions, at *elf.Symbol) {
	name := all.Symbols.Name(at)
	base, ok := facts.BaseName(name)
	if !ok {
		return
	}
	suffix := name[len(base):]
	for _, group := range s.places(at) {
		key := symbol{group, base}
		f := s.functions[key]
		f.exact = f.exact || suffix == ""
		f.clone = f.clone || strings.Contains(suffix, ".isra") || strings.Contains(suffix, ".constprop")
		f.strong = f.strong || suffix == "" && at.Bind != uint8(stdelf.STB_WEAK)
		s.functions[key] = f
	}
}

func (s *symbols) addVariable(f *elf.File, all *elf.Symbols, at *elf.Symbol) {
	perCPU := false
	switch at.Place {
	case elf.Common:
	case elf.InSection:
		perCPU = facts.IsPerCPU(f, f.Sections[at.Section].Name)
	default:
		return
	}
	// Link-time optimization renames static variables.
	name, _, _ := strings.Cut(all.Name(at), ".lto_priv.")
	for _, group := range s.places(at) {
		key := symbol{group, name}
		v := s.variables[key]
		v.perCPU, v.other = v.perCPU || perCPU, v.other || !perCPU
		s.variables[key] = v
	}
}

// function describes the symbols of a function in a source file, or returns nil if there is none.
func (s *symbols) function(name string, static bool, source int) *function {
	if !static {
		if f, ok := s.functions[symbol{global, name}]; ok {
			return &f
		}
	}
	if f, ok := s.functions[symbol{source, name}]; ok {
		return &f
	}
	return nil
}

// variable reports whether a variable that a source file defines has a symbol (ok), and whether the
// variable is per-CPU. If a per-CPU variable and another variable have the same name, the result is
// for the per-CPU variable, because each of the features var and global_var encodes such variables.
func (s *symbols) variable(name string, static bool, source int) (perCPU, ok bool) {
	v := variable{}
	if !static {
		v, ok = s.variables[symbol{global, name}]
	}
	if !ok {
		v, ok = s.variables[symbol{source, name}]
	}
	return v.perCPU, ok
}

// sourceName returns the base name of a source, or "" if the name is unknown.
func (s *symbols) sourceName(source int) string {
	if !s.groups {
		for _, name := range s.sources {
			if name != "" {
				return name
			}
		}
	}
	if source < 0 || source >= len(s.sources) {
		return ""
	}
	return s.sources[source]
}
