package facts

import (
	"cmp"
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
	names   nameStore
}

// nameStore keeps names together, where strings.Clone would allocate each.
type nameStore struct{ text strings.Builder }

// keep returns a copy of s that doesn't refer to the file.
func (n *nameStore) keep(s string) string {
	if n.text.Cap()-n.text.Len() < len(s) {
		n.text = strings.Builder{}
		n.text.Grow(max(1<<16, len(s)))
	}
	at := n.text.Len()
	n.text.WriteString(s)
	return n.text.String()[at:]
}

// openGroups makes a File for every STT_FILE symbol, and one in front for
// local symbols before any of them: local symbols with FileIndex i belong to
// Files[i+1]. Where the symbols don't tell the sources, all belong to the one.
func (e *extractor) openGroups() {
	e.facts.Files = []File{{}}
	if e.facts.HasFiles = e.namesSources(); !e.facts.HasFiles {
		return
	}
	for i := range e.symbols {
		if s := &e.symbols[i]; s.Type == uint8(stdelf.STT_FILE) {
			e.facts.Files = append(e.facts.Files, File{Name: e.names.keep(baseOfPath(s.Name))})
		}
	}
}

// namesSources tells whether the STT_FILE symbols name the sources of local
// symbols. Link-time optimization makes objects of its own, in which functions
// of several sources stand together, global ones have become local, and others
// are gone: LLVM's are called ld-temp.o; gcc's have no name, and suffixes at
// what was static in one source.
func (e *extractor) namesSources() bool {
	named := false
	for i := range e.symbols {
		s := &e.symbols[i]
		switch {
		case s.Type != uint8(stdelf.STT_FILE):
			if strings.Contains(s.Name, ".lto_priv.") {
				return false
			}
		case s.Name == "ld-temp.o":
			return false
		case s.Name != "":
			named = true
		}
	}
	return named
}

// group is the index of a local symbol's File. A hidden symbol was global until
// the link; linkers put it behind the local ones of its input file, which may be
// of many sources (vmlinux.o), so the STT_FILE before it is not its source.
func (e *extractor) group(s *elf.Symbol) int {
	hidden := stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_HIDDEN || stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_INTERNAL
	if !e.facts.HasFiles || hidden {
		return 0
	}
	return int(s.FileIndex) + 1
}

// baseOfPath is a source file's name without directories, which older compilers write before it.
func baseOfPath(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

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
	section int32
	value   uint64
}

// function is one symbol of a function.
type function struct {
	key  uint64 // the first bytes of base, to compare
	base string
	at   position
}

// sortKey packs the first bytes of a name such that numbers compare as names do.
func sortKey(s string) (key uint64) {
	for i := range min(8, len(s)) {
		key |= uint64(s[i]) << (56 - 8*i)
	}
	return key
}

func compareFunctions(a, b function) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if c := strings.Compare(a.base, b.base); c != 0 {
		return c
	}
	return comparePositions(a.at, b.at)
}

// collectFunctions lists the STT_FUNC symbols and counts the addresses of each
// base name.
func (e *extractor) collectFunctions() {
	prefixes := e.prefixSymbols()
	functions := 0
	for i := range e.symbols {
		if e.symbols[i].Type == uint8(stdelf.STT_FUNC) {
			functions++
		}
	}
	all := make([]function, 0, functions)
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Type != uint8(stdelf.STT_FUNC) || s.Place == elf.Undefined || prefixes != nil && prefixes[i] {
			continue
		}
		base, ok := BaseName(s.Name)
		if !ok {
			continue
		}
		all = append(all, function{sortKey(base), base, position{s.Section, s.Value}})
		name := e.names.keep(s.Name)
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			file := &e.facts.Files[e.group(s)]
			file.Funcs = append(file.Funcs, name)
		} else {
			e.facts.Globals = append(e.facts.Globals, name)
		}
	}
	slices.SortFunc(all, compareFunctions)
	for i := 0; i < len(all); {
		j, addresses := i+1, 1
		for ; j < len(all) && all[j].base == all[i].base; j++ {
			if all[j].at != all[j-1].at {
				addresses++
			}
		}
		if addresses > 1 {
			e.facts.Repeated = append(e.facts.Repeated, Base{e.names.keep(all[i].base), addresses})
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
// as many as the functions, and no function of any source. It tells for every
// symbol whether it is one; nil if none is.
func (e *extractor) prefixSymbols() []bool {
	type mark struct {
		name   string // of the function
		end    position
		symbol int
		next   int // the mark that ends at the same address + 1
	}
	var marks []mark
	ends := map[uint64]int{} // by address: the last mark that ends there + 1
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Type != uint8(stdelf.STT_FUNC) || s.Place != elf.InSection || s.Size == 0 {
			continue
		}
		for _, prefix := range prefixMarks {
			if name, ok := strings.CutPrefix(s.Name, prefix); ok {
				end := position{s.Section, s.Value + s.Size}
				marks = append(marks, mark{name, end, i, ends[end.value]})
				ends[end.value] = len(marks)
			}
		}
	}
	if len(marks) == 0 {
		return nil
	}
	found := make([]bool, len(e.symbols))
	for i := range e.symbols {
		s := &e.symbols[i]
		if s.Place != elf.InSection {
			continue
		}
		for at := ends[s.Value]; at != 0; {
			m := &marks[at-1]
			if m.end.section == s.Section && m.name == s.Name {
				found[m.symbol] = true
			}
			at = m.next
		}
	}
	return found
}

// collectObjects lists the STT_OBJECT symbols of the wanted sections.
func (e *extractor) collectObjects() {
	if e.facts.Variables == VariablesNone {
		return
	}
	names := map[int32]string{}
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
			name = e.names.keep(section.Name)
			names[s.Section] = name
		}
		o := Object{Name: e.names.keep(s.Name), Section: name, Offset: s.Value - section.Addr, Size: s.Size, File: -1}
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			o.Local, o.File = true, e.group(s)
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
