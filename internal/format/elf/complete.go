package elf

import (
	stdelf "debug/elf"
	"slices"
	"strings"
)

// Complete adds to f, a separate debug file (objcopy --only-keep-debug, eu-strip -f), what only the
// stripped file from the same link has. If f has only the header of a section (SHT_NOBITS), the
// section gets its contents from the stripped file. Sections that f lacks are added, among them the
// symbol table if f has none. The DWARF always comes from f. Closing f also closes stripped, even
// after an error.
//
// It is an error if an allocated section has a different address or size in the two files. Until
// Complete is called, only the sections of f may be used.
// Rule: separate debug files: which sections are read from which file. Source: elfutils eu-unstrip.
func (f *File) Complete(stripped *File) error {
	f.others = append(f.others, stripped)
	if f.AddrSize != stripped.AddrSize || f.Order != stripped.Order ||
		f.Machine != stripped.Machine || f.Relocatable() != stripped.Relocatable() {
		return f.errorf("not the debug file of %s: it is %s, %s, not %s, %s; "+sameLink, stripped.Path,
			f.Machine, f.Type, stripped.Machine, stripped.Type)
	}
	theirs := make(map[sectionKey]*Section)
	for k, t := range stripped.keyed() {
		theirs[k] = t
	}
	f.ours = make([]int32, len(stripped.Sections))
	for k, s := range f.keyed() {
		t := theirs[k]
		delete(theirs, k)
		switch {
		case t == nil:
			continue
		case s.Alloc() && (s.Addr != t.Addr || s.Size != t.Size):
			return s.errorf("not the debug file of %s: it has %d bytes at %#x, not %d bytes at "+
				"%#x; "+sameLink, stripped.Path, s.Size, s.Addr, t.Size, t.Addr)
		case s.Type == stdelf.SHT_NOBITS:
			f.Sections[s.Index] = t.withIndex(s.Index)
		}
		f.ours[t.Index] = int32(s.Index)
	}
	hasSymbols := slices.ContainsFunc(f.Sections, isSymtab)
	for k, t := range stripped.keyed() {
		if theirs[k] == nil || strings.HasPrefix(t.Name, ".debug_") ||
			strings.HasPrefix(t.Name, ".zdebug_") || strings.HasPrefix(t.Name, ".gnu_debug") ||
			isSymtab(t) && hasSymbols {
			continue
		}
		f.ours[t.Index] = int32(len(f.Sections))
		f.Sections = append(f.Sections, t.withIndex(len(f.Sections)))
	}
	f.prepare()
	return nil
}

const sameLink = "pass the debug file from the same link"

const detachedText = "no contents: this is a separate debug file; pass the stripped file, and " +
	"this one with --debug-file"

// detached reports whether the section's contents are only in the stripped file.
func (s *Section) detached() bool { return s.Type == stdelf.SHT_NOBITS && s.Size > 0 }

func isSymtab(s *Section) bool { return s.Type == stdelf.SHT_SYMTAB }

// sectionKey identifies a section in both files. In relocatable files, several sections may have
// the same name; their order is the same in both files.
type sectionKey struct {
	name  string
	alloc bool
	nth   int
}

// keyed iterates over the sections of a file with their keys, in order, without the null section.
func (f *File) keyed() func(yield func(sectionKey, *Section) bool) {
	return func(yield func(sectionKey, *Section) bool) {
		seen := make(map[sectionKey]int)
		for _, s := range f.Sections[min(1, len(f.Sections)):] {
			k := sectionKey{name: s.Name, alloc: s.Alloc()}
			seen[k]++
			k.nth = seen[k]
			if !yield(k, s) {
				return
			}
		}
	}
}

// withIndex returns a copy of the section for use in another file, where it has the given index.
func (s *Section) withIndex(index int) *Section {
	return &Section{Index: index, Name: s.Name, Type: s.Type, Flags: s.Flags, Addr: s.Addr,
		Offset: s.Offset, Size: s.Size, Link: s.Link, Info: s.Info, Align: s.Align, f: s.f, raw: s.raw,
		relocs: s.relocs}
}

// SetSupplement sets the function that opens the supplementary file (dwz -m), to which f's DWARF
// refers for what several files have in common. The function open is called once, on first use.
// Closing f also closes the supplementary file.
func (f *File) SetSupplement(open func() (*File, error)) { f.openSupplement = open }

// Supplement returns the supplementary file, or nil if there is none.
func (f *File) Supplement() (*File, error) { return f.supplement() }

func (f *File) readSupplement() (*File, error) {
	if f.openSupplement == nil {
		return nil, nil
	}
	s, err := f.openSupplement()
	if err != nil {
		return nil, err
	}
	f.others = append(f.others, s)
	return s, nil
}
