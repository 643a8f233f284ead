package elfwrite

import (
	stdelf "debug/elf"
	"fmt"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Edit is an ELF file with sections replaced, added or removed, for Write. The file itself stays as
// it is and must be open until then.
//
// Nothing moves in memory: what a linked file loads keeps its address, its size and its place in
// the file. Of the rest, all that lies before the first change (the section names and the section
// headers count as changed) keeps its place too, and what follows is laid out anew in the same
// order, with the alignment that each section has. New sections and the section headers come last.
// So the result does not depend on earlier edits: to set a section to A and later to B gives the
// same bytes as to set it to B at once.
type Edit struct {
	class
	f        *elf.File
	sections []section // by index
	strndx   int       // of the section with the names
	fixed    uint64    // the file's bytes up to here keep their places: headers and what is loaded
	first    uint64    // offset of the first byte after them that may change
	headers  []span    // the ELF header and the program headers
}

// section is a section as it will be.
type section struct {
	header  sectionHeader // the offset is set by layOut
	name    string
	data    []byte // in the file; nil for SHT_NOBITS and SHT_NULL
	at      uint64 // offset in the file that is edited; isNew if it is not there
	changed bool
}

// isNew is the offset of sections that follow all others.
const isNew = math.MaxUint64

// end is where the section ended in the file that is edited.
func (s *section) end() uint64 {
	if s.at == isNew {
		return isNew
	}
	return s.at + uint64(len(s.data))
}

func (s *section) is(flag stdelf.SectionFlag) bool {
	return stdelf.SectionFlag(s.header.flags)&flag != 0
}

// NewEdit begins with a file without changes. Errors name the file.
func NewEdit(f *elf.File) (*Edit, error) {
	e := &Edit{f: f, first: isNew}
	if err := e.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return e, nil
}

func (e *Edit) read() (err error) {
	f := e.f
	if e.class, err = newClass(f.AddrSize, f.Order); err != nil {
		return err
	}
	if len(f.Sections) == 0 {
		return fmt.Errorf("no section headers; sections cannot be added to such a file")
	}
	ehdr := f.Bytes()
	shoff, tail := e.addr(ehdr[e.pick(32, 40):]), ehdr[e.flagsOffset():]
	entsize := int(e.bo.Uint16(tail[10:]))
	e.strndx = int(e.bo.Uint16(tail[14:]))
	e.sections = make([]section, len(f.Sections))
	for i, s := range f.Sections { // elf.Parse has checked the bounds
		h := e.sectionHeader(f.Bytes()[shoff+uint64(i*entsize):])
		e.sections[i] = section{header: h, name: s.Name, data: s.Raw(), at: h.offset}
	}
	if e.strndx == int(xindex) {
		e.strndx = int(e.sections[0].header.link)
	}
	if e.strndx == 0 {
		return fmt.Errorf("no section names; sections cannot be added to such a file")
	}
	if typ := f.Sections[e.strndx].Type; typ != stdelf.SHT_STRTAB {
		return fmt.Errorf("section %d holds the section names, but is of type %s", e.strndx, typ)
	}
	if e.fixed, err = e.fixedPart(); err != nil {
		return err
	}
	names := &e.sections[e.strndx]
	if len(names.data) == 0 {
		e.change(names, []byte{0}) // sections without a name stay so
	} else if !e.isFixed(names) {
		e.change(names, names.data) // maybe it will grow
	}
	e.mayChange(shoff)
	return nil
}

// mayChange notes that what is at an offset of the file may change or go away.
func (e *Edit) mayChange(offset uint64) {
	if offset >= e.fixed {
		e.first = min(e.first, offset)
	}
}

// Set gives a section its content. One that the file has keeps its index, type, flags and
// alignment; else a section is added after the last one. Its content must not change until Write.
//
// It is an error to change the size of what a linked file loads, and to replace a section that has
// relocations or no bytes in the file. Errors name the file.
func (e *Edit) Set(s Section) error {
	i, err := e.find(s.Name)
	if err == nil {
		err = s.check()
	}
	switch {
	case err != nil:
	case i == 0 && s.Alloc && !e.f.Relocatable():
		err = fmt.Errorf("section %s cannot be added to the loaded segments of a linked file", s.Name)
	case i == 0:
		e.sections = append(e.sections, section{header: s.header(e.addName(s.Name)), name: s.Name,
			data: s.Data, at: isNew, changed: true})
	default:
		err = e.replace(i, s.Data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	return nil
}

// Patch is Set of a section that the file has, by content of the same size. It moves nothing, not
// even to where Set would put what follows the section.
func (e *Edit) Patch(name string, data []byte) error {
	i, err := e.find(name)
	switch {
	case err != nil:
	case i == 0:
		err = fmt.Errorf("no section %s", name)
	case len(data) != len(e.sections[i].data):
		err = fmt.Errorf("section %d (%s) has %d bytes and cannot be replaced with %d", i, name,
			len(e.sections[i].data), len(data))
	default:
		err = e.checkReplaceable(i)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	e.sections[i].data, e.sections[i].changed = data, true
	return nil
}

// Unload takes a section out of what a linked file loads, so that it can get content of any size:
// it becomes one that nothing loads, is empty until Set, and follows all others. What is loaded
// stays as it is. So do symbols in the section. Errors name the file.
func (e *Edit) Unload(name string) error {
	i, err := e.find(name)
	switch {
	case err == nil && i == 0:
		err = fmt.Errorf("no section %s", name)
	case err == nil:
		err = e.checkReplaceable(i)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	s := &e.sections[i]
	s.header.flags &^= uint64(stdelf.SHF_ALLOC)
	s.header.addr = 0
	s.data, s.at, s.changed = nil, isNew, true
	return nil
}

func (e *Edit) replace(i int, data []byte) error {
	s := &e.sections[i]
	if err := e.checkReplaceable(i); err != nil {
		return err
	}
	if (e.isFixed(s) || e.loaded(s)) && len(data) != len(s.data) {
		return fmt.Errorf("section %d (%s) is in a loaded segment, so its size cannot change from %d to "+
			"%d bytes", i, s.name, len(s.data), len(data))
	}
	e.change(s, data)
	s.header.flags &^= uint64(stdelf.SHF_COMPRESSED)
	return nil
}

// change gives a section other content. One that had none where it was moves to the end.
func (e *Edit) change(s *section, data []byte) {
	if len(s.data) == 0 && s.at < e.fixed {
		s.at = isNew
	}
	e.mayChange(s.at)
	s.data, s.changed = data, true
}

// Remove removes a section if the file has it. Other sections keep their indices: unless it is the
// last one and nothing refers to it, its header becomes an inactive one (SHT_NULL). It is an error
// to remove what a linked file loads, and a section that has relocations. Errors name the file.
func (e *Edit) Remove(name string) error {
	i, err := e.find(name)
	if i == 0 && err == nil {
		return nil
	}
	if err == nil {
		err = e.checkReplaceable(i)
	}
	if err == nil && e.isFixed(&e.sections[i]) {
		err = fmt.Errorf("section %d (%s) is in a loaded segment and cannot be removed", i, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.f.Path, err)
	}
	old := e.sections[i]
	e.mayChange(old.at)
	if i == len(e.sections)-1 && !e.referred(i) {
		e.sections = e.sections[:i]
	} else {
		e.sections[i] = section{at: old.at}
	}
	e.cutName(old.header.name, old.name)
	return nil
}

// find returns the index of the section of a name, 0 if there is none.
func (e *Edit) find(name string) (int, error) {
	found := 0
	for i := range e.sections[1:] {
		if e.sections[i+1].name != name {
			continue
		}
		if found != 0 {
			return 0, fmt.Errorf("sections %d and %d are both named %s; which one to replace is unclear",
				found, i+1, name)
		}
		found = i + 1
	}
	return found, nil
}

func (e *Edit) checkReplaceable(i int) error {
	s := &e.sections[i]
	typ := stdelf.SectionType(s.header.typ)
	if i == e.strndx || typ == stdelf.SHT_NULL {
		return fmt.Errorf("section %d (%s) cannot be replaced: it is of type %s", i, s.name, typ)
	}
	if typ == stdelf.SHT_NOBITS {
		return fmt.Errorf("section %d (%s) has no bytes in this file (%s): it is what was split off "+
			"for debuggers; take the file that it comes from", i, s.name, typ)
	}
	j := slices.IndexFunc(e.sections, func(r section) bool {
		typ := stdelf.SectionType(r.header.typ)
		return (typ == stdelf.SHT_REL || typ == stdelf.SHT_RELA) && int(r.header.info) == i
	})
	if j > 0 {
		return fmt.Errorf("section %d (%s) has relocations (section %d), which would not fit other "+
			"data; pass the linked file", i, s.name, j)
	}
	return nil
}

// referred reports whether a symbol or a section header, or maybe a group, refers to section i.
func (e *Edit) referred(i int) bool {
	symbols, err := e.f.Symbols()
	return err != nil ||
		slices.ContainsFunc(symbols.List, func(s elf.Symbol) bool { return int(s.Section) == i }) ||
		slices.ContainsFunc(e.sections, func(s section) bool {
			return int(s.header.link) == i || s.is(stdelf.SHF_INFO_LINK) && int(s.header.info) == i ||
				stdelf.SectionType(s.header.typ) == stdelf.SHT_GROUP
		})
}
