package pages

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestMake: after Make, looking up and changing elements causes hardly any page faults.
func TestMake(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	faults := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(1, &u); err != nil { // RUSAGE_THREAD
			t.Fatal(err)
		}
		return u.Minflt
	}
	const pages = 1000
	type slot [3]uint64
	n := pages * os.Getpagesize() / 24
	table := Make[slot](n)
	if len(table) != n {
		t.Fatalf("%d elements, want %d", len(table), n)
	}
	before := faults()
	for i := range table {
		if table[i] != (slot{}) {
			t.Fatalf("element %d is not zero", i)
		}
		table[i][1] = 1
	}
	if f := faults() - before; f > pages/10 {
		t.Errorf("%d page faults for %d pages", f, pages)
	}
}

// TestMakeOdd makes tables of elements without bytes, larger than a page, and without elements.
func TestMakeOdd(t *testing.T) {
	if n := len(Make[struct{}](7)) + len(Make[[2 * pageSize]byte](3)) + len(Make[int](0)); n != 10 {
		t.Errorf("%d elements, want 10", n)
	}
}
