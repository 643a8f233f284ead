package dwarf

import (
	std "debug/dwarf"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainReferences is like Reader.references, but reads each entry.
func plainReferences(r *Reader, off uint32, outward bool) (list []string, err error) {
	var e DIE
	for depth := 0; ; {
		if err := r.Read(off, &e); err != nil {
			return list, err
		}
		switch off = e.Next; {
		case e.Null:
			depth--
		default:
			if depth > 0 && !outward && IsDefinition(e.Tag) {
				list = append(list, fmt.Sprint(e.Off, Value{uint64(e.Off), ClassRef}))
			}
			for _, s := range []Attr{Type, Signature, Origin, Specification, Annotation} {
				if e.Has(s) && !(s == Origin && e.Tag == std.TagInlinedSubroutine) &&
					!(outward && e.Class[s] == ClassRef) {
					list = append(list, fmt.Sprint(e.Off, e.Value(s)))
				}
			}
			if e.Children {
				depth++
			}
		}
		if depth <= 0 || uint64(off) >= r.Unit.Len {
			return list, nil
		}
	}
}

// TestReferences compares the references that are found by plans with those of entries that are
// read, in the test objects and in damaged copies of their units.
func TestReferences(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	all, outward := 0, 0
	for name, d := range objectFiles(t) {
		d.Restart(Unlimited)
		var r Reader
		for i := range d.Units {
			for round := range 10 {
				if r.Load(d, &d.Units[i]) != nil {
					break
				}
				if round > 0 { // entries that no compiler writes
					r.buf = damaged(random, r.buf, int(r.Unit.HeaderLen))
				}
				outward += compareReferences(t, name, &r, r.Unit.HeaderLen, true)
				var e DIE
				for off := r.Root.Next; r.Read(off, &e) == nil && uint64(off) < r.Unit.Len; off = e.Next {
					all += compareReferences(t, name, &r, off, false)
				}
			}
		}
	}
	if all < 10_000 || outward < 300 {
		t.Errorf("%d references, %d to other units: too few to mean much", all, outward)
	}
	t.Logf("%d references, %d to other units", all, outward)
}

func compareReferences(t *testing.T, path string, r *Reader, off uint32, outward bool) int {
	t.Helper()
	want, wantErr := plainReferences(r, off, outward)
	var got []string
	err := r.References(off, outward, func(die uint32, to Value) error {
		got = append(got, fmt.Sprint(die, to))
		return nil
	})
	if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
		t.Fatalf("%s: unit %#x, entry %#x: got %v, %v; want %v, %v", path, r.Unit.Off, off, got, err,
			want, wantErr)
	}
	return len(got)
}
