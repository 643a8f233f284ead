package convert

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// TestByPrint fills a table from several threads. Each thread puts every value, and looks up the
// value before and after that.
func TestByPrint(t *testing.T) {
	const values, threads = 20_000, 4
	var table byPrint[int]
	table.init(0)
	// Fingerprints come in pairs that differ only in their second half.
	print := func(i int) dwarf.Fingerprint {
		return dwarf.Fingerprint{A: uint64(i/2+1) * 0x9e3779b97f4a7c15, B: uint64(i % 2)}
	}
	var wg sync.WaitGroup
	for thread := range threads {
		wg.Go(func() {
			for n := range values {
				i := (n + thread*values/threads) % values
				if v := table.get(print(i)); v != nil && *v != i {
					t.Errorf("value %d is %d", i, *v)
				}
				table.put(print(i), i)
				if v := table.get(print(i)); v == nil || *v != i {
					t.Errorf("value %d is missing after it was put", i)
				}
			}
		})
	}
	wg.Wait()
	if table.used != values {
		t.Errorf("the table has %d values, want %d", table.used, values)
	}
	if table.get(dwarf.Fingerprint{A: values, B: 1}) != nil {
		t.Error("a value that was never put is there")
	}
	table.put(dwarf.Fingerprint{}, 1)
	if table.get(dwarf.Fingerprint{}) != nil {
		t.Error("the zero fingerprint has a value")
	}
}

// TestByPrintOfOneSlot: get returns the value of the requested fingerprint, or none, even
// while another thread puts a fingerprint that belongs in the same slot.
func TestByPrintOfOneSlot(t *testing.T) {
	const rounds, prints, threads = 20, 2000, 2
	wrong := [threads]int{}
	for range rounds {
		var table byPrint[uint64]
		table.init(prints)
		var at atomic.Int64 // how many fingerprints were reached, summed over all threads
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				for i := range prints {
					fp := dwarf.Fingerprint{A: uint64(i + 1), B: uint64(thread + 1)}
					for at.Add(1); at.Load() < int64(threads*(i+1)); {
						runtime.Gosched()
					}
					if v := table.get(fp); v != nil && *v != fp.B {
						wrong[thread]++
					}
					table.put(fp, fp.B)
				}
			})
		}
		wg.Wait()
	}
	if wrong != [threads]int{} {
		t.Errorf("%v times (per thread), get returned the value of a different fingerprint", wrong)
	}
}
