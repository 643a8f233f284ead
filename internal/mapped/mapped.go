// Package mapped maps files into memory, and names the file of a read that failed because the file
// was truncated after it was mapped.
package mapped

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping is the memory that has a range of a file.
type mapping struct {
	start, size uintptr
	path        string
	offset      int64 // of the memory in the file
}

// keepClosed is how many mappings are remembered after they were unmapped: a deferred Close runs
// before the panic that a failed read causes is recovered.
const keepClosed = 64

var mappings struct {
	mu     sync.Mutex
	open   map[uintptr]mapping
	closed []mapping // the latest last
}

// Map maps size bytes of a file from offset on, which is a multiple of the page size. path is the
// file's name in errors; flags are those of mmap.
func Map(file *os.File, path string, offset int64, size, flags int) ([]byte, error) {
	data, err := unix.Mmap(int(file.Fd()), offset, size, unix.PROT_READ, flags)
	if err != nil {
		return nil, err
	}
	m := mapping{address(data), uintptr(size), path, offset}
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
	start := address(data)
	if len(mappings.closed) == keepClosed {
		mappings.closed = append(mappings.closed[:0], mappings.closed[1:]...)
	}
	mappings.closed = append(mappings.closed, mappings.open[start])
	delete(mappings.open, start)
	mappings.mu.Unlock()
	return unix.Munmap(data)
}

func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Truncated is the error that a byte of a file can't be read any more.
type Truncated struct {
	Path   string
	Offset int64 // of the byte
}

func (e *Truncated) Error() string {
	return fmt.Sprintf("%s: truncated while it was read (byte %d is gone); try again when the step "+
		"that writes it is done", e.Path, e.Offset)
}

// Fault returns the error for the value of a panic that is a failed read of a mapping, nil for any
// other. Such a read panics where debug.SetPanicOnFault is on.
func Fault(panicked any) error {
	fault, ok := panicked.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	return find(fault.Addr())
}

// find returns the error for a byte in memory that can't be read.
func find(addr uintptr) error {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	var found *Truncated
	look := func(m *mapping) (sure bool) {
		if addr-m.start >= m.size {
			return false
		}
		e := &Truncated{m.path, m.offset + int64(addr-m.start)}
		info, err := os.Stat(m.path)
		if sure = err == nil && info.Size() <= e.Offset; sure || found == nil {
			found = e
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

// Writer writes to a file. Bytes of a mapping that are gone are a failed read here too, which
// panics as any other does; the system reports them as if the file could not be written.
type Writer struct{ *os.File }

func (w Writer) Write(data []byte) (n int, err error) {
	n, err = w.File.Write(data)
	if errors.Is(err, syscall.EFAULT) {
		crc32.ChecksumIEEE(data[n:]) // read them
	}
	return n, err
}
