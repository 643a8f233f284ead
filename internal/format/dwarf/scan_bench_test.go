package dwarf

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// BenchmarkScan steps over every entry of the ELF file named by BTF_BENCH_ELF: it opens the file,
// loads each unit with its abbreviations, and finds the length of each entry. It does nothing else,
// so no reader that looks at all entries can be faster.
func BenchmarkScan(b *testing.B) {
	path := os.Getenv("BTF_BENCH_ELF")
	if path == "" {
		b.Skip("set BTF_BENCH_ELF to an ELF file with DWARF")
	}
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprintf("j%d", jobs), func(b *testing.B) {
			for b.Loop() {
				entries, err := scanFile(path, jobs)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(entries), "entries")
			}
		})
	}
}

// TestScan compares the steps of the benchmark with Read.
func TestScan(t *testing.T) {
	paths, err := filepath.Glob("../../convert/testdata/objects/*.[oe]*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test objects", err)
	}
	all := int64(0)
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue // not an ELF file
		}
		d, err := New(f)
		if err != nil {
			continue // not DWARF that can be read
		}
		want, err := countEntries(d)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := scanFile(path, 2); err != nil || got != want {
			t.Errorf("%s: %d entries, %v; Read finds %d", path, got, err, want)
		}
		all += want
	}
	if all < 1000 {
		t.Errorf("%d entries in all, too few to mean much", all)
	}
}

func countEntries(d *Data) (n int64, err error) {
	var r Reader
	for i := range d.Units {
		u := &d.Units[i]
		if err := r.Load(d, u); err != nil {
			return 0, err
		}
		var e DIE
		for off := u.HeaderLen; uint64(off) < u.Len; off = e.Next {
			if err := r.Read(off, &e); err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}

// scanFile returns the number of entries, including those that end lists of siblings.
func scanFile(path string, jobs int) (int64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d, err := New(f)
	if err != nil {
		return 0, err
	}
	var next, entries atomic.Int64
	errs := make([]error, jobs)
	var group sync.WaitGroup
	for j := range jobs {
		group.Go(func() {
			var r Reader
			for {
				i := int(next.Add(1)) - 1
				if i >= len(d.Units) {
					return
				}
				n, err := r.scan(d, &d.Units[i])
				if err != nil {
					errs[j] = err
					return
				}
				entries.Add(n)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return entries.Load(), nil
}

// scan steps over the entries of a unit.
func (r *Reader) scan(d *Data, u *Unit) (n int64, err error) {
	if err := r.Load(d, u); err != nil {
		return 0, err
	}
	var e DIE
	for pos := int(u.HeaderLen); pos < len(r.buf); n++ {
		code := uint64(r.buf[pos])
		if code == 0 {
			pos++
			continue
		}
		var a *Abbrev
		if code < 0x80 {
			a = r.abbrevs.lookup(code)
		}
		if a == nil || len(a.runs) > 1 {
			if err := r.Read(uint32(pos), &e); err != nil {
				return n, err
			}
			pos = int(e.Next)
			continue
		}
		pos += int(a.size)
	}
	return n, nil
}
