package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestTogether compiles the sources of testdata that fit together, for tests that need many units.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	joined, linked := filepath.Join(dir, "joined.o"), filepath.Join(dir, "linked")
	var objs []string
	for _, s := range sources(t) {
		if !slices.Contains(s.flags, "-m32") {
			objs = append(objs, compileObject(t, s.path, s.flags...))
		}
	}
	programtest.Run(t, "", "ld",
		append([]string{"-r", "--allow-multiple-definition", "-o", joined}, objs...)...)
	linkObjects(t, linked, joined)
	t.Run("threads", func(t *testing.T) { testThreads(t, joined) })
	t.Run("parts", func(t *testing.T) { testParts(t, linked) })
	t.Run("units", func(t *testing.T) { testUnits(t, linked) })
	t.Run("merge", func(t *testing.T) { testMerge(t, objs) })
}

// testThreads converts a file with many units with different numbers of threads.
func testThreads(t *testing.T, path string) {
	var first []byte
	for _, jobs := range []int{1, 2, 3, 16} {
		data := written(t, convertFile(t, path, Options{Features: features.Default(), Jobs: jobs}))
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Errorf("%d threads give a different object", jobs)
		}
	}
}

// written returns o in the form of a .btfo file.
func written(t *testing.T, o *object.Object) []byte {
	t.Helper()
	data := must.Get(object.Write(o, 1))(t)
	return data
}

// mergeFiles reads objects from the bytes of their files, and merges the objects.
func mergeFiles(t *testing.T, files [][]byte) *object.Object {
	t.Helper()
	m := object.NewMerger()
	for i, data := range files {
		must.OK(t, m.Add(fmt.Sprint(i), readObject(t, data)))
	}
	return m.Object()
}

// testParts converts linked files unit by unit. The merged units must give the same object as the
// whole file, and after the link the same BTF.
func testParts(t *testing.T, linked string) {
	files := map[string]string{"sources": linked}
	for _, name := range []string{"lto-linked-gcc.elf", "lto-linked-clang.elf", "dwz.elf", "dwz-4.elf",
		"rust.o"} {
		files[name] = filepath.Join("testdata/objects", name)
	}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			opt := Options{Features: features.Default(), Jobs: 2}
			if name == "rust.o" {
				opt.LangExclude = map[uint64]bool{0x1c: true} // DW_LANG_Rust: nothing is left
			}
			whole := convertFile(t, path, opt)
			want := written(t, whole)
			for _, jobs := range []int{1, 3} {
				opt := opt
				opt.Jobs = jobs
				var parts [][]byte
				for _, data := range writtenUnits(t, path, opt, nil) {
					parts = append(parts, data)
				}
				if len(parts) != len(whole.Units) {
					t.Errorf("on %d threads there are %d units, the file has %d", jobs, len(parts),
						len(whole.Units))
				}
				if len(parts) == 0 {
					continue
				}
				merged := mergeFiles(t, parts)
				if !bytes.Equal(written(t, merged), want) {
					t.Errorf("the merged units, from %d threads, give a different object than the whole file",
						jobs)
				}
				direct, again := linkFile(t, path, "default"), linkTo(t, path, opt.Features, merged)
				if !bytes.Equal(direct.BTF, again.BTF) || !slices.Equal(direct.Skipped, again.Skipped) {
					t.Errorf("the linked units, from %d threads, give different BTF than the whole file", jobs)
				}
			}
		})
	}
}

// writtenUnits converts units of a file with EachUnit, and returns the written objects by number.
func writtenUnits(t *testing.T, path string, opt Options, units []int) map[int][]byte {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	var mu sync.Mutex
	out := map[int][]byte{}
	must.OK(t, EachUnit(f, opt, units, func(i int, o *object.Object) error {
		data, err := object.Write(o, 1)
		mu.Lock()
		defer mu.Unlock()
		out[i] = data
		return err
	}))
	return out
}

// testUnits: EachUnit picks units by number. The object of a picked unit must be the same as in a
// conversion of all units.
func testUnits(t *testing.T, path string) {
	opt := Options{Jobs: 2, Features: features.Default().With(features.SkipUnencodable)}
	all := writtenUnits(t, path, opt, nil)
	some := writtenUnits(t, path, opt, []int{5, 2})
	if len(all) < 6 || len(some) != 2 || !bytes.Equal(some[0], all[5]) ||
		!bytes.Equal(some[1], all[2]) {
		t.Errorf("%d of %d units, or not the right ones", len(some), len(all))
	}
}

// testMerge merges the objects of real files with both implementations in package
// object, the fast one and the plain one.
func testMerge(t *testing.T, objs []string) {
	dir := t.TempDir()
	var files []string
	plain := object.NewMerger()
	for _, obj := range objs {
		o := convertFile(t, obj, Options{Features: features.Default(), Jobs: 1})
		data := must.Get(object.Write(o, 1))(t)
		files = append(files, filepath.Join(dir, fmt.Sprint(len(files))))
		must.OK(t, os.WriteFile(files[len(files)-1], data, 0o666))
		must.OK(t, plain.Add(obj, readObject(t, data)))
	}
	want := must.Get(object.Write(plain.Object(), 1))(t)
	for _, jobs := range []int{1, 3} {
		o := must.Get(object.MergeFiles(files, nil, jobs, func(int, int) {}))(t)
		if got, err := object.Write(o, 1); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d threads merge %d files into a different object (%v)", jobs, len(files), err)
		}
	}
}
