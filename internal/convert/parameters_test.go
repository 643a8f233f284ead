package convert

import (
	std "debug/dwarf"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
)

// What is read of a parameter's type at once is what its size and the search for a struct say.
func TestValues(t *testing.T) {
	paths, err := filepath.Glob("testdata/objects/*.[oe]*")
	if err != nil {
		t.Fatal(err)
	}
	values := 0
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			continue // meant to be damaged
		}
		defer f.Close()
		d, err := dwarf.New(f)
		if err != nil {
			continue
		}
		opt := &Options{Features: parseFeatures(t, "default")}
		c := newConverter(d, opt, &symbols{file: f}, newStore(d, opt, 0))
		for i := range d.Units {
			u := &c.main
			if u.load(&d.Units[i]) == nil {
				values += compareValues(t, path, u)
			}
		}
	}
	if values < 500 {
		t.Errorf("%d types are compared, too few to mean much", values)
	}
}

func compareValues(t *testing.T, path string, u *unit) int {
	n := 0
	var e dwarf.DIE
	for off := u.r.Unit.HeaderLen; uint64(off) < u.r.Unit.Len; off = e.Next {
		if u.r.Read(off, &e) != nil {
			break
		}
		switch e.Tag {
		case std.TagBaseType, std.TagEnumerationType, std.TagStructType, std.TagUnionType, std.TagTypedef, std.TagPointerType,
			std.TagConstType, std.TagVolatileType, std.TagRestrictType, std.TagAtomicType, std.TagArrayType:
		default:
			continue
		}
		n++
		ref := typeRef{u, off}
		got, gotErr := ref.value()
		size, err := ref.size(0)
		want := value{known: true, size: uint32(min(size, 1<<32-1))}
		if err == nil {
			want.isStruct, want.packed, err = ref.byValueStruct()
		}
		if (gotErr != nil) != (err != nil) || err == nil && got != want {
			t.Errorf("%s: the type at %#x: %+v, %v; its parts say %+v, %v", path, off, got, gotErr, want,
				err)
		}
	}
	return n
}
