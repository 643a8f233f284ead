package dwarf

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// printPairs holds, of a file, the plain fingerprint for each fast one.
type printPairs struct {
	plain    map[Fingerprint]Fingerprint
	distinct map[Fingerprint]bool // plain ones
	entries  int
}

// add makes both fingerprints of all entries of a unit, up to its first error, and as references as
// well as definitions. It tells of an entry whose fast one has another plain one in an entry
// before.
func (q *printPairs) add(t *testing.T, r *Reader, merged bool) {
	t.Helper()
	fast, plain := Prints{Merged: merged}, Prints{Merged: merged, plainly: true}
	fast.Reset(r)
	plain.Reset(r)
	pair := func(off uint32, what uint64, f, p Fingerprint) {
		f.mix(what)
		p.mix(what)
		q.entries++
		q.distinct[p] = true
		if before, ok := q.plain[f]; ok && before != p {
			t.Errorf("%s+%#x: a fast fingerprint that an unequal entry has", r.Unit.Section.Name,
				r.Unit.Off+uint64(off))
		}
		q.plain[f] = p
	}
	for off := r.Unit.HeaderLen; int(off) < len(r.buf); {
		e, err := r.Peek(off)
		if err != nil || e.Next <= off {
			return
		}
		if e.Abbrev != nil {
			f, err := fast.Type(off, 0)
			p, err2 := plain.Type(off, 0)
			if err != nil || err2 != nil {
				return
			}
			pair(off, 1, f, p)
			f, end, err := fast.Entry(e, 0)
			p, end2, err2 := plain.Entry(e, 0)
			if err != nil || err2 != nil {
				return
			}
			if end != end2 {
				t.Errorf("the entry at %#x ends at %#x, by the fast path at %#x", off, end2, end)
			}
			pair(off, 2, f, p)
		}
		off = e.Next
	}
}

// TestFastFingerprints holds the fast paths to the plain one: entries of a file that have equal
// fast fingerprints have equal plain ones. In files that compilers made, hardly any two entries of
// equal plain ones have unequal fast ones.
func TestFastFingerprints(t *testing.T) {
	paths, err := filepath.Glob("../convert/testdata/objects/*.[oe]*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test objects", err)
	}
	files := []*Data{compileTypes(t)}
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue // meant to be damaged
		}
		defer f.Close()
		if d, err := New(f); err == nil {
			files = append(files, d)
		}
	}
	entries, plain, fast := 0, 0, 0
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range files {
		for _, merged := range []bool{false, true} {
			for round := range 20 {
				q := printPairs{plain: map[Fingerprint]Fingerprint{}, distinct: map[Fingerprint]bool{}}
				var r Reader
				for i := range d.Units {
					if r.Load(d, &d.Units[i]) != nil {
						break
					}
					if round > 0 { // entries that no compiler writes
						r.buf = damaged(random, r.buf, int(r.Unit.HeaderLen))
					}
					q.add(t, &r, merged)
				}
				if round == 0 {
					entries, plain, fast = entries+q.entries, plain+len(q.distinct), fast+len(q.plain)
				}
			}
		}
	}
	if entries < 20_000 || plain < 5_000 {
		t.Errorf("%d entries, %d different: too few to mean much", entries, plain)
	}
	if fast > plain+plain/20 {
		t.Errorf("%d fast fingerprints for %d plain ones", fast, plain)
	}
	t.Logf("%d entries, %d plain fingerprints, %d fast ones", entries, plain, fast)
}

// damaged is a copy of a unit in which some bytes are others, and some stretches are repeated.
func damaged(random *rand.Rand, unit []byte, header int) []byte {
	b := append([]byte(nil), unit...)
	if len(b) < header+32 {
		return b
	}
	for range 1 + random.IntN(8) {
		at := header + random.IntN(len(b)-header)
		if random.IntN(2) == 0 {
			b[at] = byte(random.IntN(32))
			continue
		}
		from := header + random.IntN(len(b)-header)
		copy(b[at:], unit[from:min(from+16, len(unit))])
	}
	return b
}

// Large and small constants of one declaration count for the attribute that has them.
func TestFingerprintsOfLargeConstants(t *testing.T) {
	const abbrevs = "\x01\x11\x01\x00\x00" + "\x02\x24\x00\x0b\x07\x0d\x07\x00\x00" + "\x00"
	large, small := "\x00\x00\x00\x00\x01\x00\x00\x00", "\x05\x00\x00\x00\x00\x00\x00\x00"
	body := "\x05\x00\x01\x08\x00\x00\x00\x00" + "\x01\x02" + large + small + "\x02" + small + large +
		"\x00"
	info := string([]byte{byte(len(body)), 0, 0, 0}) + body
	d, err := New(wrap(t, binary.LittleEndian, []byte(info), []byte(abbrevs), nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	var r Reader
	if err := r.Load(d, &d.Units[0]); err != nil {
		t.Fatal(err)
	}
	var p Prints
	p.Reset(&r)
	first, err := p.Type(13, 0)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := p.Type(30, 0); err != nil || first == second {
		t.Errorf("two base types have the fingerprint %x, error %v", first, err)
	}
}
