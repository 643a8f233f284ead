package elfwrite

import (
	stdelf "debug/elf"
	"fmt"
	"math"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Edit collects changes to an ELF file: sections that are replaced, added or removed. Write writes
// the changed copy. The file itself does not change, and must stay open until Write returns.
//
// Nothing moves in memory: a loaded section of a linked file keeps its address, its size and its
// place in the file. Other sections keep their places in the file if they are before the first
// change. (The section names and the section headers count as changed.) Sections after the first
// change are laid out again in the same order, each with its alignment. New sections and the
// section headers come last. So the result does not depend on earlier edits: setting a section to A
// and later to B gives the same bytes as setting it only to B.
// Rule: replaced sections: which parts of an ELF file move. Source: objcopy.
type Edit struct {
	class
	f        *elf.File
	sections []section // by index
	strndx   int       // index of the section with the names
	fixed    uint64    // bytes before this offset keep their places: headers, loaded sections
	first    uint64    // offset of the first byte after fixed that may change
	headers  []span    // the ELF header and the program headers
}

type section struct {
	header  sectionHeader // the offset is set by layOut
	name    string
	data    []byte // content in the file; nil for SHT_NOBITS and SHT_NULL
	at      uint64 // offset in the old file, or isNew if that file lacks the section
	changed bool
}

// isNew is the value of section.at for new sections, which follow all others.
const isNew = math.MaxUint64

// end is where the section ended in the old file.
func (s *section) end() uint64 {
	if s.at == isNew {
		return isNew
	}
	return s.at + uint64(len(s.data))
}

func (s *section) is(flag stdelf.SectionFlag) bool {
	return stdelf.SectionFlag(s.header.flags)&flag != 0
}

// asLinked is the advice for files from which headers were removed.
const asLinked = "; pass the file as the compiler or linker wrote it"

// NewEdit returns an Edit of f without changes. Errors name the file.
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
		return fmt.Errorf("no section headers, so sections cannot be added" + asLinked)
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
		return fmt.Errorf("no section names, so sections cannot be added" + asLinked)
	}
	if typ := f.Sections[e.strndx].Type; typ != stdelf.SHT_STRTAB {
		return fmt.Errorf("section %d holds the section names, but has type %s"+message.Rebuild,
			e.strndx, typ)
	}
	if e.fixed, err = e.fixedPart(); err != nil {
		return err
	}
	names := &e.sections[e.strndx]
	if len(names.data) == 0 {
		e.change(names, []byte{0}) // offset 0 stays the empty name
	} else if !e.isFixed(names) {
		e.change(names, names.data) // the table may grow
	}
	e.mayChange(shoff)
	return nil
}

// mayChange notes that, from the given offset on, bytes of the file may change or be removed.
func (e *Edit) mayChange(offset uint64) {
	if offset >= e.fixed {
		e.first = min(e.first, offset)
	}
}

// Set sets the content of a section. An existing section keeps its index, type, flags and
// alignment; a new section is added after the last one. The content must not change until Write
// returns.
//
// It is an error to change the size of a loaded section of a linked file, or to replace a section
// that has relocations or that has no bytes in the file. Errors name the file.
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

// Patch replaces the content of an existing section with content of the same size. Unlike Set,
// Patch never moves other sections.
// Rule: replaced sections of the same size. Source: resolve_btfids patch_btfids.
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

// Unload makes a loaded section of a linked file a section that isn't loaded, so that its content
// may have any size. The section moves to the end of the file, and is empty until Set is called.
// The old bytes are still loaded, and symbols in the section don't change. Errors name the file.
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
		return fmt.Errorf("section %d (%s) is in a loaded segment, so its size cannot change from "+
			"%d to %d bytes", i, s.name, len(s.data), len(data))
	}
	e.change(s, data)
	s.header.flags &^= uint64(stdelf.SHF_COMPRESSED)
	return nil
}

// change sets the content of a section. An empty section in the fixed part moves to the end.
func (e *Edit) change(s *section, data []byte) {
	if len(s.data) == 0 && s.at < e.fixed {
		s.at = isNew
	}
	e.mayChange(s.at)
	s.data, s.changed = data, true
}

// Remove removes a section if the file has it. Other sections keep their indices: the header of the
// removed section becomes inactive (SHT_NULL), or is removed if it is the last one and nothing
// refers to the section. It is an error to remove a loaded section of a linked file, or a section
// that has relocations. Errors name the file.
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

// find returns the index of the section with the given name, or 0 if there is none.
func (e *Edit) find(name string) (int, error) {
	found := 0
	for i := range e.sections[1:] {
		if e.sections[i+1].name != name {
			continue
		}
		if found != 0 {
			return 0, fmt.Errorf("sections %d and %d are both named %s; which one to replace is "+
				"unclear; pass a file with one of them", found, i+1, name)
		}
		found = i + 1
	}
	return found, nil
}

func (e *Edit) checkReplaceable(i int) error {
	s := &e.sections[i]
	typ := stdelf.SectionType(s.header.typ)
	if i == e.strndx || typ == stdelf.SHT_NULL {
		return fmt.Errorf("section %d (%s) cannot be replaced: it has type %s", i, s.name, typ)
	}
	if typ == stdelf.SHT_NOBITS {
		return fmt.Errorf("section %d (%s) has no bytes in this file (%s): this is a separate debug "+
			"file; pass the stripped file", i, s.name, typ)
	}
	j := slices.IndexFunc(e.sections, func(r section) bool {
		typ := stdelf.SectionType(r.header.typ)
		return (typ == stdelf.SHT_REL || typ == stdelf.SHT_RELA) && int(r.header.info) == i
	})
	if j > 0 {
		return fmt.Errorf("section %d (%s) has relocations (section %d), which would not match "+
			"the new content; pass the linked file", i, s.name, j)
	}
	return nil
}

// referred reports whether a symbol or a header refers to section i, or a section group may do so.
func (e *Edit) referred(i int) bool {
	symbols, err := e.f.Symbols()
	return err != nil ||
		slices.ContainsFunc(symbols.List, func(s elf.Symbol) bool { return int(s.Section) == i }) ||
		slices.ContainsFunc(e.sections, func(s section) bool {
			return int(s.header.link) == i || s.is(stdelf.SHF_INFO_LINK) && int(s.header.info) == i ||
				stdelf.SectionType(s.header.typ) == stdelf.SHT_GROUP
		})
}
