package facts

import (
	stdelf "debug/elf"

	"github.com/rules-btf/rules_btf/internal/elf"
)

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

// wanted tells whether the variables of a section are listed.
func (e *extractor) wanted(s *elf.Section) bool {
	if e.facts.Variables == VariablesNone || !s.Alloc() ||
		s.Type != stdelf.SHT_PROGBITS && s.Type != stdelf.SHT_NOBITS {
		return false
	}
	return e.facts.Variables == VariablesAll || s.Name == PerCPUSection
}
