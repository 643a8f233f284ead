package dwarf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSweep compares the fingerprints, and the entries at which a walk stops, with and without a
// sweep.
func TestSweep(t *testing.T) {
	files := map[string]*Data{"types": compileTypes(t)}
	for seed := range uint64(100) {
		for _, kind := range []string{"plain", "cycles", "damaged"} {
			files[fmt.Sprintf("random unit (%s) %d", kind, seed)] = nestedUnit(t, seed, kind)
		}
	}
	maps.Insert(files, objectFiles(t))
	stops, swept := 0, 0
	for name, d := range files {
		var r Reader
		for i := range d.Units {
			if err := r.Load(d, &d.Units[i]); err != nil {
				break
			}
			p := Prints{}
			p.Reset(&r)
			p.sweepUnit()
			want, got := walkStops(&r, nil), walkStops(&r, &p)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the walk stops at %#x after a sweep, without one at %#x", name, got, want)
			}
			if !strings.Contains(name, "cycles") { // there, fingerprints depend on the order
				compareSweeps(t, &r)
			}
			stops += len(want)
			if n := len(p.sweep.stops); n > 0 && int(p.sweep.end) > len(r.buf)-64 {
				swept++
			}
		}
	}
	t.Logf("%d stops, %d units swept to the end, %d definitions", stops, swept, definitions)
	if stops < 10_000 || swept < 100 || definitions < 10_000 {
		t.Error("too few to mean much")
	}
}

// compareSweeps compares the fingerprints of a unit's types, with and without a sweep.
func compareSweeps(t *testing.T, r *Reader) {
	t.Helper()
	for _, merged := range []bool{false, true} {
		p, swept := Prints{Merged: merged}, Prints{Merged: merged}
		p.Reset(r)
		swept.Reset(r)
		followOthers(&p, same)
		followOthers(&swept, same)
		p.sweepUnit()
		compareDefinitions(t, &p, &swept, swept.sweepUnit())
		p.Reset(r)
		for off := r.Root.Next; int(off) < len(r.buf); {
			e, err := r.Peek(off)
			if err != nil {
				return
			}
			if e.Abbrev != nil && isType(e.Abbrev.Tag) {
				want, err := p.Type(off)
				got, err2 := swept.Type(off)
				if got != want || (err == nil) != (err2 == nil) {
					t.Errorf("merged: %v: the type at %#x has the fingerprint %x after a sweep (%v), "+
						"without one %x (%v)", merged, off, got, err2, want, err)
				}
			}
			off = e.Next
		}
	}
}

// compareDefinitions compares the definitions among the entries at offs, as definitions and
// Definition read them.
func compareDefinitions(t *testing.T, one, all *Prints, offs []uint32) {
	t.Helper()
	list := make([]Definition, len(offs))
	err := all.definitions(offs, list)
	for i, off := range offs {
		one.EnclosedRoot = false
		fp, end, err2 := one.Definition(off)
		if err2 != nil {
			if err == nil {
				t.Errorf("Definition fails at %#x, but definitions doesn't: %v", off, err2)
			}
			return
		}
		if end == 0 || one.EnclosedRoot {
			fp, end = Fingerprint{}, 0
		}
		got := list[i]
		if got.End == 0 {
			got.Print = Fingerprint{}
		}
		if want := (Definition{fp, off, end}); got != want && int(off) <= len(one.r.buf)-planReach {
			t.Errorf("at %#x: definitions reads %+v, Definition %+v", off, got, want)
		}
		definitions += min(1, int(end))
	}
	if err != nil {
		t.Errorf("definitions fails, but Definition doesn't: %v", err)
	}
}

var definitions int // how many were compared

// walkStops returns the entries at which a walk through the unit stops. It does not look at their
// children. If p isn't nil, the walk uses the results of its sweep.
func walkStops(r *Reader, p *Prints) (stops []uint32) {
	for off, depth := r.Root.Next, 1; depth > 0; {
		if p != nil && depth == 1 {
			off = p.Visit(off)
		}
		next, deeper := r.Skip(off, SkipGlobal)
		off, depth = next, depth+deeper
		e, err := r.Peek(off)
		if err == nil && e.Abbrev == nil {
			off, depth = e.Next, depth-1
			continue
		}
		if err != nil {
			return stops
		}
		stops = append(stops, off)
		if off, err = r.After(e); err != nil {
			return stops
		}
	}
	return stops
}

