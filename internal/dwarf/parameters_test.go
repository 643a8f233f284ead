package dwarf

import (
	std "debug/dwarf"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// TestFunctionsChildren compares the lists of the children of functions and function types with a walk entry by entry.
func TestFunctionsChildren(t *testing.T) {
	paths, err := filepath.Glob("../convert/testdata/objects/*.[oe]*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test objects", err)
	}
	lists, rests := 0, 0
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue // meant to be damaged
		}
		defer f.Close()
		d, err := New(f)
		if err != nil {
			continue
		}
		var r Reader
		for i := range d.Units {
			if r.Load(d, &d.Units[i]) != nil {
				break
			}
			var e DIE
			for off := d.Units[i].HeaderLen; uint64(off) < d.Units[i].Len; off = e.Next {
				if r.Read(off, &e) != nil {
					break
				}
				if e.Tag == std.TagSubprogram || e.Tag == std.TagSubroutineType {
					lists++
					if compareChildren(t, filepath.Base(path), &r, &e) {
						rests++
					}
				}
			}
		}
	}
	if lists < 100 || rests < 5 {
		t.Errorf("%d lists of children are compared, %d with types or blocks among them, too few to mean much", lists, rests)
	}
}

// compareChildren tells whether there is something else than parameters and what declares nothing that is encoded.
func compareChildren(t *testing.T, file string, r *Reader, e *DIE) bool {
	list, err := r.Function(e)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var got, want []uint32
	for _, p := range list.Parameters {
		got = append(got, p.Off)
	}
	rest := uint32(0) // the first child that the caller has to look at
	end := e.Next
	for off := e.Next; e.Children; {
		var c DIE
		if err := r.Read(off, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if c.Null {
			end = c.Next
			break
		}
		switch c.Tag {
		case std.TagFormalParameter, std.TagUnspecifiedParameters:
			want = append(want, off)
		case std.TagTypedef, std.TagLexDwarfBlock, std.TagStructType, std.TagUnionType:
			named := c.Has(Name) && !c.Flag(Declaration)
			if rest == 0 && (named || c.Tag == std.TagLexDwarfBlock) {
				rest = off
			}
		}
		if off, err = r.SkipChildren(&c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if !slices.Equal(got, want) || list.End != end {
		t.Errorf("%s: entry at %#x: parameters at %#x and the end at %#x; entry by entry at %#x and %#x", file, e.Off, got, list.End, want, end)
	}
	if rest != 0 && (list.Rest == 0 || list.Rest > rest) {
		t.Errorf("%s: entry at %#x: the rest begins at %#x, behind the type or block at %#x", file, e.Off, list.Rest, rest)
	}
	return rest != 0
}
