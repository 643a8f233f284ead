package elf

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Section is a section of a file: its header and its content.
type Section struct {
	Index  int    // in File.Sections
	Name   string // shares the memory of the file
	Type   stdelf.SectionType
	Flags  stdelf.SectionFlag
	Addr   uint64 // in a relocatable file, an address that the File chose (addresses.go)
	Offset uint64 // offset of the bytes in the file
	Size   uint64 // bytes in the file, compressed or not; bytes in memory for SHT_NOBITS
	Link   uint32
	Info   uint32
	Align  uint64 // in bytes; 0 and 1 mean any

	f       *File
	nameOff uint32
	raw     []byte     // the bytes in the file, nil for SHT_NOBITS
	relocs  []*Section // the relocation sections to apply, by index

	loaded
}

// errInterrupted is returned by Data after load has panicked in another thread.
var errInterrupted = errors.New("another thread failed to read a section")

// loaded has the result of load, once it has been called.
type loaded struct {
	once sync.Once
	data []byte
	err  error
}

// Data returns the section's content: decompressed, and relocated if the file is relocatable and
// the section is not code. If neither is necessary, the result is part of the mapped file;
// otherwise it is a private copy, which is made once and kept. The caller must not modify it. Data
// returns nil for SHT_NOBITS. Errors name the file, the section, and the offset of a relocation.
func (s *Section) Data() ([]byte, error) {
	if s.Plain() {
		return s.raw, nil
	}
	s.once.Do(func() {
		s.err = errInterrupted
		s.data, s.err = s.load()
	})
	return s.data, s.err
}

// Raw returns the section's bytes in the file. They may be compressed, and are not relocated. The
// caller must not modify them.
func (s *Section) Raw() []byte { return s.raw }

// Plain reports whether Data returns the bytes as in the file: not decompressed, not relocated.
func (s *Section) Plain() bool { return !s.compressed() && len(s.relocs) == 0 }

// Alloc reports whether the section occupies memory when the program runs (SHF_ALLOC).
func (s *Section) Alloc() bool { return s.Flags&stdelf.SHF_ALLOC != 0 }

// Contains reports whether addr is an address within the section.
func (s *Section) Contains(addr uint64) bool { return addr-s.Addr < s.Size && s.Alloc() }

// DropPages tells the system that the section will not be read for a while, so that its mapped
// pages need not be resident meanwhile. It is useful for large sections that are read through Data.
func (s *Section) DropPages() {
	if s.Plain() {
		s.f.m.drop(int64(s.Offset), int64(len(s.raw)))
	}
}

// ReadAt implements io.ReaderAt over the content that Data returns. Plain sections of large files
// are read with pread instead of through the mapping, so that their pages do not become resident.
func (s *Section) ReadAt(p []byte, off int64) (int, error) {
	data, err := s.Data()
	if err != nil {
		return 0, err
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
	if !s.Plain() {
		return copy(p, data[off:]), eof
	}
	if err := s.readRaw(p, off); err != nil {
		return 0, err
	}
	return len(p), eof
}

// readRaw fills p with the section's bytes in the file from off on. There must be at least len(p).
func (s *Section) readRaw(p []byte, off int64) error {
	m := s.f.m
	if m == nil || m.fd == nil {
		copy(p, s.raw[off:])
		return nil
	}
	at := m.offset + int64(s.Offset) + off
	switch _, err := m.fd.ReadAt(p, at); err {
	case nil:
		return nil
	case io.EOF:
		return mapped.Truncated(s.f.Holder)
	default:
		return s.errorf("read %d bytes at offset %d: %w", len(p), off, err)
	}
}

// load makes the private copy of a section that is not Plain.
func (s *Section) load() (data []byte, err error) {
	if s.compressed() {
		data, err = s.decompress()
	} else {
		data = s.f.m.alloc(len(s.raw))
		if threads := s.partThreads(); threads > 1 && s.loadInParts(data, threads) {
			return data, nil
		}
		err = s.readRaw(data, 0)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range s.relocs {
		if err := s.relocate(data, r); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// compressed reports whether the bytes in the file are compressed. In the gABI's form, a flag says
// so; in the older GNU form, the name of the section does.
func (s *Section) compressed() bool {
	return s.Flags&stdelf.SHF_COMPRESSED != 0 && s.Type != stdelf.SHT_NOBITS ||
		strings.HasPrefix(s.Name, ".zdebug_") && bytes.HasPrefix(s.raw, []byte("ZLIB"))
}

// damaged is like File.damaged, for a section.
func (s *Section) damaged(format string, args ...any) error {
	return s.errorf(format+message.Rebuild, args...)
}

// errorf makes an error that starts with the names of the file and section.
func (s *Section) errorf(format string, args ...any) error {
	return s.f.errorf("section %d (%s): "+format,
		append([]any{s.Index, message.Printable(s.Name)}, args...)...)
}