// nesting writes a unit in C whose entries are nested at random, also as no compiler writes them.
type nesting struct {
	random *rand.Rand
	kind   string
	unit   []byte
	types  []uint32 // offsets of the entries so far that are types
	refs   []int    // where references are in the unit
}

// nestingAbbrevs has the abbreviation declarations, numbered from 1. The last six have children.
const nestingAbbrevs = "\x01\x11\x01\x13\x0b\x00\x00" + // compile unit: language
	"\x02\x24\x00\x0b\x0b\x00\x00" + // base type: size
	"\x03\x0f\x00\x49\x13\x00\x00" + // pointer
	"\x04\x16\x00\x03\x0e\x49\x13\x00\x00" + // typedef: name, type
	"\x05\x05\x00\x49\x13\x00\x00" + // parameter
	"\x06\x0d\x00\x03\x0e\x49\x13\x38\x0b\x00\x00" + // member: name, type, location
	"\x07\x13\x00\x03\x0e\x3c\x19\x00\x00" + // declared struct: name
	"\x08\x13\x01\x03\x0e\x01\x13\x00\x00" + // struct: name
	"\x09\x17\x01\x01\x13\x00\x00" + // union without a name
	"\x0a\x15\x01\x01\x13\x00\x00" + // function type
	"\x0b\x2e\x01\x03\x0e\x3c\x19\x01\x13\x00\x00" + // declared function: name
	"\x0c\x01\x01\x49\x13\x01\x13\x00\x00" + // array
	"\x0d\x13\x01\x03\x08\x01\x13\x00\x00" + // struct: name in the entry
	"\x00"

// entries writes n entries and, if depth is greater than 0, their children.
func (w *nesting) entries(n, depth int) {
	four := func(v uint32) { w.unit = binary.LittleEndian.AppendUint32(w.unit, v) }
	name := func() { four(2 * w.random.Uint32N(4)) }
	ref := func() {
		w.refs = append(w.refs, len(w.unit))
		four(w.types[w.random.IntN(len(w.types))])
	}
	for range n {
		off := uint32(len(w.unit))
		code := byte(2 + w.random.IntN(6))
		if depth > 0 && w.random.IntN(3) == 0 {
			code = byte(8 + w.random.IntN(6))
		}
		w.unit = append(w.unit, code)
		switch code {
		case 2:
			w.unit = append(w.unit, byte(w.random.IntN(8)))
		case 3, 5, 12:
			ref()
		case 4, 6:
			name()
			ref()
		case 7, 8, 11:
			name()
		case 13:
			w.unit = append(w.unit, "a_long_name\x00"[w.random.IntN(11):]...)
		}
		if code == 6 {
			w.unit = append(w.unit, byte(w.random.IntN(8)))
		}
		if code >= 8 {
			sibling := len(w.unit)
			four(0)
			w.entries(w.random.IntN(5), depth-1)
			w.unit = append(w.unit, 0)
			to := uint32(len(w.unit))
			if w.kind == "damaged" && w.random.IntN(50) == 0 {
				to = 1 << 31
			}
			binary.LittleEndian.PutUint32(w.unit[sibling:], to)
		}
		if code != 5 && code != 6 && code != 11 {
			w.types = append(w.types, off)
		}
	}
}

// nestedUnit returns a file with a random unit. Types refer to earlier types or, if the kind is
// "cycles", to any types. In "damaged" units, some references to siblings lead out of the unit.
func nestedUnit(t *testing.T, seed uint64, kind string) *Data {
	t.Helper()
	w := nesting{random: rand.New(rand.NewPCG(seed, 0)), kind: kind}
	w.unit = append(w.unit, "\x00\x00\x00\x00\x05\x00\x01\x08\x00\x00\x00\x00"+"\x01\x0c"...)
	w.types = append(w.types, uint32(len(w.unit)))
	w.unit = append(w.unit, "\x02\x04"...)
	w.entries(300, 3)
	w.unit = append(w.unit, strings.Repeat("\x02\x04", planReach)...) // the last ones have no plan
	w.unit = append(w.unit, 0)
	for _, at := range w.refs {
		if kind == "cycles" {
			to := w.types[w.random.IntN(len(w.types))]
			binary.LittleEndian.PutUint32(w.unit[at:], to)
		}
	}
	binary.LittleEndian.PutUint32(w.unit, uint32(len(w.unit)-4))
	d := must.Get(New(wrap(t, binary.LittleEndian, w.unit, []byte(nestingAbbrevs),
		[]byte("a\x00b\x00c\x00d\x00"), nil)))(t)
	return d
}
