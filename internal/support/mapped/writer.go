package mapped

import (
	"io"
	"os"
	"syscall"
)

// Writer writes to a file. Bytes of a mapping, which can't be written to and so are those of the
// mapped file, are copied from file to file: if the file system can share them, nothing is copied.
//
// If a write reads bytes that are gone from a mapping, the write fails.
// Rule: copy_file_range: unchanged parts of a file are copied by the kernel.
type Writer struct{ *os.File }

// minCopy is the smallest write, in bytes, for which it pays to open the mapped file again.
const minCopy = 16 << 10

func (w Writer) Write(data []byte) (n int, err error) {
	if len(data) >= minCopy {
		if copied, err := w.copyMapped(data); copied || err != nil {
			return len(data), err
		}
	}
	return w.File.Write(data)
}

// copyMapped writes data by a copy from file to file, and reports whether it did so. If data is not
// in a mapping, or the copy fails, the caller must write the bytes from memory. copyMapped returns
// an error only if it can't return to the offset at which it began.
func (w Writer) copyMapped(data []byte) (copied bool, err error) {
	from, offset := holder(data)
	if from == nil {
		return false, nil
	}
	defer from.Close()
	start, err := w.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, nil // not a regular file
	}
	if _, err := from.Seek(offset, io.SeekStart); err != nil {
		return false, nil
	}
	// ReadFrom uses copy_file_range if the kernel and the file systems have it.
	n, err := w.ReadFrom(io.LimitReader(from, int64(len(data))))
	if err == nil && n == int64(len(data)) {
		return true, nil
	}
	_, err = w.Seek(start, io.SeekStart)
	return false, err
}

// holder opens the file that is mapped where data is, and returns the offset of data in the file.
// It returns nil if data is not in a mapping, or if the mapped file has been replaced.
func holder(data []byte) (*os.File, int64) {
	m, ok := mappingOf(data)
	if !ok {
		return nil, 0
	}
	// Without O_NONBLOCK, opening a FIFO that has replaced the file would wait for a writer.
	file, err := os.OpenFile(m.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0
	}
	if info, err := file.Stat(); err != nil || !os.SameFile(info, m.info) {
		file.Close()
		return nil, 0
	}
	return file, m.offset + int64(address(data)-m.start)
}

// mappingOf returns the open mapping that holds all of data.
func mappingOf(data []byte) (mapping, bool) {
	mappings.mu.Lock()
	defer mappings.mu.Unlock()
	for _, m := range mappings.open {
		if at := address(data) - m.start; at < m.size && uintptr(len(data)) <= m.size-at {
			return m, true
		}
	}
	return mapping{}, false
}
