package elf

import (
	"bytes"
	stdelf "debug/elf"
)

// noteBuildID is NT_GNU_BUILD_ID, the type of the note with the build-id.
const noteBuildID = 3

// BuildID returns the build-id, the linker's hash of what it has linked (ld --build-id): the same
// in a stripped file and in its debug file. It returns nil if there is none. The bytes are the
// file's. In kernels that some linkers made, .notes is of another type than that of notes.
func (f *File) BuildID() []byte {
	for _, s := range f.Sections {
		if s.Type != stdelf.SHT_NOTE && s.Name != ".notes" {
			continue
		}
		if id := f.findBuildID(s.raw, s.Align); id != nil {
			return id
		}
	}
	return nil
}

// findBuildID returns the build-id in a section of notes. Each has three words, the sizes of its
// name and descriptor and its type, and these two, each up to a multiple of the alignment of the
// section: 4 bytes, or 8.
func (f *File) findBuildID(notes []byte, align uint64) []byte {
	if align != 8 {
		align = 4
	}
	const header = 12
	for len(notes) >= header {
		name, desc := uint64(f.Order.Uint32(notes)), uint64(f.Order.Uint32(notes[4:]))
		typ := f.Order.Uint32(notes[8:])
		start := (header + name + align - 1) &^ (align - 1)
		end := start + desc
		if end > uint64(len(notes)) {
			return nil
		}
		if typ == noteBuildID && desc > 0 && name == 4 &&
			bytes.HasPrefix(notes[header:], []byte("GNU\x00")) {
			return notes[start:end:end]
		}
		notes = notes[min((end+align-1)&^(align-1), uint64(len(notes))):]
	}
	return nil
}
