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

// Extract reads the facts from a file. The result does not refer to it. The functions are in no
// order; Write brings them into theirs.
func Extract(f *elf.File, o Options) (*Facts, error) {
	functions, err := f.Functions()
	if err != nil {
		return nil, err
	}
	e := &extractor{file: f, symbols: functions.Symbols, facts: &Facts{
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
	e.classify()
	e.openGroups()
	e.collectFunctions(functions)
	e.collectObjects()
	e.closeGroups()
	e.facts.KfuncState = KfuncsOff
	if o.Features.Has(features.DeclTagKfuncs) {
		if err := e.collectKfuncs(o.Base); err != nil {
			return nil, err
		}
	}
	e.facts.sortFew()
	return e.facts, nil
}

// extractor gathers facts from one file's symbols.
type extractor struct {
	file    *elf.File
	symbols *elf.Symbols
	facts   *Facts
	names   nameStore

	sources []*elf.Symbol // STT_FILE
	loose   []*elf.Symbol // STT_FUNC, defined but not in a section
	objects []*elf.Symbol // STT_OBJECT, in wanted sections
	ids     []*elf.Symbol // in .BTF_ids, of any type
}

// classify looks at each symbol once.
func (e *extractor) classify() {
	const object, id = 1, 2
	sections := make([]uint8, len(e.file.Sections))
	for i, s := range e.file.Sections {
		if e.wanted(s) {
			sections[i] |= object
		}
		if s.Name == idsSection {
			sections[i] |= id
		}
	}
	for i := range e.symbols.List {
		s := &e.symbols.List[i]
		switch {
		case s.Type == uint8(stdelf.STT_FILE):
			e.sources = append(e.sources, s)
		case s.Type == uint8(stdelf.STT_FUNC) && s.Place != elf.Undefined && s.Place != elf.InSection:
			e.loose = append(e.loose, s)
		}
		if s.Place != elf.InSection || sections[s.Section] == 0 {
			continue
		}
		if sections[s.Section]&object != 0 && s.Type == uint8(stdelf.STT_OBJECT) {
			e.objects = append(e.objects, s)
		}
		if sections[s.Section]&id != 0 {
			e.ids = append(e.ids, s)
		}
	}
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
	for _, s := range e.sources {
		e.facts.Files = append(e.facts.Files, File{Name: e.names.keep(baseOfPath(e.symbols.Name(s)))})
	}
}

// namesSources tells whether the STT_FILE symbols name the sources of local
// symbols. Link-time optimization makes objects of its own, in which functions
// of several sources stand together, global ones have become local, and others
// are gone: LLVM's are called ld-temp.o; gcc's have no name, and suffixes at
// what was static in one source.
func (e *extractor) namesSources() bool {
	named := false
	for _, s := range e.sources {
		switch e.symbols.Name(s) {
		case "ld-temp.o":
			return false
		case "":
		default:
			named = true
		}
	}
	return named && !e.symbols.Contain(".lto_priv.")
}

// group is the index of a local symbol's File. A hidden symbol was global until
// the link; linkers put it behind the local ones of its input file, which may be
// of many sources (vmlinux.o), so the STT_FILE before it is not its source.
func (e *extractor) group(s *elf.Symbol) int {
	hidden := stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_HIDDEN ||
		stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_INTERNAL
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
	if len(s) >= 8 {
		return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
			uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
	}
	for i := range len(s) {
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
func (e *extractor) collectFunctions(in *elf.Functions) {
	all := make([]*elf.Symbol, 0, len(in.Table)+len(e.loose))
	for _, i := range in.Table {
		all = append(all, &e.symbols.List[i])
	}
	all = append(all, e.loose...)
	sizes := make([]int, len(e.facts.Files))
	globals := 0
	for _, s := range all {
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			sizes[e.group(s)]++
		} else {
			globals++
		}
	}
	e.facts.Globals = slices.Grow(e.facts.Globals, globals) // nil if there are none
	locals := make([]string, len(all)-globals)
	for i, n := range sizes {
		if n > 0 {
			e.facts.Files[i].Funcs, locals = locals[:0:n], locals[n:]
		}
	}
	bases := newRepeats(len(all))
	for _, s := range all {
		name := e.symbols.Name(s)
		base, ok := BaseName(name)
		bases.add(base)
		if !ok {
			continue
		}
		list := &e.facts.Globals
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			list = &e.facts.Files[e.group(s)].Funcs
		}
		*list = append(*list, e.names.keep(name))
	}
	var several []function
	for i, s := range all {
		if !bases.maybe(i) {
			continue
		}
		if base, ok := BaseName(e.symbols.Name(s)); ok {
			several = append(several, function{sortKey(base), base, position{s.Section, s.Value}})
		}
	}
	e.countAddresses(several)
}

// countAddresses fills Repeated. all holds the functions whose base names others have too.
func (e *extractor) countAddresses(all []function) {
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

// collectObjects lists the STT_OBJECT symbols of the wanted sections.
func (e *extractor) collectObjects() {
	names := map[int32]string{}
	for _, s := range e.objects {
		section := e.file.Sections[s.Section]
		if e.symbols.Name(s) == "" || s.Value < section.Addr {
			continue
		}
		name, ok := names[s.Section]
		if !ok {
			name = e.names.keep(section.Name)
			names[s.Section] = name
		}
		o := Object{Name: e.names.keep(e.symbols.Name(s)), Section: name, Offset: s.Value - section.Addr,
			Size: s.Size, File: -1}
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			o.Local, o.File = true, e.group(s)
		}
		e.facts.Objects = append(e.facts.Objects, o)
	}
}

// wanted tells whether the variables of a section are.
func (e *extractor) wanted(s *elf.Section) bool {
	if e.facts.Variables == VariablesNone || !s.Alloc() ||
		s.Type != stdelf.SHT_PROGBITS && s.Type != stdelf.SHT_NOBITS {
		return false
	}
	return e.facts.Variables == VariablesAll || s.Name == PerCPUSection
}
