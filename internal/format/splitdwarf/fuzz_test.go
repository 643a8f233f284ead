package splitdwarf_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// stored lists objects with skeleton units. Their .dwo files are beside them.
var stored = []string{"clang-4", "clang-5", "gcc-4", "gcc-5", "gcc-4-types", "gcc-5-types",
	"clang-5-types", "clang-5-s390x"}

// packages maps the name of each stored package to the index, in stored, of its first object.
var packages = map[string]int{"clang-5": 1, "gcc-4": 2}

// convertStored converts a stored object.
func convertStored(t testing.TB, name string, split *splitdwarf.Finder) error {
	t.Helper()
	f, err := elf.Open(filepath.Join("testdata", name+".o"))
	must.OK(t, err)
	defer f.Close()
	defer split.Close()
	set := features.Default().With(features.GlobalVar)
	o, err := convert.File(f, convert.Options{Features: set, SplitDWARF: split, Jobs: 1})
	if err == nil && len(o.Units) != 1 {
		t.Errorf("%s: %d units", name, len(o.Units))
	}
	return err
}

// named returns a Finder that only reads the file at path.
func named(path string) *splitdwarf.Finder {
	return &splitdwarf.Finder{Files: &debugfile.Search{Named: []string{path}}}
}

// TestStored converts the seeds of the fuzz test.
func TestStored(t *testing.T) {
	for _, name := range stored {
		if err := convertStored(t, name, &splitdwarf.Finder{}); err != nil {
			t.Error(err)
		}
	}
	for name := range packages {
		for _, object := range []string{name, name + "-types"} {
			if err := convertStored(t, object, named(filepath.Join("testdata", name+".dwp"))); err != nil {
				t.Error(err)
			}
		}
	}
}

// FuzzFile converts objects whose .dwo file or package consists of arbitrary bytes. The conversion
// must not panic.
func FuzzFile(f *testing.F) {
	for i, name := range stored {
		data := must.Get(os.ReadFile(filepath.Join("testdata", name+".dwo")))(f)
		f.Add(uint8(i), data)
	}
	for name, i := range packages {
		data := must.Get(os.ReadFile(filepath.Join("testdata", name+".dwp")))(f)
		f.Add(uint8(i), data)
		f.Add(uint8(i+4), data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		path := filepath.Join(t.TempDir(), "given")
		must.OK(t, os.WriteFile(path, data, 0o666))
		_ = convertStored(t, stored[int(which)%len(stored)], named(path))
	})
}
