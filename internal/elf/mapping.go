package elf

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// keepOpenSize is the file size from which the descriptor stays open for
// reading without the mapping. Below it the mapping serves every read, and
// thousands of open files need no descriptors.
const keepOpenSize = 16 << 20

// mapping is a read-only view of a range of a file.
type mapping struct {
	mu     sync.Mutex
	copies [][]byte // private memory that goes with the mapping
	data   []byte   // the range
	pages  []byte   // the mapped pages around it; nil if data is on the heap
	fd     *os.File // nil for small files
	offset int64    // of data in fd
}

// mapFile maps the whole file at path.
func mapFile(path string) (*mapping, error) { return mapRange(path, 0, -1) }

// mapRange maps size bytes from offset on; size -1 means to the end. Errors
// name the path.
func mapRange(path string, offset, size int64) (*mapping, error) {
	fd, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := mapOpen(fd, path, offset, size)
	if err != nil || m.fd == nil {
		fd.Close()
	}
	return m, err
}

func mapOpen(fd *os.File, path string, offset, size int64) (*mapping, error) {
	st, err := fd.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case st.IsDir():
		return nil, fmt.Errorf("%s: is a directory; name the ELF files in it", path)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file; copy its content to one first", path)
	case st.Size() == 0:
		return nil, fmt.Errorf("%s: empty file (0 bytes); an interrupted build leaves such files, build it again", path)
	}
	if size < 0 {
		size = st.Size() - offset
	}
	if offset < 0 || size < 0 || offset > st.Size() || size > st.Size()-offset {
		return nil, fmt.Errorf("%s: bytes %d to %d are past the end of the file (%d bytes); it changed or was truncated, build it again",
			path, offset, offset+size, st.Size())
	}
	m := &mapping{offset: offset}
	if size == 0 {
		return m, nil
	}
	slack := offset % int64(os.Getpagesize())
	if int64(int(size+slack)) != size+slack {
		return nil, fmt.Errorf("%s: %d bytes are too many to map on this machine", path, size)
	}
	pages, err := unix.Mmap(int(fd.Fd()), offset-slack, int(size+slack), unix.PROT_READ,
		unix.MAP_PRIVATE)
	if err != nil { // some file systems cannot map
		m.data = make([]byte, size)
		if _, rerr := fd.ReadAt(m.data, offset); rerr != nil && rerr != io.EOF {
			return nil, fmt.Errorf("%s: mmap: %v; read: %w", path, err, rerr)
		}
		return m, nil
	}
	m.pages, m.data = pages, pages[slack:]
	if size >= keepOpenSize {
		m.fd = fd
	}
	return m, nil
}

// readAt copies bytes from offset off of the range on, with pread where a
// descriptor is open, so that large sections do not become resident.
func (m *mapping) readAt(p []byte, off int64) (int, error) {
	if m.fd == nil {
		n := copy(p, m.data[off:])
		if n < len(p) {
			return n, io.ErrUnexpectedEOF
		}
		return n, nil
	}
	return m.fd.ReadAt(p, m.offset+off)
}

// largeCopy is the size from which memory comes from the system and goes back there at once. The
// garbage collector would keep it for long, and let as much again pile up.
const largeCopy = 16 << 20

// alloc returns memory that is good until the mapping is closed.
func (m *mapping) alloc(size int) []byte {
	if m == nil || size < largeCopy {
		return make([]byte, size)
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return make([]byte, size)
	}
	m.mu.Lock()
	m.copies = append(m.copies, b)
	m.mu.Unlock()
	return b
}

func (m *mapping) close() error {
	var err error
	for _, b := range m.copies {
		if uerr := unix.Munmap(b); err == nil {
			err = uerr
		}
	}
	m.copies = nil
	if m.pages != nil {
		err = unix.Munmap(m.pages)
	}
	if m.fd != nil {
		if cerr := m.fd.Close(); err == nil {
			err = cerr
		}
	}
	m.pages, m.data, m.fd = nil, nil, nil
	return err
}

// release lets go of the mapped pages that lie wholly in a part of the range. What is read of them
// later comes from the file again.
func (m *mapping) release(off, size int64) {
	if m == nil || m.pages == nil {
		return
	}
	page := os.Getpagesize()
	start := len(m.pages) - len(m.data) + int(off)
	first, end := (start+page-1)/page*page, (start+int(size))/page*page
	if first < end {
		_ = unix.Madvise(m.pages[first:end], unix.MADV_DONTNEED) // it is only advice
	}
}
