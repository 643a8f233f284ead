package dwarf

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// typesSource is a C source in which types refer to others in many ways. There are more types than
// a new table of fingerprints has room for.
func typesSource() string {
	var s strings.Builder
	s.WriteString("typedef unsigned int u32;\nenum colour { red, green = 1 << 20, blue = -1 };\n")
	for i := range 300 {
		fmt.Fprintf(&s, "struct s%d; typedef int (*call%d)(struct s%d *, const volatile char *x, ...);\n",
			i, i, i)
		fmt.Fprintf(&s, "struct s%d { u32 a : %d; call%d f; struct { long x[%d]; union { int i; "+
			"struct s%d **p; }; } in; enum colour c; const char *const n[%d][2]; };\n",
			i, i%31+1, i, i+1, max(0, i-1), i%7+1)
		fmt.Fprintf(&s, "struct s%d v%d;\n", i, i)
	}
	return s.String()
}

// compileTypes returns the DWARF of an object file that is compiled from typesSource.
func compileTypes(t *testing.T) *Data { return compile(t, typesSource()) }

// compile returns the DWARF of an object file that is compiled from C source.
func compile(t *testing.T, code string) *Data {
	t.Helper()
	f := must.Get(elf.Open(programtest.Compile(t, code, "gcc", "-g", "-w", "-c")))(t)
	t.Cleanup(func() { f.Close() })
	d := must.Get(New(f))(t)
	return d
}

// The fingerprint of a type doesn't depend on which other fingerprints were made earlier.
func TestFingerprintsDoNotDependOnOrder(t *testing.T) {
	d := compileTypes(t)
	var r Reader
	must.OK(t, r.Load(d, &d.Units[0]))
	var offs []uint32
	var e DIE
	for off := r.Root.Next; ; off = e.Next {
		must.OK(t, r.Read(off, &e))
		if int(off) >= len(r.buf) {
			break
		}
		if !e.Null && (strings.HasSuffix(e.Tag.String(), "Type") ||
			strings.HasSuffix(e.Tag.String(), "Typedef")) {
			offs = append(offs, off)
		}
	}
	if len(offs) < 2000 {
		t.Fatalf("%d types, want some thousand", len(offs))
	}
	for _, merged := range []bool{false, true} {
		together := Prints{Merged: merged}
		together.Reset(&r)
		alone := Prints{Merged: merged}
		seen := map[Fingerprint]bool{}
		for i := range offs {
			off := offs[(i*7)%len(offs)]
			got := must.Get(together.Type(off))(t)
			alone.Reset(&r)
			alone.types = printTable{}
			alone.types.reset()
			want := must.Get(alone.Type(off))(t)
			if got != want {
				t.Fatalf("entry %#x: fingerprint %x after %d others, %x alone (merged strings: %v)", off, got,
					i, want, merged)
			}
			seen[got] = true
		}
		if len(seen) < 1000 {
			t.Errorf("%d different fingerprints of %d types", len(seen), len(offs))
		}
	}
}

// A definition has the same fingerprint and the same end, whether it is read with its plan or by
// Entry.
func TestRootsByTheirPlans(t *testing.T) {
	d := compileTypes(t)
	var r Reader
	must.OK(t, r.Load(d, &d.Units[0]))
	for _, merged := range []bool{false, true} {
		p := Prints{Merged: merged}
		p.Reset(&r)
		roots := 0
		for off := r.Root.Next; int(off) < len(r.buf); {
			e := must.Get(r.Peek(off))(t)
			if e.Abbrev == nil {
				break
			}
			got, end := must.Get2(p.Definition(off))(t)
			after := must.Get(r.After(e))(t)
			if end != 0 {
				roots++
				want, _ := must.Get2(p.Entry(e))(t)
				if got != want || end != after {
					t.Errorf("%v at %#x: fingerprint %x up to %#x with the plan, %x up to %#x by Entry "+
						"(merged strings: %v)",
						e.Abbrev.Tag, off, got, end, want, after, merged)
				}
			}
			off = after
		}
		if roots < 600 {
			t.Errorf("%d roots were read by their plans, want those of 300 structs and their typedefs",
				roots)
		}
	}
}

// A string has the fingerprint of its bytes, whatever follows it; no other string or block has that
// fingerprint.
func TestPrintString(t *testing.T) {
	seen := map[Fingerprint]string{}
	for n := range 40 {
		for _, c := range []byte{'a', 0x80, 0xff} {
			s := strings.Repeat(string([]byte{c}), n)
			want := printBytes([]byte(s))
			for _, rest := range []string{"", "a", "\x00", strings.Repeat("b", 20),
				strings.Repeat("\x00", 20)} {
				got, ok := printString([]byte(s + "\x00" + rest))
				if ok && got != want {
					t.Errorf("%q before %q has the fingerprint %x, its bytes %x", s, rest, got, want)
				}
				if !ok && len(rest) >= 8 {
					t.Errorf("the end of %q is not found before %q", s, rest)
				}
			}
			if other, ok := seen[want]; ok && other != s {
				t.Errorf("%q and %q have one fingerprint", s, other)
			}
			seen[want] = s
		}
	}
	for _, block := range []string{"a\x00", "a\x00\x00", "\x00", "\x00\x00", strings.Repeat("\x00", 8),
		strings.Repeat("\x00", 9)} {
		if other, ok := seen[printBytes([]byte(block))]; ok {
			t.Errorf("%q and %q have one fingerprint", block, other)
		}
	}
	if _, ok := printString([]byte(strings.Repeat("a", 1000))); ok {
		t.Error("a string without an end has a fingerprint")
	}
}

// TestDenseTypes: if each byte of a unit is a type, the table of fingerprints takes little time.
func TestDenseTypes(t *testing.T) {
	const n, first = 1 << 17, 20
	var table printTable
	table.reset()
	start := time.Now()
	for off := uint32(first); off < first+n; off++ {
		s, known := table.slot(off)
		if known {
			t.Fatalf("offset %d is known", off)
		}
		table.put(s, off, Fingerprint{uint64(off), 1})
	}
	for off := uint32(first); off < first+n; off++ {
		if s, known := table.slot(off); !known || s.fp != (Fingerprint{uint64(off), 1}) {
			t.Fatalf("offset %d: %v, %v", off, s.fp, known)
		}
	}
	if took := time.Since(start); took > 5*time.Second { // adjacent slots only: 10 s or more
		t.Errorf("%d types took %v", n, took)
	}
}
