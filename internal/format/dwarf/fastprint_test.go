package dwarf

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// printPairs has the plain fingerprint for each fast fingerprint of a file, with and without
// a sweep.
type printPairs struct {
	plain    map[Fingerprint]Fingerprint
	distinct map[Fingerprint]bool // plain ones
	entries  int
}

// add makes the fast and the plain fingerprint of every entry of a unit, both as a reference and as
// a definition. It stops at the unit's first error. It reports an entry if an earlier one has the
// same fast fingerprint but a different plain one.
func (q *printPairs) add(t *testing.T, r *Reader, merged bool) {
	t.Helper()
	fast, plain := Prints{Merged: merged}, Prints{Merged: merged}
	fast.Reset(r)
	plain.Reset(withoutPlans(r))
	followOthers(&fast, same)
	followOthers(&plain, withoutPlans)
	swept := Prints{Merged: merged}
	swept.Reset(r)
	followOthers(&swept, same)
	swept.sweepUnit()
	pair := func(off uint32, what uint64, f, p Fingerprint) {
		f.mix(what)
		p.mix(what)
		q.entries++
		q.distinct[p] = true
		if before, ok := q.plain[f]; ok && before != p {
			t.Errorf("%s+%#x: an unequal entry has the same fast fingerprint", r.Unit.Section.Name,
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
			f, err := fast.Type(off)
			p, err2 := plain.Type(off)
			if err != nil || err2 != nil {
				return
			}
			pair(off, 1, f, p)
			if f, err = swept.Type(off); err != nil {
				t.Errorf("after a sweep: %v", err)
			}
			pair(off, 1, f, p)
			f, end, err := fast.Entry(e)
			e, err2 := plain.r.Peek(off)
			if err != nil || err2 != nil {
				return
			}
			p, end2, err2 := plain.Entry(e)
			if err2 != nil {
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

// withoutPlans returns a copy of r in which no declaration has a plan.
func withoutPlans(r *Reader) *Reader {
	plain := *r
	t := &plain.abbrevs
	t.plans, t.dense, t.sparse = &plans{}, slices.Clone(t.dense), maps.Clone(t.sparse)
	without := func(a *Abbrev) *Abbrev {
		if a == nil {
			return nil
		}
		b := *a
		b.plan = plan{}
		return &b
	}
	for code, a := range t.dense {
		t.dense[code] = without(a)
	}
	for code, a := range t.sparse {
		t.sparse[code] = without(a)
	}
	return &plain
}

func same(r *Reader) *Reader { return r }

// followOthers makes p follow references to other units. It calls the function as, which is same or
// withoutPlans, for their readers.
func followOthers(p *Prints, as func(*Reader) *Reader) {
	loaded := map[*Unit]*Prints{p.r.Unit: p}
	from := p.r
	p.Other = func(die uint32, off uint64) (*Prints, uint32, error) {
		u := from.D.UnitAt(from.Unit.Section, off)
		if u == nil {
			return nil, 0, from.Errorf(die, "no unit")
		}
		if loaded[u] == nil {
			var r Reader
			if err := r.Load(from.D, u); err != nil {
				return nil, 0, err
			}
			q := &Prints{Merged: p.Merged, Other: p.Other}
			q.Reset(as(&r))
			loaded[u] = q
		}
		return loaded[u], uint32(off - u.Off), nil
	}
}

// objectFiles ranges over the files that package convert is tested with, except damaged ones, and
// over those that match the patterns more.
func objectFiles(t *testing.T, more ...string) iter.Seq2[string, *Data] {
	t.Helper()
	return func(yield func(string, *Data) bool) {
		for _, pattern := range append(more, "../../convert/testdata/objects/*.[oe]*") {
			for path, data := range programtest.Seeds(t, pattern) {
				f, err := elf.Parse(path, data)
				if err != nil {
					continue // meant to be damaged
				}
				if d, err := New(f); err == nil && !yield(filepath.Base(path), d) {
					return
				}
			}
		}
	}
}

// TestFastFingerprints compares the fast paths with the plain one: entries of a file with equal
// fast fingerprints must have equal plain ones. In files made by compilers, hardly any two entries
// with equal plain fingerprints have different fast ones.
func TestFastFingerprints(t *testing.T) {
	files := []*Data{compileTypes(t)}
	for _, d := range objectFiles(t) {
		files = append(files, d)
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

// damaged returns a copy of a unit in which some bytes are changed, and some ranges are repeated.
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

// Two entries have the same two constants, a large and a small one, but in swapped attributes. So
// their fingerprints differ.
func TestFingerprintsOfLargeConstants(t *testing.T) {
	const abbrevs = "\x01\x11\x01\x00\x00" + "\x02\x24\x00\x0b\x07\x0d\x07\x00\x00" + "\x00"
	large, small := "\x00\x00\x00\x00\x01\x00\x00\x00", "\x05\x00\x00\x00\x00\x00\x00\x00"
	body := "\x05\x00\x01\x08\x00\x00\x00\x00" + "\x01\x02" + large + small + "\x02" + small + large +
		"\x00"
	info := string([]byte{byte(len(body)), 0, 0, 0}) + body
	d := must.Get(New(wrap(t, binary.LittleEndian, []byte(info), []byte(abbrevs), nil, nil)))(t)
	var r Reader
	must.OK(t, r.Load(d, &d.Units[0]))
	var p Prints
	p.Reset(&r)
	first := must.Get(p.Type(13))(t)
	if second, err := p.Type(30); err != nil || first == second {
		t.Errorf("two base types have the fingerprint %x, error %v", first, err)
	}
}

// Numbers that vary in size, and names by index, must mean the same whether they are read with
// plans or form by form.
func TestFastFingerprintsOfRareEntries(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, base := range []int{0, 120, 0x3f8} { // codes of one byte, of two, and without plans
			t.Run(fmt.Sprint(order, base), func(t *testing.T) { compareRareEntries(t, order, base) })
		}
	}
}

// compareRareEntries adds base to all codes except that of the unit.
func compareRareEntries(t *testing.T, order binary.ByteOrder, base int) {
	code := func(n int) []byte { return binary.AppendUvarint(nil, uint64(base+n)) }
	four := func(v uint32) []byte {
		b := make([]byte, 4)
		order.PutUint32(b, v)
		return b
	}
	two := func(v uint16) []byte {
		b := make([]byte, 2)
		order.PutUint16(b, v)
		return b
	}
	abbrevs := []byte("\x01\x11\x01\x00\x00") // a unit
	for n := range base {                     // codes with plans follow each other
		abbrevs = append(binary.AppendUvarint(abbrevs, uint64(2+n)), "\x34\x00\x00\x00"...)
	}
	for i, a := range []string{
		"\x13\x01\x03\x25\x0b\x0b\x88\x01\x0f\x00\x00",         // struct: name, size, alignment
		"\x0d\x00\x03\x26\x49\x13\x88\x01\x0f\x38\x0b\x00\x00", // member, alignment inside
		"\x28\x00\x03\x25\x1c\x0f\x00\x00",                     // enumerator: name, value
		"\x28\x00\x03\x25\x1c\x0d\x00\x00",                     // the same, signed
		"\x0d\x00\x88\x01\x0f\x03\x25\x49\x13\x38\x0b\x00\x00", // member, alignment first
		"\x13\x00\x88\x01\x0f\x03\x25\x0b\x0b\x00\x00",         // struct, alignment first
		"\x24\x00\x0b\x0b\x00\x00",                             // base type: size
		"\x0d\x00\x03\x0e\x49\x13\x38\x0b\x00\x00",             // member, name by offset
		"\x0d\x00\x38\x0f\x49\x13\x00\x00",                     // member, location before the type
		"\x0d\x00\x03\x08\x49\x13\x38\x05\x00\x00",             // member, name in the entry
	} {
		abbrevs = append(append(abbrevs, code(2+i)...), a...)
	}
	abbrevs = append(abbrevs, 0)
	random := rand.New(rand.NewPCG(3, 4))
	values := []uint64{0, 1, 2, 63, 64, 127, 128, 129, 300, 1 << 14, 1<<21 - 1, 1 << 28, 1 << 35}
	leb := func() (b []byte) {
		v := values[random.IntN(len(values))]
		for b = append(b, byte(v&0x7f)); v >= 0x80; b = append(b, byte(v&0x7f)) {
			b[len(b)-1] |= 0x80
			v >>= 7
		}
		if random.IntN(8) == 0 { // longer than necessary
			b[len(b)-1] |= 0x80
			b = append(b, 0)
		}
		return b
	}
	name := func() byte { return byte(random.IntN(4)) }
	body := append(two(5), "\x01\x08\x00\x00\x00\x00"+"\x01"...)
	first := 4 + uint32(len(body)) // offset of the first base type in the unit
	for _, size := range []byte{4, 8} {
		body = append(append(body, code(8)...), size)
	}
	for range 4000 {
		ref := four(first + uint32((1+len(code(8)))*random.IntN(2)))
		place := byte(random.IntN(3))
		for _, b := range [][]byte{code(2), {name(), 8}, leb()} {
			body = append(body, b...)
		}
		for range random.IntN(4) {
			var entry [][]byte
			switch random.IntN(8) {
			case 0:
				entry = [][]byte{code(3), two(uint16(name())), ref, leb(), {place}}
			case 1:
				entry = [][]byte{code(4), {name()}, leb()}
			case 2:
				entry = [][]byte{code(5), {name()}, leb()}
			case 3:
				entry = [][]byte{code(6), leb(), {name()}, ref, {place}}
			case 4:
				entry = [][]byte{code(7), leb(), {name(), 8}}
			case 5:
				entry = [][]byte{code(9), four(2 * uint32(name())), ref, {place}}
			case 6:
				entry = [][]byte{code(10), leb(), ref}
			case 7:
				entry = [][]byte{code(11), []byte("members of a\x00"[random.IntN(13):]), ref,
					{place, name()}}
			}
			for _, b := range entry {
				body = append(body, b...)
			}
		}
		body = append(body, 0)
	}
	body = append(body, 0)
	index := append(four(20), append(two(5), 0, 0)...)
	for i := range uint32(4) {
		index = append(index, four(2*(3-i))...)
	}
	d := must.Get(New(wrap(t, order, append(four(uint32(len(body))), body...), abbrevs,
		[]byte("a\x00b\x00c\x00d\x00"), index)))(t)
	var r Reader
	must.OK(t, r.Load(d, &d.Units[0]))
	for _, merged := range []bool{false, true} {
		q := printPairs{plain: map[Fingerprint]Fingerprint{}, distinct: map[Fingerprint]bool{}}
		q.add(t, &r, merged)
		if q.entries < 18_000 || len(q.distinct) < 2000 {
			t.Errorf("%d entries, %d different: too few to mean much", q.entries, len(q.distinct))
		}
		t.Logf("%d entries, %d plain fingerprints, %d fast ones", q.entries, len(q.distinct),
			len(q.plain))
	}
}
