package facts

import (
	stdelf "debug/elf"
	"encoding/binary"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Options are the inputs of Extract in addition to the file.
type Options struct {
	Features features.Set
	// Base is the base of the file's own .BTF; nil means that .BTF has no base. It is used only for
	// modules without .BTF.base, if their kfunc sets are filled in and hold different flags.
	Base *btf.Blob
}

// Extract reads the facts from a file. The result keeps no reference to the file. The functions in
// it are not sorted; Write sorts them.
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
	e.addFiles()
	e.collectFunctions(functions)
	e.collectObjects()
	e.facts.dropNameless()
	e.facts.KfuncState = KfuncsOff
	if o.Features.Has(features.DeclTagKfuncs) {
		if err := e.collectKfuncs(o.Base); err != nil {
			return nil, err
		}
	}
	e.facts.sortFew()
	return e.facts, nil
}

type extractor struct {
	file    *elf.File
	symbols *elf.Symbols
	facts   *Facts
	names   nameStore

	sources []*elf.Symbol // STT_FILE
	loose   []*elf.Symbol // STT_FUNC, defined, but not in a section
	objects []*elf.Symbol // STT_OBJECT, in wanted sections
	ids     []*elf.Symbol // in .BTF_ids, of any type
}

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
		o := Variable{Name: e.names.keep(e.symbols.Name(s)), Section: name,
			Offset: s.Value - section.Addr, Size: s.Size, File: -1}
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			o.Local, o.File = true, e.fileOf(s)
		}
		e.facts.Vars = append(e.facts.Vars, o)
	}
}

// Rule: variables: from which sections the facts list them. Source: pahole btf_encoder__new,
// variable_in_sec.
func (e *extractor) wanted(s *elf.Section) bool {
	if e.facts.Variables == VariablesNone || !s.Alloc() ||
		s.Type != stdelf.SHT_PROGBITS && s.Type != stdelf.SHT_NOBITS {
		return false
	}
	return e.facts.Variables == VariablesAll || s.Name == PerCPUSection
}

// IsPerCPU reports whether a section of f has per-CPU variables.
func IsPerCPU(f *elf.File, section string) bool {
	return section == PerCPUSection || f.Relocatable() && strings.HasPrefix(section, PerCPUSection)
}

// addFiles makes a File for every STT_FILE symbol, and Files[0] for the local symbols before the
// first STT_FILE symbol. So local symbols with FileIndex i belong to Files[i+1]. If the STT_FILE
// symbols don't name the sources, all local symbols belong to Files[0].
func (e *extractor) addFiles() {
	e.facts.Files = []File{{}}
	if e.facts.HasFiles = e.namesSources(); !e.facts.HasFiles {
		return
	}
	for _, s := range e.sources {
		e.facts.Files = append(e.facts.Files, File{Name: e.names.keep(baseOfPath(e.symbols.Name(s)))})
	}
}

// namesSources reports whether the STT_FILE symbols name the sources of local symbols. Link-time
// optimization makes its own object files. In these, functions from several sources are mixed; some
// global functions have become local, and others are gone. LLVM calls these files ld-temp.o. gcc
// gives them no name, and adds the suffix .lto_priv.N to the symbols of functions and variables
// that were static.
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

// fileOf returns the index of a local symbol's File. For a hidden symbol, which was global until
// the link, the last STT_FILE doesn't name the source: linkers write the symbol after all local
// symbols of its input file, which may have many sources (vmlinux.o).
func (e *extractor) fileOf(s *elf.Symbol) int {
	hidden := stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_HIDDEN ||
		stdelf.ST_VISIBILITY(s.Other) == stdelf.STV_INTERNAL
	if !e.facts.HasFiles || hidden {
		return 0
	}
	return int(s.FileIndex) + 1
}

// baseOfPath returns a source file's name without the directories that older compilers write.
func baseOfPath(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
