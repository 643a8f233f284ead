package elf

import (
	stdelf "debug/elf"
	"slices"
	"strings"
)

// Complete makes a separate debug file whole (objcopy --only-keep-debug, eu-strip -f): sections of
// which f has only headers (SHT_NOBITS) get their contents from the stripped file of the same link,
// and sections that f lacks are added. If f has no symbol table, that of the stripped file is used.
// The DWARF is always f's. f closes stripped when it is closed itself, also after an error.
//
// An allocated section that is elsewhere in the other file, or of another size, is an error. It is
// to be called before anything but the sections has been read of f.
func (f *File) Complete(stripped *File) error {
	f.others = append(f.others, stripped)
	if f.AddrSize != stripped.AddrSize || f.Order != stripped.Order ||
		f.Machine != stripped.Machine || f.Relocatable() != stripped.Relocatable() {
		return f.errorf("not the debug file of %s: it is %s, %s, not %s, %s", stripped.Path,
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
			return s.errorf("not the debug file of %s: the section has %d bytes at %#x, there %d at %#x",
				stripped.Path, s.Size, s.Addr, t.Size, t.Addr)
		case s.Type == stdelf.SHT_NOBITS:
			f.Sections[s.Index] = t.as(s.Index)
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
		f.Sections = append(f.Sections, t.as(len(f.Sections)))
	}
	f.prepare()
	return nil
}

// detachedText is what to do about a section that is detached.
const detachedText = "no contents: this is a separate debug file; give the stripped file, and " +
	"this one as its debug file (--dwarf)"

// detached reports whether the contents of a section that has some were left to the stripped file.
func (s *Section) detached() bool { return s.Type == stdelf.SHT_NOBITS && s.Size > 0 }

func isSymtab(s *Section) bool { return s.Type == stdelf.SHT_SYMTAB }

// sectionKey tells the sections of a file apart, and finds them in another one: in relocatable
// files several may have one name, which come in one order.
type sectionKey struct {
	name  string
	alloc bool
	nth   int
}

// keyed are the sections of a file with their keys, in order, but for the null section.
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

// as returns the section as one of another file, with an index there.
func (s *Section) as(index int) *Section {
	return &Section{Index: index, Name: s.Name, Type: s.Type, Flags: s.Flags, Addr: s.Addr,
		Offset: s.Offset, Size: s.Size, Link: s.Link, Info: s.Info, Align: s.Align, f: s.f, raw: s.raw,
		relocs: s.relocs}
}

// SetSupplement says how to open the supplementary file of f's DWARF (dwz -m), in which several
// files have what they share. open is called once, when that is needed; f closes the file.
func (f *File) SetSupplement(open func() (*File, error)) { f.openSupplement = open }

// Supplement returns the supplementary file, nil if there is none.
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
