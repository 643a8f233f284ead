package facts

import (
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/features"
)

// Options is what Extract depends on beside the file.
type Options struct {
	Features features.Set
	// Base is the base of the file's own .BTF. It is needed for modules without
	// .BTF.base whose kfunc sets are resolved and hold different flags; nil
	// means that .BTF stands alone.
	Base *btf.Blob
}

// Extract reads the facts from a file. The result does not refer to it.
func Extract(f *elf.File, o Options) (*Facts, error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	e := &extractor{file: f, symbols: symbols, facts: &Facts{
		Machine:   f.Machine,
		AddrSize:  f.AddrSize,
		BigEndian: f.Order == binary.BigEndian,
		Variables: VariablesNone,
	}}
	switch {
	case o.Features.Has(features.GlobalVar):
		e.facts.Variables = VariablesAll
	case o.Features.Has(features.Var):
		e.facts.Variables = VariablesPerCPU
	}
	e.openGroups()
	e.collectFunctions()
	e.collectObjects()
	e.closeGroups()
	e.facts.KfuncState = KfuncsOff
	if o.Features.Has(features.DeclTagKfuncs) {
		if err := e.collectKfuncs(o.Base); err != nil {
			return nil, err
		}
	}
	e.facts.normalize()
	return e.facts, nil
}

// extractor gathers facts from one file's symbols.
type extractor struct {
	file    *elf.File
	symbols []elf.Symbol
	facts   *Facts
}

// openGroups makes a File for every STT_FILE symbol, and one in front for
// local symbols before any of them: local symbols with FileIndex i belong to
// Files[i+1].
func (e *extractor) openGroups() {
	e.facts.Files = []File{{}}
	for i := range e.symbols {
		if s := &e.symbols[i]; s.Type == uint8(stdelf.STT_FILE) {
			e.facts.HasFiles = true
			e.facts.Files = append(e.facts.Files, File{Name: strings.Clone(s.Name)})
		}
	}
}

// closeGroups drops the files that hold nothing.
func (e *extractor) closeGroups() {
	used := make([]bool, len(e.facts.Files))
	for i := range e.facts.Files {
		used[i] = len(e.facts.Files[i].Funcs) > 0
	}
	for _, o := range e.facts.Objects {
		if o.File >= 0 {
			used[o.File] = true
		}
	}
	place := make([]int, len(used))
	var kept []File
	for i, u := range used {
		place[i] = len(kept)
		if u {
			kept = append(kept, e.facts.Files[i])
		}
	}
	e.facts.Files = kept
	for i := range e.facts.Objects {
		if o := &e.facts.Objects[i]; o.File >= 0 {
			o.File = place[o.File]
		}
	}
}

// position is where a symbol points: the same address in another section of a
// relocatable file is another position.
type position struct {
	section int
	value   uint64
}

// function is one symbol of a function.
type function struct {
	base string
	at   position
}

// collectFunctions lists the STT_FUNC symbols and counts the addresses of each
// base name.
func (e *extractor) collectFunctions() {
	prefixes := e.prefixSymbols()
	var all []function
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Type != uint8(stdelf.STT_FUNC) || s.Place == elf.Undefined || prefixes[i] {
			continue
		}
		base, ok := BaseName(s.Name)
		if !ok {
			continue
		}
		all = append(all, function{base, position{s.Section, s.Value}})
		name := strings.Clone(s.Name)
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			file := &e.facts.Files[s.FileIndex+1]
			file.Funcs = append(file.Funcs, name)
		} else {
			e.facts.Globals = append(e.facts.Globals, name)
		}
	}
	slices.SortFunc(all, func(a, b function) int {
		if c := strings.Compare(a.base, b.base); c != 0 {
			return c
		}
		return comparePositions(a.at, b.at)
	})
	for i := 0; i < len(all); {
		j, addresses := i+1, 1
		for ; j < len(all) && all[j].base == all[i].base; j++ {
			if all[j].at != all[j-1].at {
				addresses++
			}
		}
		if addresses > 1 {
			e.facts.Repeated = append(e.facts.Repeated, Base{strings.Clone(all[i].base), addresses})
		}
		i = j
	}
}

func comparePositions(a, b position) int {
	switch {
	case a == b:
		return 0
	case a.section < b.section, a.section == b.section && a.value < b.value:
		return -1
	}
	return 1
}

// Names of symbols that mark the bytes before a function: call thunk padding
// (objtool --prefix) and clang's type hash (-fsanitize=kcfi).
var prefixMarks = []string{"__pfx_", "__cfi_"}

// prefixSymbols finds the STT_FUNC symbols that only mark the bytes before a
// function: NAME with a mark, ending where the function NAME begins. They are
// as many as the functions, and no function of any source.
func (e *extractor) prefixSymbols() map[int]bool {
	type key struct {
		name string
		at   position
	}
	marked := map[key][]int{}
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Type != uint8(stdelf.STT_FUNC) || s.Place != elf.InSection || s.Size == 0 {
			continue
		}
		for _, mark := range prefixMarks {
			if name, ok := strings.CutPrefix(s.Name, mark); ok {
				k := key{name, position{s.Section, s.Value + s.Size}}
				marked[k] = append(marked[k], i)
			}
		}
	}
	found := map[int]bool{}
	if len(marked) == 0 {
		return found
	}
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Place == elf.InSection {
			for _, prefix := range marked[key{s.Name, position{s.Section, s.Value}}] {
				found[prefix] = true
			}
		}
	}
	return found
}

// collectObjects lists the STT_OBJECT symbols of the wanted sections.
func (e *extractor) collectObjects() {
	if e.facts.Variables == VariablesNone {
		return
	}
	names := map[int]string{}
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Type != uint8(stdelf.STT_OBJECT) || s.Place != elf.InSection || s.Name == "" {
			continue
		}
		section := e.file.Sections[s.Section]
		if !e.wanted(section) || s.Value < section.Addr {
			continue
		}
		name, ok := names[s.Section]
		if !ok {
			name = strings.Clone(section.Name)
			names[s.Section] = name
		}
		o := Object{Name: strings.Clone(s.Name), Section: name, Offset: s.Value - section.Addr, Size: s.Size, File: -1}
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			o.Local, o.File = true, s.FileIndex+1
		}
		e.facts.Objects = append(e.facts.Objects, o)
	}
}

// wanted tells whether the variables of a section are.
func (e *extractor) wanted(s *elf.Section) bool {
	if !s.Alloc() || s.Type != stdelf.SHT_PROGBITS && s.Type != stdelf.SHT_NOBITS {
		return false
	}
	return e.facts.Variables == VariablesAll || s.Name == PerCPUSection
}
