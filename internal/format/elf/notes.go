package elf

import (
	"bytes"
	stdelf "debug/elf"
)

// noteBuildID is NT_GNU_BUILD_ID, the type of the note with the build-id.
const noteBuildID = 3

// BuildID returns the build-id, the linker's hash of its output (ld --build-id), or nil if there is
// none. A stripped file and its debug file have the same build-id. The bytes belong to the file. A
// section .notes is read whatever its type: some linkers don't set SHT_NOTE in kernels.
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

// findBuildID returns the build-id in a section of notes. A note consists of three words (the size
// of the name, the size of the descriptor, and the type), the name, and the descriptor. The name
// and the descriptor are each padded to the alignment of the section, 4 or 8 bytes.
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
