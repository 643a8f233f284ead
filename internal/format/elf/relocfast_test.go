package elf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// plainData returns a section's content, relocated in the plain way: only by the method run.
func plainData(t *testing.T, s *Section) ([]byte, error) {
	t.Helper()
	a := must.Get(s.applier(s.relocs[0]))(t)
	a.data = bytes.Clone(s.raw)
	if err := a.run(a.r.raw); err != nil {
		return nil, err
	}
	return a.data, a.finish()
}

// checkFast compares the results of two fast ways, Data and loading in parts, with those of run. It
// returns whether the section could be loaded in parts, and the error.
func checkFast(t *testing.T, s *Section) (inParts bool, err error) {
	t.Helper()
	want, wantErr := plainData(t, s)
	got, err := s.Data()
	switch {
	case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
		t.Fatalf("error %v, by the plain path %v", err, wantErr)
	case err == nil && !bytes.Equal(got, want):
		t.Fatalf("section %s differs from what the plain path makes", s.Name)
	}
	for threads := 1; threads <= 5; threads++ {
		data := make([]byte, len(s.raw))
		if s.loadInParts(data, threads) {
			inParts = inParts || threads > 1
			if wantErr != nil || !bytes.Equal(data, want) {
				t.Fatalf("%d parts differ from what the plain path makes (error %v)", threads, wantErr)
			}
		}
	}
	return inParts, err
}

// TestFastEqualsPlain relocates the sections of real objects in the fast ways and in the plain way.
func TestFastEqualsPlain(t *testing.T) {
	for _, m := range []string{"x86_64", "aarch64", "riscv64", "loongarch64", "powerpc64le"} {
		f := must.Get(Parse(m, programtest.Gunzip(t, "testdata/machines/"+m+".o.gz")))(t)
		for _, s := range f.Sections {
			if s.Plain() || s.compressed() {
				continue
			}
			if _, err := checkFast(t, s); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFastEqualsPlainRandom relocates by both paths with relocations that no compiler writes: they
// overlap, are not in order, do not fit, or are wrong.
func TestFastEqualsPlainRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var inParts, inOne, wrong int
	for range 20000 {
		n := r.IntN(24)
		size := 8*n + r.IntN(16)
		var rel []byte
		for i := range n {
			off, sym, typ := uint64(8*i), r.Uint64N(4), uint64(1) // R_X86_64_64
			addend := r.Uint64N(1 << 33)
			switch r.IntN(40) {
			case 0: // none, 32, 32S, PC32, 8, DTPOFF64, and one that is only in code
				typ = []uint64{0, 10, 11, 2, 14, 17, 9}[r.IntN(7)]
			case 1:
				off = r.Uint64N(uint64(size + 4))
			case 2:
				sym = r.Uint64N(6)
			case 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14:
				typ, addend = 10, addend>>r.IntN(4)
			case 15:
				off += r.Uint64N(8)
			}
			rel = appendRela(rel, off, sym, typ, addend)
		}
		s := relocated(t, size, 4, rel).Section(".debug_x")
		if len(s.relocs) == 0 { // an empty section
			continue
		}
		switch parts, err := checkFast(t, s); {
		case err != nil:
			wrong++
		case parts:
			inParts++
		default:
			inOne++
		}
	}
	t.Logf("%d loaded in parts, %d not, %d with an error", inParts, inOne, wrong)
	if min(inParts, inOne, wrong) < 500 {
		t.Error("some of these are too few to show anything")
	}
}

// TestManyThreads reads a section with so many relocations that Data uses all threads.
func TestManyThreads(t *testing.T) {
	const words = 3 * minPart
	var rel []byte
	for i := range uint64(words) {
		rel = appendRela(rel, 8*i, 1, 1, i)
	}
	f := relocated(t, 8*words, 2, rel)
	f.Threads = 3
	s := f.Section(".debug_x")
	if n := s.partThreads(); n != 3 {
		t.Errorf("%d threads, want 3", n)
	}
	if inParts, err := checkFast(t, s); !inParts || err != nil {
		t.Errorf("loaded in parts: %v, error %v", inParts, err)
	}
}

// BenchmarkRelocate measures the relocation of .debug_info-like data.
func BenchmarkRelocate(b *testing.B) {
	const n = 100_000
	var rel []byte
	for i := range uint64(n) {
		rel = appendRela(rel, i*12, i%50, 10-i%8/7*9, i)
	}
	s := relocated(b, 12*n, 50, rel).Section(".debug_x")
	a := must.Get(s.applier(s.relocs[0]))(b)
	a.data = make([]byte, 12*n)
	for b.Loop() {
		must.OK(b, a.runFast(rel))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/reloc")
}
