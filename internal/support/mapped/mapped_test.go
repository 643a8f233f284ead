package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// mapFile makes a file with the given number of pages, and maps it starting at page from.
func mapFile(t *testing.T, name string, from, pages int) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, make([]byte, pages*os.Getpagesize()), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data, err = Map(file, info, path, int64(from*os.Getpagesize()), (pages-from)*os.Getpagesize(),
		unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

// recovered returns the value with which the function do panics.
func recovered(do func()) (r any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { r = recover() }()
	do()
	return nil
}

// wantTruncated checks that got is the error, or the value of a panic, for the byte at this offset
// in the file at path.
func wantTruncated(t *testing.T, got any, path string, offset int) {
	t.Helper()
	if err := Fault(got); err != nil {
		got = err
	}
	want := NewTruncated(path, int64(offset))
	if e, ok := got.(*Truncated); !ok || e.Error() != want.Error() {
		t.Errorf("got %v, want %v", got, want)
	}
}

func truncate(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.Truncate(path, int64(size)); err != nil {
		t.Fatal(err)
	}
}

// TestFault reads bytes that mapped files have lost. The panic is attributed to the right file even
// if that file has been unmapped, and another file has taken its addresses.
func TestFault(t *testing.T) {
	page := os.Getpagesize()
	a, first := mapFile(t, "a", 1, 3)
	b, second := mapFile(t, "b", 0, 2)
	defer recovered(func() { Unmap(second) })
	var sum byte
	read := func(data []byte, at int) any { return recovered(func() { sum += data[at] }) }
	if r := read(first, page); r != nil {
		t.Fatal(r)
	}
	truncate(t, a, 2*page)
	truncate(t, b, 0)
	if r := read(first, page-1); r != nil {
		t.Fatal(r)
	}
	fault := read(first, page+7)
	wantTruncated(t, fault, a, 2*page+7)
	wantTruncated(t, read(second, 5), b, 5)
	recovered(func() { Unmap(first) })
	wantTruncated(t, fault, a, 2*page+7)
	for tries := 0; ; tries++ {
		_, other := mapFile(t, "other", 0, 2)
		defer Unmap(other)
		if address(other) <= address(first[:1])+uintptr(page) &&
			address(first[:1])+uintptr(page) < address(other)+uintptr(len(other)) {
			break
		}
		if tries == 100 {
			t.Skip("SKIPPED: the system doesn't use the addresses again")
		}
	}
	wantTruncated(t, fault, a, 2*page+7)
}

// TestOther: other panics are not attributed to a mapping.
func TestOther(t *testing.T) {
	var null *[1 << 20]byte
	var list []int
	for _, do := range []func(){
		func() { null[100] = 1 },
		func() { null[100000] = 1 },
		func() { _ = list[len(list)] },
		func() { panic("text") },
	} {
		r := recovered(do)
		if r == nil || Fault(r) != nil {
			t.Errorf("%v: %v", r, Fault(r))
		}
	}
}

// TestLastPage: after a truncation, the rest of the last page reads as zeros, so closing the file
// must report the truncation. A file that is replaced or removed stays readable while it is mapped.
func TestLastPage(t *testing.T) {
	page := os.Getpagesize()
	path, data := mapFile(t, "file", 0, 2)
	truncate(t, path, 2*page-1)
	var sum byte
	if r := recovered(func() { sum += data[2*page-1] }); r != nil {
		t.Error(r)
	}
	wantTruncated(t, Check(), path, 2*page-1)
	wantTruncated(t, recovered(func() { Unmap(data) }), path, 2*page-1)

	path, data = mapFile(t, "replaced", 0, 2)
	if err := os.WriteFile(path+"2", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	_, removed := mapFile(t, "removed", 0, 2)
	if err := errors.Join(Check(), Unmap(data), Unmap(removed)); err != nil {
		t.Error(err)
	}
}

// TestManyClosed: only a limited number of closed mappings are remembered.
func TestManyClosed(t *testing.T) {
	for range 3 * keepClosed {
		_, data := mapFile(t, "file", 0, 1)
		if err := Unmap(data); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(mappings.closed); n != keepClosed || cap(mappings.closed) > 4*keepClosed {
		t.Errorf("%d", n)
	}
}
