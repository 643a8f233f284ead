package convert

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestUnitsInTheOrderOfTheFile: the units of an object are in the order of the file, no matter
// which thread converted a unit, or when.
func TestUnitsInTheOrderOfTheFile(t *testing.T) {
	const path = "testdata/objects/lto-linked-gcc.elf"
	files := func(convert func(*work)) (list []string) {
		f := must.Get(elf.Open(path))(t)
		defer f.Close()
		d := must.Get(dwarf.New(f))(t)
		w := newWork(input{d: d, opt: &Options{Features: features.Default()}})
		convert(w)
		o := must.Get(w.object(nil))(t)
		for _, u := range o.Units {
			list = append(list, fileOf(o, u))
		}
		return list
	}
	want := files(func(w *work) {
		must.OK(t, w.run())
	})
	if len(want) < 2 || slices.Equal(want, slices.Repeat(want[:1], len(want))) {
		t.Fatalf("%s has the units %q, too few to show an order", path, want)
	}
	got := files(func(w *work) {
		s := newStore(w.d, w.opt, 0)
		for range 2 {
			w.threads = append(w.threads, newConverter(w.input, s))
		}
		for i := len(w.units) - 1; i >= 0; i-- {
			must.OK(t, w.threads[i%2].convert(w.units[i], i))
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("units %q, want %q", got, want)
	}
}

func fileOf(o *object.Object, u object.Unit) string { return o.Graph.Strs.String(u.File) }
