package elf

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// keepOpenSize is the smallest size, in bytes, of a file whose descriptor stays open for pread.
// Smaller files are read only through the mapping, so thousands of them need no descriptors.
const keepOpenSize = 16 << 20

type mapping struct {
	data   []byte   // the mapped range of the file
	pages  []byte   // the mapped pages around data; nil if data is on the heap
	fd     *os.File // nil for small files
	offset int64    // offset of data in fd

	mu     sync.Mutex
	copies [][]byte // memory from alloc; close unmaps it
}

func mapFile(path string) (*mapping, error) { return mapRange(path, 0, -1) }

// mapRange maps size bytes starting at offset; size -1 means up to the end. Errors name path.
func mapRange(path string, offset, size int64) (*mapping, error) {
	if err := checkRegular(path); err != nil { // first, because opening a FIFO waits for a writer
		return nil, err
	}
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

func checkRegular(path string) error {
	switch st, err := os.Stat(path); {
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s: is a directory; pass the ELF files in it", path)
	case !st.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file; copy its content to a regular file first", path)
	}
	return nil
}

func mapOpen(fd *os.File, path string, offset, size int64) (*mapping, error) {
	st, err := fd.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, fmt.Errorf("%s: %w", path, message.Empty("an ELF file"))
	}
	if size < 0 {
		size = st.Size() - offset
	}
	if offset < 0 || size < 0 || offset > st.Size() || size > st.Size()-offset {
		return nil, fmt.Errorf("%s: bytes %d to %d are past the end of the file (%d bytes); "+
			"it was changed or truncated; build it again", path, offset, offset+size, st.Size())
	}
	m := &mapping{offset: offset}
	if size == 0 {
		return m, nil
	}
	slack := offset % int64(os.Getpagesize())
	if int64(int(size+slack)) != size+slack {
		return nil, fmt.Errorf("%s: %d bytes are too many to map on this machine", path, size)
	}
	pages, err := mapped.Map(fd, st, path, offset-slack, int(size+slack), unix.MAP_PRIVATE)
	if err != nil { // some file systems cannot map
		m.data = make([]byte, size)
		_, rerr := fd.ReadAt(m.data, offset)
		if rerr == io.EOF {
			return nil, mapped.Truncated(path)
		}
		if rerr != nil {
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

// largeCopy is the smallest size, in bytes, for which alloc gets memory directly from the system.
// Such memory is freed as soon as the mapping is closed. The garbage collector would keep it for a
// long time, and would let the heap grow by the same amount again.
const largeCopy = 16 << 20

// alloc returns zeroed memory of size bytes, which may be used until the mapping is closed.
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

// close unmaps the file and what alloc returned.
func (m *mapping) close() error {
	var err error
	for _, b := range m.copies {
		err = cmp.Or(err, unix.Munmap(b))
	}
	if m.fd != nil {
		err = cmp.Or(err, m.fd.Close())
	}
	pages := m.pages
	m.copies, m.pages, m.data, m.fd = nil, nil, nil, nil
	if pages != nil {
		err = cmp.Or(err, mapped.Unmap(pages))
	}
	return err
}

// drop removes mapped pages from memory: those that lie entirely within the size bytes at offset
// off in m.data. Later reads load these pages from the file again.
func (m *mapping) drop(off, size int64) {
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
