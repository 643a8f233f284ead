// Package mapped maps files into memory, and detects when a file was truncated while it was mapped.
// After such a truncation, the rest of the file's last page reads as zeros, and reads beyond that
// page cause faults (SIGBUS). Packages cli and parallel call debug.SetPanicOnFault in all their
// goroutines, which turns a fault into a panic.
package mapped

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

type mapping struct {
	start, size uintptr
	path        string
	info        os.FileInfo
	offset      int64 // offset in the file of the first byte in memory
}

// truncated reports whether the file is smaller now than size bytes.
func (m *mapping) truncated(size int64) bool {
	now, err := os.Stat(m.path)
	return err == nil && now.Size() < size && os.SameFile(now, m.info)
}

// keepClosed is the number of mappings that are remembered after Unmap. They are remembered because
// a deferred Close runs before the panic of a failed read is recovered.
const keepClosed = 64

var mappings struct {
	mu     sync.Mutex
	open   map[uintptr]mapping
	closed []mapping // the latest last
}

// Map maps size bytes of a file, starting at offset, which must be a multiple of the page size.
// info is the result of file.Stat, path is the file's name, and flags are the flags of mmap.
func Map(file *os.File, info os.FileInfo, path string, offset int64, size, flags int) ([]byte,
	error) {
	data, err := unix.Mmap(int(file.Fd()), offset, size, unix.PROT_READ, flags)
	if err != nil {
		return nil, err
	}
	m := mapping{address(data), uintptr(size), path, info, offset}
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	if mappings.open == nil {
		mappings.open = map[uintptr]mapping{}
	}
	mappings.open[m.start] = m
	return data, nil
}

// Unmap frees what Map returned. If the file was truncated while it was mapped, Unmap panics with a
// *Truncated, because readers may have read zeros without an error.
func Unmap(data []byte) error {
	m := forget(address(data))
	err := unix.Munmap(data)
	if end := m.offset + int64(m.size); m.truncated(end) {
		panic(NewTruncated(m.path, end-1))
	}
	return err
}

// forget moves a mapping from mappings.open to mappings.closed.
func forget(start uintptr) mapping {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	m := mappings.open[start]
	delete(mappings.open, start)
	if len(mappings.closed) == keepClosed {
		mappings.closed = append(mappings.closed[:0], mappings.closed[1:]...)
	}
	mappings.closed = append(mappings.closed, m)
	return m
}

func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Check returns an error if any mapped file was truncated since it was mapped.
func Check() error {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	for _, m := range mappings.open {
		if end := m.offset + int64(m.size); m.truncated(end) {
			return NewTruncated(m.path, end-1)
		}
	}
	return nil
}

// Truncated is the error for a byte that a file no longer has, because the file was truncated.
type Truncated struct{ error }

// NewTruncated returns the error for the byte at an offset of the file at path.
func NewTruncated(path string, offset int64) *Truncated {
	return &Truncated{fmt.Errorf("%s: truncated while it was read (byte %d is gone); try again when "+
		"the step that writes it is done", path, offset)}
}

// Fault returns the error for a panic's value, or nil if no failed read of a mapping caused it.
func Fault(panicked any) error {
	fault, ok := panicked.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	return find(fault.Addr())
}

// find returns the error for an unreadable address, or nil if the address is not in a mapping.
func find(addr uintptr) error {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	var found *Truncated
	look := func(m *mapping) (sure bool) {
		if addr-m.start >= m.size {
			return false
		}
		at := m.offset + int64(addr-m.start)
		if sure = m.truncated(at + 1); sure || found == nil {
			found = NewTruncated(m.path, at)
		}
		return sure
	}
	for _, m := range mappings.open {
		if look(&m) {
			return found
		}
	}
	for i := len(mappings.closed) - 1; i >= 0; i-- {
		if look(&mappings.closed[i]) {
			return found
		}
	}
	if found == nil {
		return nil
	}
	return found
}
