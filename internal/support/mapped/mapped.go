// Package mapped maps files into memory, and detects when a file was truncated while it was mapped.
// After such a truncation, the rest of the file's last page reads as zeros, and reads beyond that
// page cause faults (SIGBUS). Packages cli and parallel call debug.SetPanicOnFault in all their
// goroutines, which turns a fault into a panic. A command fails if Check returns an error at its
// end.
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

// truncated reports whether the file is smaller now than what was mapped.
func (m *mapping) truncated() bool {
	now, err := os.Stat(m.path)
	return err == nil && now.Size() < m.offset+int64(m.size) && os.SameFile(now, m.info)
}

var mappings struct {
	mu   sync.Mutex
	open map[uintptr]mapping
	lost error // see Check
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

// Unmap frees what Map returned.
func Unmap(data []byte) error {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	m := mappings.open[address(data)]
	delete(mappings.open, m.start)
	if m.truncated() {
		mappings.lost = Truncated(m.path)
	}
	return unix.Munmap(data)
}

func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Check returns an error if any file was truncated while it was mapped, even if it is no longer
// mapped: readers may have read zeros without an error.
// Rule: truncated inputs: the whole run fails.
func Check() error {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	for _, m := range mappings.open {
		if mappings.lost == nil && m.truncated() {
			mappings.lost = Truncated(m.path)
		}
	}
	return mappings.lost
}

// Reset makes Check forget what it found, at the end of a command.
func Reset() {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	mappings.lost = nil
}

// Truncated returns the error for a file that was truncated.
func Truncated(path string) error {
	return fmt.Errorf("%s: truncated while it was read; try again when the step that writes it is done",
		path)
}

// Fault makes Check return an error if a failed read of a mapping caused a panic with the value r,
// even if the file has its old size again.
func Fault(r any) {
	if _, ok := r.(interface{ Addr() uintptr }); ok && Check() == nil {
		mappings.mu.Lock()
		defer mappings.mu.Unlock()
		mappings.lost = Truncated("an input")
	}
}
