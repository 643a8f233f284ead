package dwarf

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/elf"
)

func TestScan(t *testing.T) {
	f, err := elf.Open(os.Getenv("BTF_BENCH_ELF"))
	if err != nil {
		t.Skip()
	}
	d, _ := New(f)
	for range 2 {
		t0 := time.Now()
		var r Reader
		n := 0
		for i := range d.Units {
			if err := r.Load(d, &d.Units[i]); err != nil {
				t.Fatal(err)
			}
		}
		load := time.Since(t0)
		t0 = time.Now()
		for i := range d.Units {
			r.Load(d, &d.Units[i])
			off := r.Root.Next
			for int(off) < len(r.buf) {
				e, err := r.Peek(off)
				if err != nil {
					t.Fatal(err)
				}
				n++
				off = e.Next
			}
		}
		fmt.Println("load", load, "load+peek", time.Since(t0), n)
		t0 = time.Now()
		var p Prints
		p.Merged = true
		for i := range d.Units {
			r.Load(d, &d.Units[i])
			p.Reset(&r)
			off := r.Root.Next
			for int(off) < len(r.buf) {
				e, err := r.Peek(off)
				if err != nil {
					t.Fatal(err)
				}
				if e.Abbrev == nil {
					break
				}
				if e.Abbrev.definition && e.Has(Name) && !e.Has(Declaration) {
					if _, err := p.Entry(e, 0); err != nil {
						t.Fatal(err)
					}
				}
				off, _ = r.Behind(e)
			}
		}
		fmt.Println("load+prints of roots", time.Since(t0))
	}
}
