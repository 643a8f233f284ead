package elf

import (
	stdelf "debug/elf"
	"io"
	"strings"
	"sync"
)

// Section is one section header and the bytes that belong to it.
type Section struct {
	Index   int    // in File.Sections
	Name    string // as in the file; shares its memory
	Type    stdelf.SectionType
	Flags   stdelf.SectionFlag
	Addr    uint64 // laid-out address in a relocatable file, else the file's
	Offset  uint64 // of the bytes in the file
	Size    uint64 // bytes in the file (compressed ones, if so); bytes in memory for SHT_NOBITS
	Link    uint32
	Info    uint32
	Align   uint64
	EntSize uint64

	f       *File
	nameOff uint32
	raw     []byte     // bytes in the file, nil for SHT_NOBITS
	relocs  []*Section // relocation sections to apply, in index order

	once sync.Once
	data []byte
	err  error
}

// Data returns the section's content: decompressed, and relocated if the file
// is relocatable and the section is not code. Content that needs neither is
// the mapped file itself, else a private copy that is made once and kept. The
// caller must not modify it. It is nil for SHT_NOBITS.
func (s *Section) Data() ([]byte, error) {
	if s.Plain() {
		return s.raw, nil
	}
	s.once.Do(func() { s.data, s.err = s.load() })
	return s.data, s.err
}

// Raw returns the section's bytes as they are in the file: compressed and not
// relocated. The caller must not modify them.
func (s *Section) Raw() []byte { return s.raw }

// Plain reports whether Data is the bytes in the file: neither compressed nor
// in need of relocation.
func (s *Section) Plain() bool { return !s.compressed() && len(s.relocs) == 0 }

// Alloc reports whether the section occupies memory when the program runs.
func (s *Section) Alloc() bool { return s.Flags&stdelf.SHF_ALLOC != 0 }

// Contains reports whether addr is inside the section's addresses.
func (s *Section) Contains(addr uint64) bool { return addr-s.Addr < s.Size && s.Alloc() }

// Release says that the section will not be read for a while, so that it need not count as the
// process's memory meanwhile. It is of use for large sections that are read through Data.
func (s *Section) Release() {
	if s.Plain() {
		s.f.m.release(int64(s.Offset), int64(len(s.raw)))
	}
}

// ReadAt implements io.ReaderAt over the content that Data returns. For Plain
// sections of large files it reads with pread, not through the mapping, so
// that the pages do not count as the process's memory.
func (s *Section) ReadAt(p []byte, off int64) (int, error) {
	data := s.raw
	if !s.Plain() {
		var err error
		if data, err = s.Data(); err != nil {
			return 0, err
		}
	}
	if off < 0 {
		return 0, s.errorf("read at negative offset %d", off)
	}
	if off >= int64(len(data)) {
		return 0, io.EOF
	}
	var eof error
	if rest := int64(len(data)) - off; int64(len(p)) > rest {
		p, eof = p[:rest], io.EOF
	}
	if s.Plain() {
		if err := s.readRaw(p, off); err != nil {
			return 0, err
		}
		return len(p), eof
	}
	return copy(p, data[off:]), eof
}

// readRaw copies bytes of the file, which the section is known to have.
func (s *Section) readRaw(p []byte, off int64) error {
	m := s.f.m
	if m == nil {
		copy(p, s.raw[off:])
		return nil
	}
	if n, err := m.readAt(p, int64(s.Offset)+off); n < len(p) {
		return s.errorf("read %d bytes at offset %d: %w", len(p), off, err)
	}
	return nil
}

// load makes the private copy of a section that is not Plain.
func (s *Section) load() ([]byte, error) {
	if data := s.loadInParts(); data != nil {
		return data, nil
	}
	data := s.raw
	if s.compressed() {
		var err error
		if data, err = s.decompress(); err != nil {
			return nil, err
		}
	} else {
		data = s.f.m.alloc(len(s.raw))
		if err := s.readRaw(data, 0); err != nil {
			return nil, err
		}
	}
	for _, r := range s.relocs {
		if err := s.relocate(data, r); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// compressed reports whether the bytes in the file are compressed, by the gABI
// flag or in the older GNU form with a name of its own.
func (s *Section) compressed() bool {
	return s.Flags&stdelf.SHF_COMPRESSED != 0 && s.Type != stdelf.SHT_NOBITS ||
		strings.HasPrefix(s.Name, ".zdebug_") && strings.HasPrefix(string(s.raw[:min(4, len(s.raw))]),
			"ZLIB")
}

// errorf makes an error that starts with the names of the file and section.
func (s *Section) errorf(format string, args ...any) error {
	return s.f.errorf("section %d (%s): "+format,
		append([]any{s.Index, printable(s.Name)}, args...)...)
}
