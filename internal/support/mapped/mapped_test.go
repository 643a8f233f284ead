package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// mapFile makes a file with the given number of pages, and maps it starting at page from.
func mapFile(t *testing.T, name string, from, pages int) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	must.OK(t, os.WriteFile(path, make([]byte, pages*os.Getpagesize()), 0o666))
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	info := must.Get(file.Stat())(t)
	data = must.Get(Map(file, info, path, int64(from*os.Getpagesize()), (pages-from)*os.Getpagesize(),
		unix.MAP_PRIVATE))(t)
	return path, data
}

// recovered returns the value with which the function do panics.
func recovered(do func()) (r any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { r = recover() }()
	do()
	return nil
}

// wantTruncated checks that Check returns the error for the file at path, which it then forgets.
func wantTruncated(t *testing.T, path string) {
	t.Helper()
	if err := Check(); err == nil || err.Error() != Truncated(path).Error() {
		t.Errorf("got %v, want %v", err, Truncated(path))
	}
	Reset()
}

func truncate(t *testing.T, path string, size int) {
	t.Helper()
	must.OK(t, os.Truncate(path, int64(size)))
}

// TestFault reads bytes that a mapped file has lost. Check names the file, while it is mapped and
// afterwards; and it returns an error even if the file has its old size again.
func TestFault(t *testing.T) {
	page := os.Getpagesize()
	path, data := mapFile(t, "a", 1, 3)
	var sum byte
	read := func(at int) any { return recovered(func() { sum += data[at] }) }
	if r := read(page); r != nil || Check() != nil {
		t.Fatal(r, Check())
	}
	truncate(t, path, 2*page)
	if r := read(page - 1); r != nil {
		t.Fatal(r)
	}
	fault := read(page + 7)
	Fault(fault)
	wantTruncated(t, path)
	wantTruncated(t, path)
	truncate(t, path, 3*page)
	if err := Check(); err != nil {
		t.Error(err)
	}
	Fault(fault)
	wantTruncated(t, "an input")
	truncate(t, path, page)
	must.OK(t, Unmap(data))
	wantTruncated(t, path)
	if err := Check(); err != nil {
		t.Error(err)
	}
}

// TestOther: other panics aren't about a mapping.
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
		if Fault(r); r == nil || Check() != nil {
			t.Errorf("%v: %v", r, Check())
		}
	}
}

// TestLastPage: after a truncation, the rest of the last page reads as zeros, so only Check
// reports the truncation. A file that is replaced or removed stays readable while it is mapped.
func TestLastPage(t *testing.T) {
	page := os.Getpagesize()
	path, data := mapFile(t, "file", 0, 2)
	truncate(t, path, 2*page-1)
	var sum byte
	if r := recovered(func() { sum += data[2*page-1] }); r != nil {
		t.Error(r)
	}
	wantTruncated(t, path)
	must.OK(t, Unmap(data))
	wantTruncated(t, path)

	path, data = mapFile(t, "replaced", 0, 2)
	must.OK(t, os.WriteFile(path+"2", nil, 0o666))
	must.OK(t, os.Rename(path+"2", path))
	_, removed := mapFile(t, "removed", 0, 2)
	if err := errors.Join(Unmap(data), Unmap(removed), Check()); err != nil {
		t.Error(err)
	}
}
